from tirax.interpreter import assert_same_meaning
from tirax.script import parse_source
from tirax.transforms.legalize import LegalizeOps

SOURCE = """@R.function
def main(x: R.Tensor(("n", 5), "float32")):
    return R.acme.shrink(x, threshold=0.25)"""


def test_shrink():
    assert_same_meaning(module := parse_source(SOURCE), LegalizeOps()(module))
