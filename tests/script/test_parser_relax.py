"""Relax functions: each construct of the language, by what it prints as and by what it becomes."""

import textwrap
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f16, f32, i1, i32, i64

from tirax.diagnostics import DTypeError, TiraxError
from tirax.dialects import relax
from tirax.dialects.names import name_of
from tirax.dialects.relax import CallableType, PrimType, ShapeType, TensorType
from tirax.dialects.sym.expr import Var
from tirax.interpreter import interpret
from tirax.ir.verification.verify import verify_module
from tirax.script import ScriptError, parse_function, parse_source, print_script
from tirax.tvm_api.script import from_source

PARAMETERS = 'x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 8), "float32")'
SIGNATURE = f"@R.function\ndef f({PARAMETERS}):\n"


def function(body: str, signature: str = SIGNATURE, extra: dict[str, Any] | None = None) -> relax.FuncOp:
    """The verified function of a body."""
    text = signature + textwrap.indent(textwrap.dedent(body).strip(), "    ")
    op = parse_function(text, extra_vars=extra)
    assert isinstance(op, relax.FuncOp)
    verify_module(op.parent_op())
    return op


def printed(body: str) -> list[str]:
    """The body as it prints, without types; printing and parsing again must change nothing."""
    module = function(body).parent_op()
    text = print_script(module, show_meta=True)
    assert print_script(parse_source(text), show_meta=True) == text
    lines = text.split("@R.function\n", 1)[1].splitlines()[1:]
    return [line[8:] for line in lines if "T.int64()" not in line]


def values(body: str) -> list[str]:
    """What is bound, without the annotations."""
    return [line.split(" = ", 1)[-1] if ": " in line and " = " in line else line for line in printed(body)]


BECOMES: dict[str, tuple[str, list[str]]] = {
    "operators": (
        "a = x + y - x * y / x\nreturn a",
        ["R.add(x, y)", "R.multiply(x, y)", "R.divide(gv1, x)", "R.subtract(gv, gv2)", "return a"],
    ),
    "numbers": ("a = 1 - x\nreturn a", ['R.subtract(R.const(1.0, "float32"), x)', "return a"]),
    "comparison": ("a = x > y\nreturn a", ["R.greater(x, y)", "return a"]),
    "negation": ("a = -x ** 2\nreturn a", ['R.power(x, R.const(2.0, "float32"))', "R.negative(gv)", "return a"]),
    "keyword attributes": (
        "a = R.sum(x, axis=1, keepdims=True)\nreturn a",
        ["R.sum(x, axis=[1], keepdims=True)", "return a"],
    ),
    "positional attributes": (
        "a = R.permute_dims(x, [1, 0])\nreturn a",
        ["R.permute_dims(x, axes=[1, 0])", "return a"],
    ),
    "none and void": (
        'a = R.matmul(x, w, out_dtype="void")\nb = R.permute_dims(a, axes=None)\nreturn b',
        ['R.matmul(x, w, out_dtype="void")', "R.permute_dims(a, axes=None)", "return b"],
    ),
    "one axis": ("a = R.expand_dims(x, 0)\nreturn a", ["R.expand_dims(x, axis=[0])", "return a"]),
    "argmax keeps one": ("a = R.argmax(x, axis=1)\nreturn a", ["R.argmax(x, axis=1, keepdims=False)", "return a"]),
    "reshape": ("a = R.reshape(x, (2, -1))\nreturn a", ["R.reshape(x, R.shape([2, n * 2]))", "return a"]),
    "reshape by a value": (
        "n = T.int64()\ns = R.shape([4, n])\na = R.reshape(x, s)\nreturn a",
        ["R.shape([4, n])", "R.reshape(x, s)", "return a"],
    ),
    "split": (
        "a = R.split(x, 2, axis=1)\nb, c = a\nreturn c",
        ["R.split(x, indices_or_sections=2, axis=1)", "a[0]", "a[1]", "return c"],
    ),
    "concat": ("a = R.concat([x, y], axis=1)\nreturn a", ["R.concat((x, y), axis=1)", "return a"]),
    "full": (
        "a = R.full((2,), 1.5, 'float16')\nreturn a",
        ['R.full(R.shape([2]), R.const(1.5, "float16"), dtype="float16")', "return a"],
    ),
    "astype": ("a = x.astype('float16')\nreturn a", ['R.astype(x, dtype="float16")', "return a"]),
    "nested calls": (
        "return R.nn.relu(R.add(x, R.multiply(y, y)))",
        ["R.multiply(y, y)", "R.add(x, gv)", "R.nn.relu(gv1)", "return gv2"],
    ),
    "packed": (
        "n = T.int64()\na = R.call_pure_packed('f', x, n, 't', sinfo_args=R.Tensor((n,), 'int32'))\nreturn a",
        [
            'R.call_pure_packed("f", x, R.prim_value(n), R.str("t"), sinfo_args=(R.Tensor((n,), dtype="int32"),))',
            "return a",
        ],
    ),
    "one argument": (
        "n = T.int64()\na = R.call_dps_packed('g', x, R.Tensor((n, 4), 'float32'))\nreturn a",
        ['a = R.call_dps_packed("g", (x,), out_sinfo=R.Tensor((n, 4), dtype="float32"))', "return a"],
    ),
    "bindings of variables": ("a = x\nb = a\nreturn b", ["x", "a", "return b"]),
    "leaves": (
        "a = R.null_value()\nb = R.str('s')\nc = R.dtype('float32')\nd = R.prim_value(3)\nreturn d",
        ["R.null_value()", 'R.str("s")', 'R.dtype("float32")', "R.prim_value(3)", "return d"],
    ),
    "symbolic": (
        "n = T.int64()\nm = n * 2 + 1\na = R.zeros((m, T.max(n, 4), n // 2), 'float32')\nreturn a",
        ['R.zeros(R.shape([n * 2 + 1, T.max(n, 4), n // 2]), dtype="float32")', "return a"],
    ),
    "attributes": ("R.func_attr({'num_input': 1})\nreturn x", ['R.func_attr({"num_input": 1})', "return x"]),
}


@pytest.mark.parametrize("name", BECOMES)
def test_becomes(name: str) -> None:
    source, expected = BECOMES[name]
    assert values(source) == expected


def test_struct_info() -> None:
    annotations = {
        'R.Tensor((1, "m"), "float32")': TensorType.of([1, "m"], f32),
        'R.Tensor(("m + 1", "m // 2"), dtype="float16")': TensorType.of([Var("m") + 1, Var("m") // 2], f16),
        'R.Tensor(ndim=2, dtype="int32")': TensorType.of(None, i32, 2),
        'R.Tensor("float32", ndim=2)': TensorType.of(None, f32, 2),
        "R.Tensor((1024,))": TensorType.of([1024]),
        "R.Tensor()": TensorType.of(),
        "R.Tensor": TensorType.of(),
        "R.Object": relax.OBJECT,
        'R.Shape(["m", 4])': ShapeType.of(["m", 4]),
        "R.Shape(ndim=2)": ShapeType.of(None, 2),
        'R.Prim("int64")': PrimType.of(i64),
        'R.Prim(value="m")': PrimType.of(i64, "m"),
        "R.Callable((R.Object,), R.Tensor(ndim=1), True)": CallableType.of([relax.OBJECT], TensorType.of(ndim=1)),
        "R.Callable": CallableType.of(None, pure=False),
    }
    text = ", ".join(f"a{i}: {a}" for i, a in enumerate(annotations))
    op = parse_function(f"@R.function\ndef f({text}) -> R.Tuple(R.Object, R.Shape):\n    return (a0, a8)")
    assert [p.type for p in op.params] == list(annotations.values())
    assert list(op.ret_type.types) == [op.params[0].type, op.params[8].type]  # the body says more


def test_result_is_inferred_and_unbound_dimensions_fall_back() -> None:
    op = function("m = T.int64()\na = R.match_cast(x, R.Tensor((m, 4), 'float32'))\nreturn (x, a)")
    assert list(op.ret_type.types) == [TensorType.of(["n", 4], f32), TensorType.of(None, f32, 2)]


def test_dataflow_outputs() -> None:
    op = function("with R.dataflow():\n    a = R.exp(x)\n    b = R.exp(a)\n    gv = b\n    R.output(a, gv)\nreturn gv")
    block = op.body.block.first_op
    assert isinstance(block, relax.DataflowOp)
    assert [name_of(r) for r in block.outputs] == ["a", "gv"]
    assert [name_of(v) for v in block.output_op.values_] == ["a", "b"]
    assert not any(isinstance(o, relax.BindOp) for o in op.walk())


def test_a_binding_that_is_used_is_kept() -> None:
    op = function("with R.dataflow():\n    a = R.exp(x)\n    gv = a\n    c = R.exp(gv)\n    R.output(gv, c)\nreturn gv")
    assert sum(isinstance(o, relax.BindOp) for o in op.walk()) == 1


def test_annotations() -> None:
    op = function(
        """
        n, m = T.int64(), T.int64()
        a: R.Tensor(ndim=2, dtype="float32") = R.exp(x)
        b: R.Object = x
        c: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("f", x)
        d: R.Tensor((m, 4), dtype="float32") = a
        return d
        """
    )
    by_name = {name_of(r): (r.type, r.owner.name) for o in op.body.block.ops for r in o.results}
    assert by_name["a"] == (TensorType.of(None, f32, 2), "relax.exp")
    assert by_name["b"] == (relax.OBJECT, "relax.bind")
    assert by_name["c"] == (TensorType.of(["n", 4], f32), "relax.call_pure_packed")
    assert by_name["d"] == (TensorType.of(["m", 4], f32), "relax.match_cast")


def test_an_annotation_says_no_less_of_a_call_of_calls() -> None:
    op = function(
        """
        a: R.Tensor(ndim=2) = R.exp(R.exp(x))
        b: R.Object = R.concat((R.exp(x), x))
        return a
        """
    )
    by_name = {name_of(r): r for o in op.body.block.ops for r in o.results}
    assert by_name["a"].type == op.params[0].type
    assert by_name["b"].type != relax.OBJECT


def test_if() -> None:
    op = function("c = R.const(True)\nif c:\n    a = R.add(x, y)\n    z = R.exp(a)\nelse:\n    z = x\nreturn z")
    branch = next(o for o in op.walk() if isinstance(o, relax.IfOp))
    assert name_of(branch.result) == "z"
    assert [o.name for o in branch.then_region.block.ops] == ["relax.add", "relax.exp", "relax.yield"]
    assert [o.name for o in branch.else_region.block.ops] == ["relax.yield"]


def test_what_a_branch_gives_is_not_yet_the_result() -> None:
    lines = printed("c = R.const(True)\nif c:\n    z = R.exp(x)\nelse:\n    a = R.exp(y)\n    z = R.exp(a)\nreturn z")
    assert [line.split(": ")[0] if "=" in line else line for line in lines[1:]] == [
        "if c:", "    gv", "    z", "else:", "    a", "    gv1", "    z", "return z",
    ]  # fmt: skip


def test_a_declared_result_is_checked_and_printed_as_declared() -> None:
    signature = "(x: R.Object, y: R.Tensor(('n',), 'float32')) -> R.Tensor(('n * 2',), 'float32')"
    op = parse_function(f"@R.function\ndef f{signature}:\n    return x")
    assert isinstance(op, relax.FuncOp) and isinstance(op.return_op.value.owner, relax.MatchCastOp)
    again = print_script(op)
    assert again.endswith("    return x") and "match_cast" not in again
    assert print_script(parse_function(again)) == again
    for size, fits in [(0, True), (1, True), (3, True), (3, False)]:
        array = np.arange(2 * size + (not fits), dtype="float32")
        args = [array, np.zeros(size, "float32")]
        if fits:
            np.testing.assert_array_equal(interpret(op.parent_op(), "f", args), array)
        else:
            with pytest.raises(TiraxError):
                interpret(op.parent_op(), "f", args)


def test_local_functions_are_called_with_their_symbolic_variables() -> None:
    op = function(
        """
        @R.function(pure=False)
        def inner(a: R.Tensor(("k", 4), "float32")) -> R.Tensor(("k", 4), "float32"):
            k = T.int64()
            b = R.reshape(a, (4, k))
            c = R.permute_dims(b)
            return R.add(a, y)
        return inner(x)
        """.replace("R.add(a, y)", "R.exp(a)")
    )
    closure = next(o for o in op.walk() if isinstance(o, relax.ClosureOp))
    assert name_of(closure.result) == "inner"
    assert not closure.result.type.pure
    assert op.return_op.value.type == TensorType.of(["n", 4], f32)


def test_constants() -> None:
    op = function(
        """
        a = R.const(1.5)
        b = R.const(2)
        c = R.const(True)
        d = R.const([1, 2], "float16")
        e = R.const(array)
        return (a, b, c, d, e, table[1])
        """,
        extra={"array": np.arange(3, dtype="int64"), "table": [np.zeros(2, "float32"), np.ones(2, "float32")]},
    )
    types = [v.type for v in op.return_op.value.owner.fields_]
    assert types == [
        TensorType.of([], f32),
        TensorType.of([], i32),
        TensorType.of([], i1),
        TensorType.of([2], f16),
        TensorType.of([3], i64),
        TensorType.of([2], f32),
    ]
    last = op.return_op.value.owner.fields_[-1].owner
    np.testing.assert_array_equal(last.value.numpy(), np.ones(2, "float32"))


MODULE = """
import tirax.tvm_api as tvm
from tirax.tvm_api.script import ir as I, relax as rx, tir as TT

WIDTH = 4

@tvm.script.ir_module
class MyModule:
    I.module_attrs({"system": "a"})
    I.module_global_infos({"vdevice": []})

    @rx.function
    def main(x: rx.Tensor(("n", WIDTH), "float32")):
        n = TT.int64()
        cls = MyModule
        y = rx.call_tir(cls.twice, x, rx.Tensor((n, WIDTH), "float32"))
        z = rx.call_tir_inplace(cls.twice, (y, y), [1], rx.Tensor((n, WIDTH), "float32"))
        a = rx.call_tir(MyModule.fill, rx.tuple(), [rx.Tensor((n,), "float32")], tir_vars=rx.shape([n + 1]))
        u = cls.helper(z)
        f = cls.helper
        return f(u)

    @rx.function(private=True)
    def helper(v: rx.Tensor(("k", "l"), "float32")):
        return rx.nn.relu(v)

    @TT.prim_func(private=True)
    def fill(a: TT.handle, m: TT.int64):
        A = TT.match_buffer(a, (m - 1,))
        for i in range(m - 1):
            A[i] = 0

    @TT.prim_func
    def twice(a: TT.handle, b: TT.handle):
        n = TT.int64()
        A, B = TT.match_buffer(a, (n, WIDTH)), TT.match_buffer(b, (n, WIDTH))
        for i, j in TT.grid(n, WIDTH):
            B[i, j] = A[i, j] * 2
"""


@pytest.mark.filterwarnings("ignore")
def test_module_with_aliases_and_forward_references() -> None:
    text = MODULE.replace("rx.call_tir_inplace(cls.twice, (y, y), [1],", "rx.call_tir_inplace(cls.twice, (y,), [0],")
    module = parse_source(text)
    module.verify()
    main, helper, fill, twice = module.body.block.ops
    assert [f.sym_name.data for f in (main, helper, fill, twice)] == ["main", "helper", "fill", "twice"]
    assert [f.private for f in (main, helper, fill, twice)] == [False, True, True, False]
    assert helper.ret_type == TensorType.of(["k", "l"], f32)
    assert main.ret_type == TensorType.of(["n", 4], f32)
    calls = {name_of(o.results[0]): o for o in main.body.block.ops if isinstance(o, relax.CallBase)}
    assert [calls[n].callee_name for n in ("y", "z", "a", "u")] == ["twice", "twice", "fill", "helper"]
    assert calls["z"].indices == [0]
    assert [d.data for d in calls["a"].tir_vars] == [Var("n") + 1]
    assert calls["u"].result_type == TensorType.of(["n", 4], f32)
    assert module.attributes["system"].data == "a"


def test_functions_of_a_text_see_each_other() -> None:
    module = parse_source(
        """
# from tvm.script import tir as X
# from tvm.script import relax as Y

@X.prim_func
def k(A: X.Buffer((4,), "float32"), B: X.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i]

@Y.function(pure=False)
def main(x: Y.Tensor((4,), "float32")):
    y = Y.call_tir(k, x, Y.Tensor((4,), "float32"))
    Y.call_packed("done", y)
    return y
"""
    )
    module.verify()
    assert not list(module.body.block.ops)[1].pure


def test_metadata_goes_around() -> None:
    body = "a = R.add(x, R.const([1.0, 2.0, 3.0, 4.0]))\nreturn a"
    text = print_script(function(body).parent_op(), show_meta=True)
    again = parse_source(text)
    constant = next(o for o in again.walk() if isinstance(o, relax.ConstantOp))
    np.testing.assert_array_equal(constant.value.numpy(), np.array([1, 2, 3, 4], "float32"))


def test_locations() -> None:
    op = parse_function("\n" + SIGNATURE + "    a = R.add(x,\n        R.exp(y))\n    return a\n", "model.py")
    by_name = {o.name: o.location for o in op.walk() if o.name.startswith("relax.")}
    assert (by_name["relax.add"].line.data, by_name["relax.add"].column.data) == (4, 9)
    assert (by_name["relax.exp"].line.data, by_name["relax.exp"].column.data) == (5, 9)
    assert by_name["relax.func"].filename.data == "model.py"


BRANCH = """
@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        if c:
            a = R.exp(x)
            y = a
        else:
            b = R.negative(x)
            z = b
            y = z
        return y
"""


def test_the_last_line_of_a_branch_names_its_value_alone():
    module = parse_source(BRANCH)
    (op,) = (op for op in module.walk() if isinstance(op, relax.IfOp))
    kinds = [[type(o) for o in region.block.ops][1:] for region in (op.then_region, op.else_region)]
    assert kinds == [[relax.YieldOp], [relax.BindOp, relax.YieldOp]]
    text = print_script(module)
    assert print_script(parse_source(text)) == text


def test_variables_of_a_callee_are_not_those_of_the_caller_of_the_same_name():
    text = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n + 1",), "float32")) -> R.Tensor(("n + 1",), "float32"):
        cls = Module
        z = cls.f(y)
        return z

    @R.function(private=True)
    def f(a: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return a
"""
    module = parse_source(text)
    (call,) = (op for op in module.walk() if isinstance(op, relax.CallOp))
    assert call.result.type == TensorType.of([Var("n") + 1], f32)


def test_the_body_is_right_where_the_declared_result_contradicts_it():
    text = "@R.function\ndef f(x: R.Tensor((3,))) -> R.Tensor((4,)):\n    return x"
    with pytest.warns(UserWarning, match=r"'f' returns !relax.tensor<\[3\]>, not !relax.tensor<\[4\]> as it declares"):
        op = parse_function(text)
    assert isinstance(op, relax.FuncOp) and op.ret_type == TensorType.of([3])


def test_a_branch_may_end_with_a_dataflow_block():
    block = """with R.dataflow():
        a = R.{0}(x)
        z = R.add(a, y)
        R.output(z)"""
    op = function(f"c = R.const(True)\nif c:\n    {block.format('exp')}\nelse:\n    {block.format('sin')}\nreturn z")
    branch = next(o for o in op.walk() if isinstance(o, relax.IfOp))
    assert name_of(branch.result) == "z"
    assert [o.name for o in branch.else_region.block.ops] == ["relax.dataflow", "relax.yield"]
    text = print_script(op.parent_op())
    assert print_script(parse_source(text)) == text
    with pytest.raises(ScriptError, match="a branch must end with a binding"):
        hidden = block.format("exp").replace("R.output(z)", "R.output(a)")
        function(f"c = R.const(True)\nif c:\n    {hidden}\nelse:\n    {hidden}\nreturn a")


def test_outputs_of_packed_functions_may_be_of_unknown_dtype():
    op = function('return R.call_dps_packed("f", (x,), out_sinfo=R.Tensor((n, 4)))'.replace("n,", "4,"))
    assert op.ret_type == TensorType.of([4, 4])
    with pytest.raises(ScriptError, match="known shape and dtype"):
        function('return R.call_dps_packed("f", (x,), out_sinfo=R.Tensor(ndim=2))')
    with pytest.raises(DTypeError, match="unknown dtype"):
        interpret(op.parent_op(), "f", [np.zeros((1, 4), np.float32)] * 2 + [np.zeros((4, 8), np.float32)])


CLOSURES = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Module
        closure = R.make_closure(cls.f, ARGS)
        z = R.invoke_closure(closure, (PASSED), sinfo_args=R.Tensor((3,), "float32"))
        return z

    @R.function(private=True)
    def f(a: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        c = R.subtract(a, b)
        return c
"""


@pytest.mark.parametrize(("args", "passed"), [("()", "x, y"), ("(y,)", "x,"), ("(x, y)", "")])
def test_closures_of_functions_of_the_module(args: str, passed: str):
    module = parse_source(CLOSURES.replace("ARGS", args).replace("PASSED", passed))
    verify_module(module)
    x, y = np.arange(3, dtype=np.float32), np.full(3, 5, np.float32)
    np.testing.assert_array_equal(interpret(module, "main", [x, y]), x - y)


def test_a_leaf_at_the_end_of_a_branch_is_its_value():
    """No binding: the name is that of the result."""
    func = from_source(
        "from tvm.script import relax as R\n\n@R.function\n"
        'def main(c: R.Tensor((), "bool")):\n'
        '    if c:\n        y = R.const(1.0, "float32")\n    else:\n        y = R.const(2.0, "float32")\n    return y\n'
    )
    branch = func.body.blocks[0].bindings[0].value
    assert [list(b.blocks) for b in (branch.true_branch, branch.false_branch)] == [[], []]
    assert 'y: R.Tensor((), dtype="float32") = R.const(1.0, "float32")' in func.script()
