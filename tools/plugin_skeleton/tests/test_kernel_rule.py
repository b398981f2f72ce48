"""The default schedule applies the rule where it fits, and results are right, also at the edges."""

import numpy as np
import pytest

from tirax.extend import OPTIMIZE, Sequential, build, make_passes, parse_source

MODULE = parse_source("""@R.function
def main(x: R.Tensor(("n", 6), "float32"), w: R.Tensor((6, 20), "float32")):
    with R.dataflow():
        y = R.matmul(x, w)
        R.output(y)
    return y""")


def test_the_rule_is_taken():
    assert 'sched.rule "acme row tile" on "matmul"' in str(
        Sequential(make_passes([*OPTIMIZE, "plan-schedule"]))(MODULE)
    )


@pytest.mark.parametrize("rows", [0, 1, 4, 9])
def test_products_are_right(rows):
    rng = np.random.default_rng(rows)
    x, w = rng.random((rows, 6), np.float32), rng.random((6, 20), np.float32)
    np.testing.assert_allclose(build(MODULE)["main"](x, w), x @ w, rtol=1e-5)
