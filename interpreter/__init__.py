"""Reference semantics of relax and tir in numpy, on xDSL's interpreter: the oracle of tests and of `--check-each`."""

from __future__ import annotations

from .compare import (
    Comparison,
    MeaningError,
    assert_same_meaning,
    compare,
    first_disagreement,
    random_inputs,
    symbolic_sizes,
)
from .run import interpret
from .scalars import InterpreterError

__all__ = [
    "Comparison",
    "InterpreterError",
    "MeaningError",
    "assert_same_meaning",
    "compare",
    "first_disagreement",
    "interpret",
    "random_inputs",
    "symbolic_sizes",
]
