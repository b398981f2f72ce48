"""Memory passes on random programs: the meaning stays, no two live tensors share bytes, and what comes of it runs."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from random_programs import Program, programs
from strength import drawn
from xdsl.dialects.builtin import ModuleOp

from tirax.dev.fuzz import checks
from tirax.driver.build import build
from tirax.driver.pipelines import TVM_BUILD, make_passes
from tirax.interpreter import InterpreterError, assert_same_meaning, interpret, random_inputs, symbolic_sizes
from tirax.interpreter.compare import same_values
from tirax.ir.buffers.memory_usage import plan_problems
from tirax.ir.equality import assert_structural_equal
from tirax.ir.functions.lookup import functions, relax_functions
from tirax.script import parse_source, print_script

IN_PLACE = ("dataflow-use-inplace-calls", "legalize-ops")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def check_plans(module: ModuleOp) -> None:
    for func in relax_functions(module):
        for sizes in symbolic_sizes(func, (0, 1, 2, 7)):
            assert plan_problems(func, sizes) == []


def planned(module: ModuleOp) -> ModuleOp:
    """The program after each pass down to planned memory, compared with what it was before.

    Not at size 0: a reduction of nothing leaves memory as it is, in the reference semantics, and that is no new one.
    """
    before = module
    for p in make_passes(TVM_BUILD):
        module = p(module)
        assert_same_meaning(before, module, sizes=(2, 5, 1))
    check_plans(module)
    return module


def check_text(module: ModuleOp) -> None:
    assert_structural_equal(module, parse_source(print_script(module, show_meta=True)))


def check_native(before: ModuleOp, after: ModuleOp, pipeline: str | None = None) -> None:
    """The executable of `after` computes what the interpreter does of `before`, and leaves its inputs alone."""
    run = build(after, pipeline=pipeline, opt_level=1)["main"]
    func = functions(before)["main"]
    for n, sizes in enumerate(symbolic_sizes(func)):
        values = random_inputs(func, sizes, n)
        try:
            expected = interpret(before, "main", copy.deepcopy(values))
        except InterpreterError:
            continue
        inputs = copy.deepcopy(values)
        assert same_values(expected, run(*inputs)), sizes
        assert same_values(inputs, values), f"an input was written at {sizes}"


@drawn(6, quick=2)
@given(programs())
def test_planned_programs(program: Program) -> None:
    module = planned(program.module)
    check_text(module)
    check_native(program.module, module)


@drawn(6, quick=1)
@given(programs())
def test_written_in_place(program: Program) -> None:
    module = checks.passes_keep_meaning(program.module, IN_PLACE)
    check_text(module)
    check_native(program.module, module, "default-cpu")
    check_native(program.module, planned(module))
