"""Which symbolic variables values determine."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute

from ...dialects import relax
from ...dialects.sym.expr import Var


def bound_vars(types: Iterable[Attribute]) -> set[Var]:
    """The symbolic variables that values of these types determine: those that are an extent by themselves."""
    found: set[Var] = set()
    for t in types:
        if isinstance(t, relax.TensorType | relax.ShapeType):
            found |= {d for d in t.dims or () if isinstance(d, Var)}
        elif isinstance(t, relax.PrimType) and isinstance(t.expr, Var):
            found.add(t.expr)
        elif isinstance(t, TupleType):
            found |= bound_vars(t.types)
    return found
