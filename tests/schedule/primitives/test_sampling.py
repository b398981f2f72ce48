"""Sampling: the draws of a seed are TVM's (`samples_of_tvm.json`, 50 seeds for each of three shapes), and decisions."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

import pytest
from prologue import HEAD

from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule, ScheduleError
from tirax.tvm_api.script import from_source

SAMPLES = json.loads((Path(__file__).parent / "samples_of_tvm.json").read_text())
PARTITIONS = ((3, 1, 2), (4, 2, 4), (3, 0, 1), (5, 2, 8), (2, 1, 16))


def program(n, m):
    shape = f'T.Buffer(({n}, {m}), "float32")'
    return from_source(
        HEAD
        + f"""\
    def main(A: {shape}, B: {shape}, C: {shape}):
        E = T.alloc_buffer(({n}, {m}))
        for i, j in T.grid({n}, {m}):
            with T.block("E"):
                vi, vj = T.axis.remap("SS", [i, j])
                E[vi, vj] = A[vi, vj] + T.float32(1.0)
        for i, j, k in T.grid({n}, {m}, 4):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + E[vi, vj] * B[vi, vj]
"""
    )


def symbolic():
    return from_source(
        HEAD
        + """\
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(16)))
        B = T.match_buffer(b, (n, T.int64(16)))
        for i, j in T.grid(n, T.int64(16)):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1.0)
"""
    )


def drawn(s, i, j):
    """A round of draws, as the oracle made them."""

    def numbers(outputs):
        return [s.operation(v) for v in outputs]

    return [
        s.operation(s.sample_categorical([1, 2, 4, 8], [0.1, 0.2, 0.3, 0.4])),
        numbers(s.sample_perfect_tile(i, n=4)),
        numbers(s.sample_perfect_tile(j, n=2, max_innermost_factor=64)),
        numbers(s.sample_perfect_tile(j, n=3, max_innermost_factor=-1)),
        *(numbers(s.sample_partitioned_tile(j, *args)) for args in PARTITIONS),
    ]


@pytest.mark.parametrize("shape", SAMPLES)
def test_draws_are_those_of_tvm(shape) -> None:
    module = program(*shape.split("x"))
    for seed, expected in enumerate(SAMPLES[shape], start=1):
        s = Schedule(module, seed=seed)
        i, j, _ = s.get_loops(s.get_block("C"))
        first = drawn(s, i, j)
        rest = [x for _ in range(2) for x in drawn(s, i, j)]
        s.sample_compute_location(s.get_block("E"))
        assert [*first, rest, s.trace.insts[-1].decision] == expected, f"seed {seed}"


def test_symbolic_extents_are_left_to_the_first_factor() -> None:
    module = symbolic()
    s = Schedule(module, seed=1)
    i, _ = s.get_loops(s.get_block("B"))
    tiles = s.sample_perfect_tile(i, n=3)
    assert [s.operation(t) for t in tiles] == [-1, 1, 1]
    assert [s.operation(t) for t in s.sample_partitioned_tile(i, 3, 1, 4)] == [-1, 1, 1]
    s.split(i, tiles)
    assert "T.grid(n, T.int64(1), T.int64(1), T.int64(16))" in s.mod.script()
    assert_same_meaning(module.op, s.mod.op)


@pytest.mark.parametrize(
    ("decision", "expected"), [([90, 2, 4], [90, 2, 4]), ([1, 2, 4], [90, 2, 4]), ([9, 16, 5], [9, 16, 5])]
)
def test_decisions(decision, expected) -> None:
    s = Schedule(program(64, 720))
    _, j, _ = s.get_loops(s.get_block("C"))
    assert [s.operation(t) for t in s.sample_partitioned_tile(j, 3, 1, 4, decision=decision)] == expected


def test_a_decision_that_does_not_fit_is_drawn_again() -> None:
    s = Schedule(program(64, 720), seed=3)
    _, j, _ = s.get_loops(s.get_block("C"))
    tiles = [s.operation(t) for t in s.sample_partitioned_tile(j, 3, 1, 16, decision=[240, 1, 3])]
    assert prod(tiles) == 720
    assert tiles[1] * tiles[2] % 16 == 0
    assert s.trace.insts[-1].decision == tiles


@pytest.mark.parametrize(
    ("step", "rule"),
    [
        (lambda s, i: s.sample_perfect_tile(i, n=0), "there is at least one factor"),
        (lambda s, i: s.sample_perfect_tile(i, n=2, decision=[1, 2, 3]), "a factor for each of n"),
        (lambda s, i: s.sample_partitioned_tile(i, 0), "n and innerpart_factor are positive"),
        (lambda s, i: s.sample_partitioned_tile(i, 2, 0, 0), "n and innerpart_factor are positive"),
        (lambda s, i: s.sample_partitioned_tile(i, 2, 2), "partition_pos is the position of a factor"),
    ],
)
def test_refused(step, rule) -> None:
    s = Schedule(program(64, 720))
    with pytest.raises(ScheduleError, match=rule) as caught:
        step(s, s.get_loops(s.get_block("C"))[0])
    assert "^^^" in str(caught.value)
