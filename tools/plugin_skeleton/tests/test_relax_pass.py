"""The graph pass: what it rewrites, what it leaves alone, and that results are unchanged."""

from acme.relax_pass import CancelNegatives

from tirax.extend import assert_same_meaning, parse_source, print_script

TWICE = parse_source("""@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
    return R.add(R.negative(R.negative(x)), y)""")
ONCE = parse_source("""@R.function
def main(x: R.Tensor(("n",), "float32")):
    return R.negative(R.abs(R.negative(x)))""")


def test_two_negatives_cancel():
    after = CancelNegatives()(TWICE)
    assert "R.add(x, y)" in print_script(after) and "negative" not in print_script(after)
    assert_same_meaning(TWICE, after)


def test_others_stay():
    assert print_script(CancelNegatives()(ONCE)) == print_script(ONCE)
