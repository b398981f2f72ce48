from tirax.extend import LegalizeOps, assert_same_meaning, parse_source

SOURCE = """@R.function
def main(x: R.Tensor(("n", 5), "float32")):
    return R.acme.shrink(x, threshold=0.25)"""


def test_shrink():
    assert_same_meaning(module := parse_source(SOURCE), LegalizeOps()(module))
