"""Random programs: a fixed number of them, the same in each run."""

from __future__ import annotations

import pytest
from hypothesis import given
from random_programs import Program, programs, tensor_programs
from strength import drawn, only_full

from tirax.dev.fuzz import checks

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@drawn(15, 6)
@given(programs())
def test_bindings(program: Program) -> None:
    checks.binding_passes(program.module)


@drawn(20, 8)
@given(programs())
def test_texts(program: Program) -> None:
    checks.texts(program.module)


@drawn(4, quick=1)
@given(programs(most=4))
def test_texts_after_each_pass(program: Program) -> None:
    checks.all_texts(program.module)


@only_full
@drawn(6)
@given(programs(most=5))
def test_optimize(program: Program) -> None:
    checks.optimize(program.module)


@drawn(20, 4)
@given(programs())
def test_native(program: Program) -> None:
    checks.native(program.module)


@drawn(15, 6)
@given(tensor_programs())
def test_texts_of_tensor_functions(program: Program) -> None:
    checks.texts(program.module)


@drawn(2, quick=1)
@given(tensor_programs(most=2, dims=("n", "m", "4", "3", "n + 1", "n * 2")))
def test_tensor_passes(program: Program) -> None:
    checks.tensor_passes(program.module)


@drawn(12, quick=2)
@given(tensor_programs())
def test_native_tensor_functions(program: Program) -> None:
    checks.native_tensor_both(program.module)
