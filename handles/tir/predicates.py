"""Predicates of accesses: masks of the lanes of a vector that are loaded or stored."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import DTypeError, TiraxError
from ...dialects.dtypes import dtype_name, is_scalable, lanes_of, scalar_of
from .prim_expr import PrimExpr


def check_predicate(predicate: PrimExpr, accessed: Attribute, what: str) -> None:
    """Raise `DTypeError` unless a predicate has one bool per lane."""
    mask, lanes = predicate.type, lanes_of(accessed)
    if scalar_of(mask) != i1:
        name = dtype_name(scalar_of(mask))
        raise DTypeError(f"Predicate mask elements must be boolean values, but got {name}.", found=predicate)
    if is_scalable(mask) != is_scalable(accessed):
        of = "load indices" if what == "load" else "value dtype"
        raise DTypeError(f"Predicate mask dtype and {of} must both be scalable.", found=predicate)
    if lanes_of(mask) != lanes:
        raise DTypeError(
            f"Got a predicate mask with {lanes_of(mask)} lanes, but trying to {what} a vector with {lanes} lanes. "
            "The number of lanes must match.",
            found=predicate,
        )


def only_index(indices: Sequence[SSAValue]) -> SSAValue:
    """Return the index into a one-dimensional buffer; predicates require one. Raises `TiraxError` otherwise."""
    if len(indices) != 1:
        raise TiraxError("a predicate is for a buffer of one dimension", found=f"{len(indices)} dimensions")
    return indices[0]
