"""Values whose memory a later call takes: passes that move or merge bindings leave them their order."""

import numpy as np
import pytest

from tirax.tvm_api import relax
from tirax.tvm_api.script import from_source

INPLACE = """
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(a: T.Buffer((4,), "float32")):
        for i in range(4):
            a[i] = a[i] + a[i]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            a = R.exp(x)
            c = R.negative(a)
            b = R.call_tir_inplace(cls.double, (a,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))
            d = R.exp(x)
            e = R.add(c, d)
            gv = (b, e)
            R.output(gv)
        return gv
"""


@pytest.mark.parametrize("name", ["EliminateCommonSubexpr", "TopologicalSort"])
def test_what_is_overwritten_is_not_used_afterwards(name: str) -> None:
    """`d` may not become `a`, whose memory `b` has taken; `c` is computed before that."""
    x = np.array([0, 1, 2, 3], np.float32)
    after = getattr(relax.transform, name)()(from_source(INPLACE))
    b, e = (np.asarray(v) for v in relax.build(after)["main"](x))
    np.testing.assert_allclose(b, 2 * np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(e, np.zeros(4), atol=1e-5)


def test_an_expression_is_not_merged_with_what_is_overwritten() -> None:
    assert relax.transform.EliminateCommonSubexpr()(from_source(INPLACE)).script().count("R.exp") == 2


@pytest.mark.parametrize("order", ["depth-first", "breadth-first"])
@pytest.mark.parametrize("direction", ["from-inputs", "from-outputs"])
def test_users_stay_before_the_call_that_overwrites(order: str, direction: str) -> None:
    text = relax.transform.TopologicalSort(order, direction)(from_source(INPLACE)).script()
    assert text.index("R.negative") < text.index("R.call_tir_inplace")
