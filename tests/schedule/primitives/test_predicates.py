"""Steps of schedules with blocks that run under conditions: what is computed stays what numpy gives, or is refused.

The table is every kind of program of `tests/helpers/predicate_table.py` under every condition, with every step that
moves, splits, caches, inlines, fuses, reorders, reindexes, pads, decomposes or partitions, or says how loops run.
What a step makes is interpreted; native code, whose build costs twenty times as much, runs for those that say how loops
run and for one of eight others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from predicate_table import CONDITIONS, FORMS, STEPS, Program, Step, data
from strength import thinned

from tirax import tvm_api as tvm
from tirax.interpreter import interpret
from tirax.schedule import Schedule, ScheduleError
from tirax.tvm_api.script import from_source

NUMBERS, SYMBOLS = (4, 8), ("n", "m")
SIZES = ((0, 7), (1, 16), (7, 1), (16, 0), (7, 16))
"""What symbolic sizes are in turn."""


@cache
def module(program: Program) -> Any:
    return tvm.IRModule({"main": from_source(program.source())})


def refusal(program: Program, step: Step) -> ScheduleError | None:
    """Why a step is refused, None where it is taken."""
    schedule = Schedule(module(program))
    try:
        step(schedule)
    except ScheduleError as error:
        return error
    return None


def scheduled(program: Program, steps: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The function after each step. One that is refused because of a predicate names the condition."""
    plain = Program(program.kind, "none", program.form, program.n, program.m)
    for name in steps:
        step = STEPS[program.kind][name]
        schedule = Schedule(module(program))
        try:
            step(schedule)
        except ScheduleError as error:
            named = "the block runs only where" in error.message or program.form != "where"
            assert named or refusal(plain, step) is not None, (name, error.message)
        else:
            yield name, schedule.mod["main"]


HOW_LOOPS_RUN = ("vectorize", "parallel", "unroll", "bind", "annotate")
"""Words of steps whose results differ in native code only."""
Run = Callable[..., Any]


def interpreted(function: Any) -> Run:
    module = tvm.IRModule({"main": function})
    return lambda *arrays: interpret(module, "main", arrays)


def native(functions: Mapping[str, Any]) -> dict[str, Run]:
    """All functions are built at once."""
    named = {f"f{k}": f.with_attr("global_symbol", f"f{k}") for k, f in enumerate(functions.values())}
    built = tvm.build(tvm.IRModule(named), target="llvm")

    def run(name: str, *arrays: Any) -> None:
        args = [tvm.nd.array(array) for array in arrays]
        built[name](*args)
        arrays[-1][...] = args[-1].numpy()

    return {f"{name}, native": partial(run, f"f{k}") for k, name in enumerate(functions)}


def check(program: Program, steps: Sequence[str], sizes: Sequence[tuple[int, int]], every: int = 8) -> None:
    """Run the results of all steps at all sizes, one of `every` and those of how loops run as native code, too."""
    functions = dict(scheduled(program, steps))
    assert "nothing" in functions
    phase = list(CONDITIONS).index(program.condition) // 3 % every
    chosen = {*list(functions)[phase::every], *(s for s in functions if any(word in s for word in HOW_LOOPS_RUN))}
    runs = {name: interpreted(function) for name, function in functions.items()}
    runs |= native({name: function for name, function in functions.items() if name in chosen})
    for n, m in sizes:
        arrays, (expected, known) = data(n, m), program.expected(n, m)
        for name, run in runs.items():
            out = program.output(n, m)
            run(*(arrays[b] for b in "AMKL"), out)
            np.testing.assert_allclose(out[known], expected[known], rtol=1e-4, err_msg=f"{name} at {n}, {m}")


def share(program: Program, every: int) -> list[str]:
    """One of `every` steps, by turns: all kinds of programs together take each of them with each condition."""
    steps = list(STEPS[program.kind])
    first = (list(STEPS).index(program.kind) + list(CONDITIONS).index(program.condition)) % every
    return ["nothing", *(s for s in steps[first::every] if s != "nothing")]


TABLE = [
    (kind, (list(CONDITIONS) * 2)[at + 3 * k + 4]) for at in range(len(CONDITIONS)) for k, kind in enumerate(STEPS)
]
"""Every kind of program with every condition, those of other forms first."""


def test_the_table_is_large() -> None:
    rows = sum(len(share(Program(*case), 6)) for case in TABLE)
    assert rows >= 1000 and len(TABLE) == 132


@thinned("case", TABLE, lambda case: case[0], "/".join)
def test_a_step_keeps_the_condition(case: tuple[str, str]) -> None:
    program = Program(*case, "where", *NUMBERS)
    check(program, share(program, 6), [NUMBERS])


@thinned("case", [case for case in TABLE if case[1] != "none"][::2], 3, "/".join)
def test_a_step_keeps_the_condition_at_any_size(case: tuple[str, str]) -> None:
    program = Program(*case, "where", *SYMBOLS)
    check(program, share(program, 12), SIZES)


@thinned("case", list(product(list(STEPS)[:5], FORMS[1:], ("two parts", "a position"))), 2, "/".join)
def test_a_step_keeps_the_branch(case: tuple[str, str, str]) -> None:
    kind, form, condition = case
    program = Program(kind, condition, form, *NUMBERS)
    check(program, share(program, 3), [NUMBERS])


GAPS = """from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((8,), "float32"), O: T.Buffer((16,), "float32")):
    for i in range(8):
        with T.block("o"):
            vi = T.axis.spatial(8, i)
            O[vi * 2] = A[vi]
"""
PART = """from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(4):
        with T.block("o"):
            vi = T.axis.spatial(8, i)
            O[vi] = B[vi]
"""
REUSED = """from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((8,), "float32"), M: T.Buffer((8,), "int32"), O: T.Buffer((8,), "float32")):
    N = T.alloc_buffer((1,), "int32")
    for i in range(8):
        with T.block("n"):
            vi = T.axis.opaque(8, i)
            N[0] = M[vi]
        with T.block("o"):
            T.where(N[0] > 1)
            vi = T.axis.spatial(8, i)
            O[vi] = A[vi]
"""
LOST: list[tuple[str, Step, str]] = [
    (GAPS, lambda s: s.cache_write(s.get_block("o"), 0, "global"), "may not write all of a region"),
    (PART, lambda s: s.reverse_compute_at(s.get_block("o"), s.get_loops(s.get_block("b"))[0]), "do not run over all"),
    (PART, lambda s: s.reverse_compute_inline(s.get_block("o")), "do not run over all"),
    (REUSED, lambda s: s.cache_write(s.get_block("o"), 0, "global"), r"N\[0\] > 1: what that reads is written"),
]


@pytest.mark.parametrize("source, step, message", LOST)
def test_what_else_leaves_elements_out(source: str, step: Step, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        step(Schedule(tvm.IRModule({"main": from_source(source)})))
