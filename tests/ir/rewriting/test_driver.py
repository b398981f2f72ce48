"""What rules emit: operators by name, numbers beside tensors, and mistakes."""

from __future__ import annotations

import pytest

from tirax.diagnostics import NameLookupError, UnsupportedError
from tirax.interpreter import assert_same_meaning
from tirax.ir.rewriting.driver import apply_rules
from tirax.script import parse_source

SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "{dtype}")) -> R.Tensor(("n", 4), "{dtype}"):
        y = {expression}
        return y
"""


def program(expression, dtype="float32"):
    return parse_source(SCRIPT.format(expression=expression, dtype=dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_number_beside_a_tensor_is_a_constant_of_its_dtype(dtype, swapped):
    module = program("R.negative(x)", dtype)

    def rule(op, emit):
        return emit("minimum", *((2, op.operands[0]) if swapped else (op.operands[0], 2)))

    assert apply_rules(module, {"relax.negative": rule})
    two = f'R.const(2, "{dtype}")'
    assert_same_meaning(program(f"R.minimum({two}, x)" if swapped else f"R.minimum(x, {two})", dtype), module)


@pytest.mark.parametrize(
    ("emitted", "error", "text"),
    [
        (("minimun", 2.0), NameLookupError, "did you mean 'minimum'"),
        (("zeros", 2.0), UnsupportedError, "emit.constant"),
    ],
)
def test_mistakes(emitted, error, text):
    with pytest.raises(error, match=text):
        apply_rules(program("R.negative(x)"), {"relax.negative": lambda op, emit: emit(*emitted)})
