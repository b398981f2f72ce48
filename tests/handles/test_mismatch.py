"""Where programs differ first: paths by the names of their parts."""

import pytest

from tirax import tvm_api as tvm
from tirax.tvm_api import te, tir
from tirax.tvm_api.ir.base import get_first_structural_mismatch
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
PROGRAM = """    def f(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), n: T.int32):
        for i, j in T.grid(16, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        if n > 3:
            x: T.int32 = n + 1
            T.evaluate(T.max(x, n))
        while B[0, 0] < T.float32(1):
            B[0, 0] = T.exp(B[0, 0])
"""
CHANGES = {
    "T.grid(16, 16)": ("T.grid(8, 16)", "body.seq[0].extent.value"),
    "remap": ("remap", None),
    "A[vi, vj] * T.float32(2)": ("A[vj, vi] * T.float32(2)", "reads[0].region[0]"),
    "T.float32(2)": ("T.float32(3)", "body.value.b.value"),
    "n > 3": ("n >= 3", "condition"),
    "x: T.int32 = n + 1": ("x: T.int32 = n + 2", "value.b.value"),
    "T.max(x, n)": ("T.max(n, x)", "value.a"),
    "T.exp": ("T.sqrt", "value.op"),
}


def module(source):
    return from_source(HEAD + source)


@pytest.mark.parametrize("old", list(CHANGES))
def test_the_path_to_what_was_changed(old):
    new, end = CHANGES[old]
    assert old in PROGRAM
    before, after = module(PROGRAM), module(PROGRAM.replace(old, new))
    mismatch = get_first_structural_mismatch(before, after)
    if end is None:
        assert mismatch is None
        return
    assert str(mismatch[0]).startswith('<root>.functions[I.GlobalVar("f")]') and mismatch[0] == mismatch[1]
    assert end in str(mismatch[0])
    with pytest.raises(ValueError, match="at <root>"):
        tvm.ir.assert_structural_equal(before, after)


def test_what_is_missing_on_one_side():
    x = tir.Var("x", "int32")
    three, two = ([tir.Evaluate(x + k) for k in range(n)] for n in (3, 2))
    left, right = get_first_structural_mismatch(tir.SeqStmt(three), tir.SeqStmt(two))
    assert (str(left), str(right)) == ("<root>.seq[2]", "<root>.seq[<missing element #2>]")
    one = tvm.IRModule({"f": module(PROGRAM)["f"]})
    left, right = get_first_structural_mismatch(one, tvm.IRModule())
    assert str(left).endswith('functions[I.GlobalVar("f")]') and str(right).endswith("[<missing entry>]")


def test_variables_stand_for_each_other():
    (a, b), (c, d) = ([te.var(n) for n in "xy"] for _ in range(2))
    same = tir.PrimFunc([a, b], tir.Evaluate(a + b)), tir.PrimFunc([c, d], tir.Evaluate(c + d))
    assert get_first_structural_mismatch(*same) is None
    other = tir.PrimFunc([c, d], tir.Evaluate(c + c))
    assert [str(p) for p in get_first_structural_mismatch(same[0], other)] == ["<root>.body.value.b"] * 2
    small, large = (
        tir.PrimFunc([p], tir.Evaluate(0), buffer_map={p: tir.decl_buffer((10, n))}) for p, n in ((a, 10), (c, 20))
    )
    assert str(get_first_structural_mismatch(small, large)[0]).endswith(".shape[1].value")


RELAX = """@R.function
def main(x: R.Tensor((4,), "float32")):
    y = R.add(x, R.const(1.0))
    z = R.multiply(y, x)
    return z
"""
RELAX_CHANGES = {
    "const(1.0)": ("const(2.0)", "body.blocks[0].bindings[0].value.args[1].data"),
    "R.add": ("R.subtract", "body.blocks[0].bindings[0].value.op"),
    "multiply(y, x)": ("multiply(x, y)", "body.blocks[0].bindings[1].value.args[0]"),
    "return z": ("return y", "body.body"),
    "    z = R.multiply(y, x)\n    return z": ("    return y", "body.blocks[0].bindings[1]"),
}


@pytest.mark.parametrize("old", list(RELAX_CHANGES))
def test_the_path_in_a_function_of_relax(old):
    new, place = RELAX_CHANGES[old]
    before, after = from_source(RELAX), from_source(RELAX.replace(old, new))
    with pytest.raises(ValueError) as error:
        tvm.ir.assert_structural_equal(before, after)
    assert f"at <root>.{place}\n" in str(error.value)
