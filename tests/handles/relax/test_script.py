"""What belongs to no function, or is a part of one, as TVMScript by itself."""

import pytest

from tirax.handles.relax import names as rx
from tirax.handles.relax.calls import call_operator, call_tir
from tirax.script import parse_source
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import relax as R

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")
X, Y = rx.Var("x", R.Tensor([N], "float32")), rx.Var("y", R.Tensor([M, N], "float32"))
ONE = rx.VarBinding(rx.Var("v", R.Tensor([N], "float32")), rx.const(1))
SUM = call_operator("relax.add", X, Y)
LV = rx.DataflowVar("lv", X.struct_info)
DECLARED = 'n = T.int64()\nx: R.Tensor((n,), dtype="float32")\n'
TEXTS = [
    (X, "x"),
    (rx.GlobalVar("f"), 'I.GlobalVar("f")'),
    (rx.const(1.0), 'R.const(1.0, "float32")'),
    (rx.Tuple([X, Y]), "(x, y)"),
    (rx.TupleGetItem(rx.Tuple([X, Y]), 0), "(x, y)[0]"),
    (rx.ExternFunc("f"), 'R.ExternFunc("f")'),
    (rx.ShapeExpr([M, 4]), "R.shape([m, 4])"),
    (call_operator("relax.add", SUM, Y), "R.add(R.add(x, y), y)"),
    (
        call_tir(rx.GlobalVar("f"), (X,), R.Tensor((4,), "float32")),
        'R.call_tir(f, (x,), out_sinfo=R.Tensor((4,), dtype="float32"))',
    ),
    (ONE, 'n = T.int64()\nv: R.Tensor((n,), dtype="float32") = R.const(1, "int32")'),
    (
        rx.MatchCast(rx.Var("v", X.struct_info), X, X.struct_info),
        DECLARED + 'v: R.Tensor((n,), dtype="float32") = R.match_cast(x, R.Tensor((n,), dtype="float32"))',
    ),
    (
        rx.DataflowBlock([rx.VarBinding(LV, X)]),
        DECLARED + 'with R.dataflow():\n    lv: R.Tensor((n,), dtype="float32") = x\n    R.output()',
    ),
    (rx.If(X, X, X), DECLARED + "if x:\n    x\nelse:\n    x"),
]


DECLARED_X, DECLARED_Y = 'x: R.Tensor((n,), dtype="float32")', 'm = T.int64()\ny: R.Tensor((m, n), dtype="float32")'
VERBOSE = [
    (X, f"n = T.int64()\n{DECLARED_X}\nx"),
    (rx.Tuple([X, Y]), f"n = T.int64()\n{DECLARED_X}\n{DECLARED_Y}\n(x, y)"),
    (SUM, f"n = T.int64()\n{DECLARED_X}\n{DECLARED_Y}\nR.add(x, y)"),
    (rx.ShapeExpr([M]), "m = T.int64()\nR.shape([m])"),
    (rx.const(1.0), 'R.const(1.0, "float32")'),
    (
        rx.If(X, X, Y),
        DECLARED + 'if x:\n    x\nelse:\n    m = T.int64()\n    y: R.Tensor((m, n), dtype="float32")\n    y',
    ),
]


@pytest.mark.parametrize("node, text", VERBOSE)
def test_verbose_texts(node, text):
    assert node.script(verbose_expr=True) == text


@pytest.mark.parametrize("node, text", TEXTS)
def test_texts(node, text):
    lines = node.script().split("\n")
    assert "\n".join(line for line in lines if line and not line.startswith("#")) == text


def test_a_variable_prints_as_it_was_declared():
    """Struct info that does not hold: a program that is not well formed prints as it was written."""
    var = rx.Var("v", R.Tensor([N], "float32"))
    seq = rx.SeqExpr([rx.BindingBlock([rx.VarBinding(var, rx.const(1))])], var)
    assert seq.script().endswith('n = T.int64()\nv: R.Tensor((n,), dtype="float32") = R.const(1, "int32")\nv')


def test_parts_of_a_function():
    func = from_source("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        lv = R.exp(x)
        gv = R.add(lv, x)
        R.output(gv)
    w = R.sin(gv)
    return w
""")
    t = 'R.Tensor((4,), dtype="float32")'
    flow, block = func.body.blocks
    inside = f"with R.dataflow():\n    lv: {t} = R.exp(x)\n    gv: {t} = R.add(lv, x)\n    R.output(gv)"
    end = f"w: {t} = R.sin(gv)"
    assert flow.script() == f"x: {t}\n{inside}"
    assert flow.bindings[1].script() == f"lv: {t}\nx: {t}\ngv: {t} = R.add(lv, x)"
    assert block.script() == f"gv: {t}\n{end}"
    assert func.body.script() == f"x: {t}\n{inside}\n{end}\nw"
    assert func.body.blocks[1].bindings[0].value.script() == "R.sin(gv)"


def test_expressions_that_a_script_captures_are_placed_in_it():
    zeros = call_operator("relax.zeros", rx.ShapeExpr([4]), dtype="float32")
    text = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    a = each
    y = R.add(a, each)
    return y
"""
    module = parse_source(text, extra_vars={"each": call_operator("relax.exp", zeros)})
    module.verify()
    names = [op.name for op in next(iter(module.body.ops)).body.block.ops]
    assert names.count("relax.exp") == names.count("relax.zeros") == 2


def test_sums_are_written_as_they_were():
    """Where a number stood is kept, and makes no difference; `n - 2` is no `n + (-2)`."""
    sums = {N + 1 - M: "n + 1 - m", 640 + M: "640 + m", 1 - M: "1 - m", -3 - N - M: "-3 - n - m", N - 1: "n - 1"}
    for value, text in sums.items():
        info = rx.TensorStructInfo((value,), "float32")
        assert info.script() == f'R.Tensor(({text},), dtype="float32")'
        assert str(info.shape[0]).replace("T.int64(-3)", "-3") == str(value).replace("T.int64(-3)", "-3")
    assert rx.TensorStructInfo((640 + M,)) == rx.TensorStructInfo((M + 640,))
