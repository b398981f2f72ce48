"""`lower-init-block`: sums of nothing, of loops that schedules split, fused, reordered and moved, against numpy.

A loop over nothing has no iterations, or none in which the predicate holds: what it would initialize is so before it.
"""

from __future__ import annotations

import numpy as np
import pytest
from strength import thinned
from xdsl.context import Context

from tirax.dialects import tir
from tirax.driver.build import build
from tirax.driver.pipelines import make_passes
from tirax.interpreter import interpret
from tirax.schedule import Schedule, ScheduleError
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
SUM = (
    HEAD
    + """\
    def main(a: T.handle, d: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        D = T.match_buffer(d, (n,), "float32")
        C = T.alloc_buffer((n,), "float32")
        for i, k in T.grid(n, m):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(3)
                C[vi] = C[vi] + A[vi, vk]
        for i in T.serial(n):
            with T.block("D"):
                vi = T.axis.spatial(n, i)
                D[vi] = C[vi] * T.float32(2)
"""
)
SIZES = [(n, m) for n in (0, 1, 3, 5) for m in (0, 1, 5)]


def split_sum(sch):
    sch.split(sch.get_loops("C")[1], [None, 4])


def split_sum_the_other_way(sch):
    sch.split(sch.get_loops("C")[1], [4, None])


def split_twice(sch):
    outer, _ = sch.split(sch.get_loops("C")[1], [None, 4])
    sch.split(outer, [None, 2])


def split_and_fused_again(sch):
    sch.fuse(*sch.split(sch.get_loops("C")[1], [None, 4]))


def sum_outside(sch):
    i, k = sch.get_loops("C")
    sch.reorder(k, i)


def tiles(sch):
    i, k = sch.get_loops("C")
    (i0, i1), (k0, k1) = sch.split(i, [None, 4]), sch.split(k, [None, 4])
    sch.reorder(i0, k0, i1, k1)
    sch.parallel(i0)


def tiles_with_the_sum_outside(sch):
    i, k = sch.get_loops("C")
    (i0, i1), (k0, k1) = sch.split(i, [None, 4]), sch.split(k, [None, 4])
    sch.reorder(k0, i0, k1, i1)
    sch.vectorize(i1)


def points_and_sum_fused(sch):
    sch.fuse(*sch.get_loops("C"))


def points_and_sum_fused_and_split(sch):
    sch.split(sch.fuse(*sch.get_loops("C")), [None, 4])


def a_part_of_the_points_and_sum_fused(sch):
    i, k = sch.get_loops("C")
    sch.fuse(sch.split(i, [None, 4])[1], k)


def moved_to_where_it_is_read(sch):
    outer, _ = sch.split(sch.get_loops("D")[0], [None, 4])
    sch.compute_at("C", outer)
    *_, i, k = sch.get_loops("C")
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(k0, i, k1)


def read_where_it_is_computed(sch):
    i, k = sch.get_loops("C")
    sch.reverse_compute_at("D", i)
    sch.split(k, [None, 4])


def written_by_a_copy(sch):
    i, k = sch.get_loops("C")
    (i0, i1), (k0, k1) = sch.split(i, [None, 4]), sch.split(k, [None, 4])
    sch.reorder(i0, k0, i1, k1)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local"), i0)


def a_block_around(sch):
    i, k = sch.get_loops("C")
    sch.reorder(k, i)
    sch.blockize(i)


def unrolled(sch):
    sch.unroll(sch.split(sch.get_loops("C")[1], [None, 4])[1])


def an_init_of_its_own(sch):
    sch.decompose_reduction("C", sch.split(sch.get_loops("C")[1], [None, 4])[0])


STEPS = [
    split_sum,
    split_sum_the_other_way,
    split_twice,
    split_and_fused_again,
    sum_outside,
    tiles,
    tiles_with_the_sum_outside,
    points_and_sum_fused,
    points_and_sum_fused_and_split,
    a_part_of_the_points_and_sum_fused,
    moved_to_where_it_is_read,
    read_where_it_is_computed,
    written_by_a_copy,
    a_block_around,
    unrolled,
    an_init_of_its_own,
]


@thinned("steps", STEPS, 8, lambda steps: steps.__name__)
def test_sums_of_nothing(steps):
    sch = Schedule(from_source(SUM))
    steps(sch)
    native = build(sch.mod)
    for n, m in SIZES:
        a = np.random.default_rng(n * 10 + m).random((n, m), "float32")
        results = np.full((2, n), 7, "float32")
        native["main"](a, results[0])
        interpret(sch.mod, "main", [a, results[1]])
        np.testing.assert_allclose(results, [(a.sum(axis=1) + 3) * 2] * 2, rtol=1e-5, err_msg=f"n = {n}, m = {m}")


def nowhere_to_run(sch):
    sch.reverse_compute_at("D", sch.get_loops("C")[1])


def no_copy_of_nothing(sch):
    sch.write_at(sch.get_loops("C")[1], "C", 0, "local")


def no_points_of_nothing(sch):
    sch.decompose_reduction("C", sch.fuse(*sch.get_loops("C")))


@pytest.mark.parametrize("steps", [nowhere_to_run, no_copy_of_nothing, no_points_of_nothing])
def test_what_would_not_run_is_refused(steps):
    sch = Schedule(from_source(SUM))
    with pytest.raises(ScheduleError, match="may have no iteration"):
        steps(sch)
    steps(Schedule(from_source(fixed(3, 2))))


def fixed(n: int, m: int) -> str:
    """The sum for extents that are known."""
    lines = SUM.replace("        n, m = T.int64(), T.int64()\n", "")
    for old, new in (
        ("(n, m)", f"({n}, {m})"),
        ("(n,)", f"({n},)"),
        ("(n)", f"({n})"),
        ("spatial(n,", f"spatial({n},"),
    ):
        lines = lines.replace(old, new)
    return lines


def test_extents_that_are_known_cost_nothing():
    module = from_source(fixed(3, 4)).op
    make_passes(["lower-init-block"])[0].apply(Context(), module)
    loops = [op for op in module.walk() if isinstance(op, tir.ForOp)]
    branches = [op for op in module.walk() if isinstance(op, tir.IfOp)]
    assert (len(loops), len(branches)) == (3, 1)


@pytest.mark.parametrize("name", ["tir-simplify", "remove-no-op", "unroll-loop", "simplify"])
def test_a_loop_over_nothing_is_kept_while_there_is_an_init_in_it(name):
    module = from_source(fixed(3, 0))
    after = make_passes([name])[0](module)
    results = np.full((2, 3), 7, "float32")
    build(after)["main"](np.zeros((3, 0), "float32"), results[0])
    interpret(after, "main", [np.zeros((3, 0), "float32"), results[1]])
    np.testing.assert_array_equal(results, np.full((2, 3), 6))


WINDOWS = (
    HEAD
    + """\
    def main(a: T.handle, b: T.handle, c: T.handle):
        n, m, w, u = T.int64(), T.int64(), T.int64(), T.int64()
        A = T.match_buffer(a, (n + u, m + w), "float32")
        B = T.match_buffer(b, (u, w), "float32")
        C = T.match_buffer(c, (n, m), "float32")
        for i, j, p, q in T.grid(n, m, u, w):
            with T.block("C"):
                vi, vj, vp, vq = T.axis.remap("SSRR", [i, j, p, q])
                with T.init():
                    C[vi, vj] = T.Cast("float32", vi) - T.Cast("float32", vj)
                C[vi, vj] = T.max(C[vi, vj], A[vi + vp, vj + vq] * B[vp, vq])
"""
)


def test_one_of_two_extents_is_nothing():
    """An init that depends on the point, in loops of several orders."""
    sch = Schedule(from_source(WINDOWS))
    i, j, p, q = sch.get_loops("C")
    (j0, j1), (q0, q1) = sch.split(j, [None, 2]), sch.split(q, [None, 2])
    sch.reorder(j0, q0, i, p, j1, q1)
    native = build(sch.mod)
    rng = np.random.default_rng(0)
    for n, m, u, w in [(2, 3, 0, 2), (2, 3, 2, 0), (1, 1, 0, 0), (3, 5, 2, 3), (0, 4, 0, 1)]:
        a, b = rng.random((n + u, m + w), "float32"), rng.random((u, w), "float32")
        expected = np.subtract.outer(np.arange(n), np.arange(m)).astype("float32")
        for p, q in np.ndindex(u, w):
            expected = np.maximum(expected, a[p : p + n, q : q + m] * b[p, q])
        results = np.full((2, n, m), 7, "float32")
        native["main"](a, b, results[0])
        interpret(sch.mod, "main", [a, b, results[1]])
        np.testing.assert_allclose(results, [expected] * 2, rtol=1e-6)
