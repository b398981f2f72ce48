"""`merge` and `loop_partition`: text, meaning, refusals.

The texts of `merge` are TVM's. Those of `loop_partition` are but for the regions, which TVM leaves out.
"""

from __future__ import annotations

import numpy as np
import pytest
from prologue import HEAD, scheduled

from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule, ScheduleError
from tirax.tvm_api.script import from_source

SHAPE = 'T.Buffer((16, 24), "float32")'


def nest(name, value, inner=24):
    return f"""\
        for i, j in T.grid(16, {inner}):
            with T.block("{name}"):
                vi, vj = T.axis.remap("SS", [i, j])
                {name}[vi, vj] = {value}
"""


def program(*nests, params="ABCD"):
    return HEAD + f"    def main({', '.join(f'{p}: {SHAPE}' for p in params)}):\n" + "".join(nests)


BESIDE = program(nest("B", "A[vi, vj] * 2.0"), nest("C", "A[vi, vj] * 3.0"))
ROWS = program(nest("B", "A[vi, vj] * 2.0"), nest("C", "B[vi, 23 - vj] * 2.0"), nest("D", "C[vi, vj] * B[vi, vj]"))
SQUARE = (
    HEAD
    + """\
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for i, j in T.grid(16, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for i, j in T.grid(16, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj, vi] * 2.0
"""
)
SUM = (
    HEAD
    + """\
    def main(A: T.Buffer((16, 24), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16, 24), "float32")):
        for i, k in T.grid(16, 24):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
        for i, j in T.grid(16, 24):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] / B[vi]
"""
)
SYMBOLIC = (
    HEAD
    + """\
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + T.float32(1.0)
"""
)


def merged(*names, level=0):
    return lambda s: s.merge(*(s.get_loops(s.get_block(n))[level] for n in names))


def split_before(s):
    loops = [s.split(s.get_loops(s.get_block(n))[0], [4, 4])[1] for n in "BC"]
    s.split(s.merge(*loops), [2, 2])


def partitioned(factors, level=0, name="B"):
    return lambda s: s.loop_partition(s.get_loops(s.get_block(name))[level], factors)


def partitioned_update(s):
    block = s.get_block("B")
    k = s.get_loops(block)[1]
    s.decompose_reduction(block, k)
    s.loop_partition(k, [2, 9])


def twice(s):
    _, rest = partitioned([4, None])(s)
    s.loop_partition(rest, [5, None])


def after_a_split(s):
    outer, _ = s.split(s.get_loops(s.get_block("B"))[1], [None, 7])
    s.loop_partition(outer, [1, None])


CASES = {
    "merge_outer": (BESIDE, merged("B", "C")),
    "merge_inner": (BESIDE, merged("B", "C", level=1)),
    "merge_reversed": (BESIDE, merged("C", "B", level=1)),
    "merge_split": (BESIDE, split_before),
    "merge_three": (ROWS, merged("B", "C", "D")),
    "merge_after_a_sum": (SUM, merged("B", "C")),
    "partition_rest": (BESIDE, partitioned([2, 5])),
    "partition_middle": (BESIDE, partitioned([2, None, 7], level=1)),
    "partition_twice": (BESIDE, twice),
    "partition_reduction": (SUM, partitioned_update),
    "partition_sum": (SUM, partitioned([1, None])),
    "partition_split": (BESIDE, after_a_split),
}


@pytest.mark.parametrize("name", CASES)
def test_text_and_meaning(name, golden) -> None:
    source, steps = CASES[name]
    module, s = scheduled(source, steps)
    golden(f"schedule/partition/{name}.txt", s.mod.script())
    assert_same_meaning(module.op, s.mod.op)


@pytest.mark.parametrize("name", ["merge_after_a_sum", "partition_reduction"])
def test_natively(name) -> None:
    source, steps = CASES[name]
    s = Schedule(from_source(source))
    steps(s)
    a = np.random.default_rng(0).random((16, 24), np.float32)
    b, c = np.zeros(16, np.float32), np.zeros((16, 24), np.float32)
    build(s.mod.op)["main"](a, b, c)
    np.testing.assert_allclose(b, a.sum(1), rtol=1e-5)
    np.testing.assert_allclose(c, a / b[:, None], rtol=1e-5)


def test_parts_are_loops_of_their_own() -> None:
    s = Schedule(from_source(BESIDE))
    first, second = partitioned([8, None])(s)
    s.parallel(first)
    s.vectorize(s.get_loops(s.get_block("B_i1"))[1])
    assert s.operation(s.get_loops(s.get_block("B_i1"))[0]) is s.operation(second)
    parts = s.get_child_blocks(s.get_block("B_i_common"))
    assert [s.operation(p).block_name.data for p in parts] == ["B_i0_partition", "B_i1_partition"]


def test_loops_that_do_not_start_at_0_keep_their_meaning() -> None:
    module, s = scheduled(BESIDE)
    partitioned([1, None], level=1)(s)
    s.loop_partition(s.get_loops(s.get_block("C"))[0], [1, None])
    s.split(s.get_loops(s.get_block("C_i0"))[1], [None, 5])
    s.split(s.get_loops(s.get_block("C_i1"))[1], [None, 5])
    assert_same_meaning(module.op, s.mod.op)


def annotated(s):
    s.annotate(s.get_loops(s.get_block("B"))[0], "note", 1)
    merged("B", "C")(s)


def of_other_depth(s):
    s.merge(s.get_loops(s.get_block("B"))[0], s.get_loops(s.get_block("C"))[1])


def inside_each_other(s):
    s.merge(*s.get_loops(s.get_block("B")))


def of_another_extent(s):
    outer, _ = s.split(s.get_loops(s.get_block("B"))[0], [4, 4])
    s.merge(outer, s.get_loops(s.get_block("C"))[0])


@pytest.mark.parametrize(
    ("source", "steps", "rule"),
    [
        (BESIDE, annotated, "a loop with annotations"),
        (BESIDE, of_other_depth, "the loops are not of the same depth"),
        (BESIDE, inside_each_other, "the loops are not of the same depth"),
        (BESIDE, of_another_extent, "the loops have different extents"),
        (BESIDE, merged("B"), "at least two loops"),
        (BESIDE, merged("B", "B"), "a loop is given twice"),
        (SQUARE, merged("B", "C"), "an iteration would use what another iteration computes"),
        (ROWS, merged("B", "C", level=1), "an iteration would use what another iteration computes"),
        (ROWS, merged("C", "B"), "the loops would run in another order"),
        (ROWS, merged("B", "D"), "what stands between the loops"),
        (SUM, merged("B", "C", level=1), "an iteration would use what another iteration computes"),
        (SUM, partitioned([2, None], level=1), "the loop drives a reduction with an init"),
        (BESIDE, partitioned([8, 8]), "the sum of the factors is not less than the extent"),
        (BESIDE, partitioned([None, None]), "at most one factor may be None"),
        (BESIDE, partitioned([0, 3]), "factors are positive integers"),
        (SYMBOLIC, partitioned([3, None]), "the sum of the factors is not less than the extent"),
    ],
)
def test_refused(source, steps, rule) -> None:
    module, s = scheduled(source)
    with pytest.raises(ScheduleError, match=rule) as caught:
        steps(s)
    assert "^^^" in str(caught.value)
