"""The pass on tensor functions: what it rewrites, and that results are unchanged."""

from acme.tir_pass import DoubleByAdding

from tirax.extend import assert_same_meaning, parse_source, print_script

MODULE = parse_source("""
@T.prim_func
def scale(x: T.handle, y: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n,), "int32")
    Y = T.match_buffer(y, (n,), "int32")
    for i in range(n):
        with T.block("Y"):
            vi = T.axis.spatial(n, i)
            Y[vi] = X[vi] * 2 + X[vi] * 3
""")


def test_doubling_becomes_a_sum():
    after = DoubleByAdding()(MODULE)
    assert "Y[vi] = X[vi] + X[vi] + X[vi] * 3" in print_script(after)
    assert_same_meaning(MODULE, after)
