"""TVM's canonical bindings: a program before and after for each rule."""

import pytest

from tirax.ir.equality import assert_structural_equal
from tirax.tvm_api import relax
from tirax.tvm_api.passes.bindings.canonicalize_bindings import InconsistentCastError
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n\n@I.ir_module\nclass Module:\n    @R.function\n"
X = 'x: R.Tensor(("n", 4), "float32")'

ROWS = {
    "a variable of a cast": (
        f"""def main({X}):
        m = T.int64()
        y = R.match_cast(x, R.Tensor((m, 4), "float32"))
        z = R.add(y, x)
        return z""",
        f"""def main({X}):
        z = R.add(x, x)
        return z""",
    ),
    "a constant that is used": (
        f"""def main({X}):
        c = R.const(2.0, "float32")
        z = R.add(x, c)
        return z""",
        f"""def main({X}):
        c = R.const(2.0, "float32")
        z = R.add(x, R.const(2.0, "float32"))
        return z""",
    ),
    "results that nothing needs": (
        f"""def main({X}):
        with R.dataflow():
            y = R.exp(x)
            z = R.add(y, x)
            R.output(y, z)
        return z""",
        f"""def main({X}):
        with R.dataflow():
            y = R.exp(x)
            z = R.add(y, x)
            R.output(z)
        return z""",
    ),
    "a parameter that a block returns": (
        f"""def main({X}):
        with R.dataflow():
            y = x
            R.output(y)
        return y""",
        f"""def main({X}):
        return x""",
    ),
    "a field of a tuple inside of a block": (
        f"""def main({X}):
        with R.dataflow():
            y = R.exp(x)
            t = (y, x)
            R.output(t)
        z = t[0]
        return z""",
        f"""def main({X}):
        with R.dataflow():
            z = R.exp(x)
            t = (z, x)
            R.output(z)
        return z""",
    ),
    "casts of branches": (
        f"""def main({X}, c: R.Prim("bool"), v: R.Tensor(("m",), "float32"), w: R.Tensor((8, 4), "float32")):
        m = T.int64()
        if c:
            a = R.match_cast(w, R.Tensor((m, 4), "float32"))
            r = R.exp(a)
        else:
            a = R.exp(w)
            r = R.match_cast(a, R.Tensor((m, 4), "float32"))
        return r""",
        None,
    ),
}


@pytest.mark.parametrize(("before", "after"), ROWS.values(), ids=ROWS)
def test_a_rule(before, after):
    actual = relax.transform.CanonicalizeBindings()(from_source(HEAD + "    " + before))
    if after is not None:
        assert_structural_equal(actual.op, from_source(HEAD + "    " + after).op)
    again = relax.transform.CanonicalizeBindings()(actual)
    assert_structural_equal(again.op, actual.op)


def test_casts_that_contradict_each_other_are_refused():
    source = f"""def main({X}, y: R.Tensor((3, 5), "float32")):
        a, b = T.int64(), T.int64()
        z = R.match_cast(x, R.Tensor((a, b), "float32"))
        w = R.match_cast(y, R.Tensor((3, b), "float32"))
        return (z, w)"""
    with pytest.raises(InconsistentCastError, match="must be consistent"):
        relax.transform.CanonicalizeBindings()(from_source(HEAD + "    " + source))
