"""`rfactor`: text as TVM's (tests/golden/schedule/rfactor), meaning, natively, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from prologue import HEAD, scheduled

from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule, ScheduleError
from tirax.tvm_api.script import from_source

SUM = f"""{HEAD}\
    def main(A: T.Buffer((16, 24), "float32"), B: T.Buffer((16,), "float32")):
        for i, k in T.grid(16, 24):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
"""
MAX = SUM.replace("T.float32(0)", 'T.min_value("float32")').replace("B[vi] + A[vi, vk]", "T.max(B[vi], A[vi, vk])")
ARGMAX = f"""{HEAD}\
    def main(idx: T.Buffer((16, 24), "int32"), val: T.Buffer((16, 24), "float32"),
             ai: T.Buffer((16,), "int32"), av: T.Buffer((16,), "float32")):
        for i, k in T.grid(16, 24):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    ai[vi] = -1
                    av[vi] = T.min_value("float32")
                v0: T.int32 = T.Select(av[vi] >= val[vi, vk], ai[vi], idx[vi, vk])
                v1: T.float32 = T.Select(av[vi] >= val[vi, vk], av[vi], val[vi, vk])
                ai[vi] = v0
                av[vi] = v1
"""
ARGMIN = ARGMAX.replace(">=", "<=").replace("min_value", "max_value")
FIRST = ARGMAX.replace(
    "av[vi] >= val[vi, vk]", "av[vi] > val[vi, vk] or (av[vi] == val[vi, vk] and ai[vi] < idx[vi, vk])"
)
"""Of those that are equally good the first: as topi writes argmax."""
TOPI = FIRST.replace(
    "T.Select(av[vi] > val[vi, vk] or (av[vi] == val[vi, vk] and ai[vi] < idx[vi, vk]), av",
    "T.Select(av[vi] > val[vi, vk], av",
)
"""The value is chosen by the order alone: where the rest of the condition decides, both values are one."""
STORED_LAST_FIRST = ARGMAX.replace(
    "ai[vi] = v0\n                av[vi] = v1", "av[vi] = v1\n                ai[vi] = v0"
)
SHARED = f"""{HEAD}\
    def main(A: T.Buffer((16, 24), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        for i in range(16):
            for k in range(24):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
            for k in range(24):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk] * B[vi]
"""
MOMENTS = f"""{HEAD}\
    def main(x: T.Buffer((16, 24), "float32"), a: T.Buffer((16,), "float32"), b: T.Buffer((16,), "float32")):
        for i, k in T.grid(16, 24):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    a[vi] = T.float32(0)
                    b[vi] = T.float32(0)
                v0: T.float32 = a[vi] + x[vi, vk]
                v1: T.float32 = b[vi] + x[vi, vk] * x[vi, vk]
                a[vi] = v0
                b[vi] = v1
"""


def rfactor(factors=(4, 6), which=0, axis=0):
    def steps(s):
        _, k = s.get_loops(s.get_block("B"))
        return s.rfactor(s.split(k, list(factors))[which], axis)

    return steps


def full(s):
    return s.rfactor(s.get_loops(s.get_block("B"))[1], 0)


def unit(s):
    _, k = s.get_loops(s.get_block("B"))
    return s.rfactor(s.split(k, [24, 1])[1], 0)


def unrolled(s):
    _, k = s.get_loops(s.get_block("B"))
    s.unroll(k)
    s.rfactor(k, 0)


def second_of_two(s):
    return s.rfactor(s.get_loops(s.get_block("C"))[1], 0)


def rows_in_fives(s):
    s.split(s.get_loops(s.get_block("B"))[0], [None, 5])
    return s.rfactor(s.split(s.get_loops(s.get_block("B"))[2], [4, 6])[0], 0)


CASES = {
    "sum": (SUM, rfactor()),
    "sum_inner": (SUM, rfactor(which=1, axis=-1)),
    "max": (MAX, rfactor()),
    "max_with_a_predicate": (MAX, rfactor((None, 5))),
    "sum_inner_with_a_predicate": (SUM, rfactor((None, 5), which=1)),
    "sum_of_rows_with_a_predicate": (SUM, rows_in_fives),
    "argmax": (ARGMAX, rfactor()),
    "argmax_inner": (ARGMAX, rfactor(which=1, axis=1)),
    "argmax_whole": (ARGMAX, full),
    "argmin": (ARGMIN, rfactor()),
    "argmax_first": (FIRST, rfactor()),
    "argmax_of_topi": (TOPI, rfactor()),
    "argmax_stored_last_first": (STORED_LAST_FIRST, rfactor(which=1)),
    "loops_shared_with_another_block": (SHARED, rfactor()),
    "loop_of_one_step": (SUM, unit),
    "moments": (MOMENTS, rfactor()),
}


@pytest.mark.parametrize("name", CASES)
def test_text_and_meaning(name, golden) -> None:
    source, steps = CASES[name]
    module, s = scheduled(source)
    result = steps(s)
    assert s.operation(result).block_name.data == "B_rf"
    golden(f"schedule/rfactor/{name}.txt", s.mod.script())
    assert_same_meaning(module.op, s.mod.op)


@pytest.mark.parametrize("which", [0, 1])
def test_argmax_natively(which) -> None:
    s = Schedule(from_source(ARGMAX))
    result = rfactor(which=which)(s)
    s.parallel(s.get_loops(result)[0])
    val = np.random.default_rng(0).random((16, 24), np.float32)
    idx = np.broadcast_to(np.arange(24, dtype=np.int32), (16, 24)).copy()
    ai, av = np.zeros(16, np.int32), np.zeros(16, np.float32)
    build(s.mod.op)["main"](idx, val, ai, av)
    np.testing.assert_array_equal(ai, val.argmax(1))
    np.testing.assert_array_equal(av, val.max(1))


def test_the_first_of_equals_stays_the_first() -> None:
    s = Schedule(from_source(FIRST))
    rfactor(which=1)(s)
    idx = np.broadcast_to(np.arange(24, dtype=np.int32), (16, 24)).copy()
    ai, av = np.zeros(16, np.int32), np.zeros(16, np.float32)
    build(s.mod.op)["main"](idx, np.ones((16, 24), np.float32), ai, av)
    np.testing.assert_array_equal(ai, np.zeros(16))


def spatial(s):
    s.rfactor(s.get_loops(s.get_block("B"))[0], 0)


@pytest.mark.parametrize(
    ("source", "steps", "rule"),
    [
        (SUM, spatial, "the loop does not drive reductions only"),
        (SUM, unrolled, "the loop is not serial"),
        (SHARED, second_of_two, "what the block reads is written in a loop around it"),
        (SUM.replace("B[vi] = T.float32(0)", "B[15 - vi] = T.float32(0)"), rfactor(), "does not store where the block"),
        (ARGMAX.replace("ai: T.Buffer((16", "ai: T.Buffer((17"), rfactor(), "not of one shape"),
        (SUM, rfactor(axis=2), "factor_axis is out of range"),
        (SUM, rfactor((6, 5)), "the predicate may keep the init of a partial result from running"),
        (SUM.replace("T.float32(0)", "T.float32(1)"), rfactor(), "the init is not the neutral element"),
        (SUM.replace("B[vi] + A", "B[vi] - A"), rfactor(), r"by \+, \*, min, max or a choice"),
        (SUM.replace("+ A[vi, vk]", "+ B[vi] * A[vi, vk]"), rfactor(), r"by \+, \*, min, max or a choice"),
        (ARGMAX.replace("idx[vi, vk])", "idx[vi, vk] + ai[vi])"), rfactor(), r"by \+, \*, min, max or a choice"),
        (
            ARGMAX.replace("av[vi] >= val[vi, vk], av", "av[vi] > val[vi, vk], av"),
            rfactor(),
            r"by \+, \*, min, max or a choice",
        ),
        (ARGMAX.replace("ai[vi] = v0", "ai[15 - vi] = v0"), rfactor(), "not to the same place"),
        (ARGMAX.replace("av[vi] = v1", "av[vi] = v1 * T.float32(2)"), rfactor(), "values that are named before"),
    ],
)
def test_refused(source, steps, rule) -> None:
    s = Schedule(from_source(source))
    with pytest.raises(ScheduleError, match=rule) as caught:
        steps(s)
    assert "^^^" in str(caught.value)
