"""Random programs: a fixed number of them, the same in each run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import checks
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from programs import Program, programs
from tensor_programs import tensor_programs


def some(count: int) -> Callable[[Any], Any]:
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@some(30)
@given(programs())
def test_bindings(program: Program) -> None:
    checks.binding_passes(program.module)


@some(40)
@given(programs())
def test_texts(program: Program) -> None:
    checks.texts(program.module)


@some(4)
@given(programs(most=4))
def test_texts_after_each_pass(program: Program) -> None:
    checks.all_texts(program.module)


@some(12)
@given(programs(most=5))
def test_optimize(program: Program) -> None:
    checks.optimize(program.module)


@some(40)
@given(programs())
def test_native(program: Program) -> None:
    checks.native(program.module)


@some(30)
@given(tensor_programs())
def test_texts_of_tensor_functions(program: Program) -> None:
    checks.texts(program.module)


@some(8)
@given(tensor_programs(most=2, dims=("n", "m", "4", "3", "n + 1", "n * 2")))
def test_tensor_passes(program: Program) -> None:
    checks.tensor_passes(program.module)


@some(25)
@given(tensor_programs())
def test_native_tensor_functions(program: Program) -> None:
    checks.native_tensor_both(program.module)
