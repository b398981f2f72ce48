"""Passes on weights, local functions and products keep the meaning of random programs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_programs import Program, programs
from strength import drawn
from xdsl.dialects.builtin import ModuleOp

from tirax.dev.fuzz import checks
from tirax.dialects import relax
from tirax.interpreter import InterpreterError, interpret, random_inputs, symbolic_sizes
from tirax.interpreter.compare import same_values
from tirax.ir.functions.lookup import functions
from tirax.transforms.params.bundle_model_params import BundleModelParams
from tirax.transforms.params.lift_transform_params import LiftTransformParams
from tirax.transforms.params.weights import set_num_input
from tirax.tvm_api.passes.params.lazy import LazyGetInput, LazySetOutput

PASSES = (
    "lambda-lift", "normalize-global-var", "attach-global-symbol", "combine-parallel-matmul", "adjust-matmul-order",
    "fuse-transpose-matmul", "fold-batchnorm-to-conv2d",
)  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@drawn(8, quick=3)
@given(programs())
def test_passes(program: Program) -> None:
    for name in PASSES:
        checks.texts(checks.passes_keep_meaning(program.module, [name]))


def marked(program: Program, inputs: int) -> tuple[ModuleOp, int]:
    """The program with the first parameters of `main` as inputs at run time, the others as weights."""
    module = program.module.clone()
    main = functions(module)["main"]
    assert isinstance(main, relax.FuncOp)
    number = min(inputs, len(main.params))
    set_num_input(main, number)
    return module, number


def runs(module: ModuleOp):
    """Inputs of `main` and what it gives, where it gives something."""
    main = functions(module)["main"]
    for sizes in symbolic_sizes(main):
        values = random_inputs(main, sizes)
        try:
            yield values, interpret(module, "main", values)
        except InterpreterError:
            continue


@drawn(8, quick=3)
@given(programs(), st.integers(0, 3))
def test_lifted(program: Program, inputs: int) -> None:
    before, number = marked(program, inputs)
    after = LiftTransformParams()(before)
    checks.texts(after)
    for values, expected in runs(before):
        prepared = interpret(after, "main_transform_params", [tuple(values[number:])])
        assert same_values(interpret(after, "main", [*values[:number], *prepared]), expected)


@drawn(8, quick=3)
@given(programs(), st.integers(0, 3))
def test_bundled(program: Program, inputs: int) -> None:
    before, number = marked(program, inputs)
    after = BundleModelParams()(before)
    checks.texts(after)
    for values, expected in runs(before):
        assert same_values(interpret(after, "main", [*values[:number], tuple(values[number:])]), expected)


@drawn(8, quick=3)
@given(programs(), st.integers(0, 3))
def test_lazy(program: Program, inputs: int) -> None:
    before, number = marked(program, inputs)
    after = LazySetOutput()(LazyGetInput()(before))
    checks.texts(after)
    for values, expected in runs(before):
        stored_weights, weights = {}, values[number:]

        def take(index, value, actual=stored_weights):
            actual[index] = value
            return ()

        interpret(after, "main", [*values[:number], lambda i, _name, w=weights: w[i], take])
        stored = tuple(stored_weights[i] for i in sorted(stored_weights))
        assert same_values(
            stored[0] if len(stored) == 1 and not isinstance(expected, tuple) else stored, expected
        ) or same_values(stored[0], expected)
