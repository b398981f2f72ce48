"""The numbers that constants of floats were created from, where their dtype rounds them."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ...dialects import tir

_LITERALS: WeakKeyDictionary[tir.ConstOp, float] = WeakKeyDictionary()


def note_literal(op: tir.ConstOp, value: object) -> None:
    """Note the number that a constant is created from, if it is a float with another value."""
    if isinstance(value, float) and op.py_value != value:
        _LITERALS[op] = value


def literal_of(op: tir.ConstOp) -> float:
    """Return the number that a constant was created from: `const(3.14, "float16")` is 3.140625, from 3.14."""
    return _LITERALS.get(op, float(op.py_value))


__all__ = ["literal_of", "note_literal"]
