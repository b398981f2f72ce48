"""Types of Relax values: their least common base, and the expressions in them.

`dialects/relax/signatures.py` compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xdsl.dialects.builtin import NoneAttr, StringAttr, TupleType
from xdsl.ir import Attribute

from ..dialects import relax
from ..dialects.relax.types import CallableType, NamedShape, PrimType, ShapeType, TensorType, tuple_type
from ..dialects.sym.expr import SymExpr, Var


def least_common(a: Attribute, b: Attribute) -> Attribute:
    """Return the most specific type that covers both; see `struct_info_lca`."""
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.types) == len(b.types):
        return tuple_type(least_common(x, y) for x, y in zip(a.types, b.types, strict=True))
    if not (isinstance(a, CallableType) and isinstance(b, CallableType)):
        return relax.least_common_ancestor(a, b)
    if relax.is_base_of(a, b) or relax.is_base_of(b, a):
        return a if relax.is_base_of(a, b) else b
    pure = a.pure and b.pure
    if a.params == b.params:
        params = None if isinstance(a.params, NoneAttr) else a.params.data
        return CallableType.of(params, least_common(a.ret, b.ret), pure)
    return CallableType.of(None, least_common(_result(a), _result(b)), pure)


def _result(t: CallableType) -> Attribute:
    """Return the result type of a function, without information that depends on its parameters."""
    own = set(definable_vars_of(t.params)) if not isinstance(t.params, NoneAttr) else set[Var]()
    return relax.erase_unbound(t.ret, {v for e in expressions_in(t.ret) for v in e.free_vars() if v not in own})


def rename_shape_vars(t: Attribute, names: Mapping[str, Attribute | str | None]) -> Attribute:
    """Replace variables that name the value of a shape, by another one or a known shape; None makes them unknown."""
    if isinstance(t, TupleType):
        return tuple_type(rename_shape_vars(f, names) for f in t.types)
    if not isinstance(t, TensorType) or t.shape_var is None:
        return t
    shape = names.get(t.shape_var)
    if isinstance(t.shape, NamedShape) and not isinstance(shape, ShapeType):
        named = t.shape.extents if shape is None else NamedShape(StringAttr(str(shape)), t.shape.extents)
        return TensorType(named, t.ndim, t.dtype, t.vdevice)
    known = shape.shape if isinstance(shape, ShapeType) else NoneAttr() if shape is None else StringAttr(str(shape))
    return TensorType(known, t.ndim, t.dtype, t.vdevice)


def _fields(t: Attribute) -> Iterable[Attribute]:
    if isinstance(t, TupleType):
        return t.types
    if isinstance(t, CallableType):
        return [*(() if isinstance(t.params, NoneAttr) else t.params), t.ret]
    return ()


def leaf_types(t: Attribute) -> Iterator[Attribute]:
    """Yield the types without fields inside a type, in order."""
    if not isinstance(t, TupleType | CallableType):
        yield t
    for field in _fields(t):
        yield from leaf_types(field)


def expressions_in(t: Attribute) -> Iterator[SymExpr]:
    """Yield the symbolic expressions in a type, in order."""
    for leaf in leaf_types(t):
        if isinstance(leaf, TensorType | ShapeType):
            yield from leaf.dims or ()
        elif isinstance(leaf, PrimType) and leaf.expr is not None:
            yield leaf.expr


def definable_vars_of(types: Iterable[Attribute]) -> list[Var]:
    """Return the variables that values of these types define: those that are an extent by themselves, each once."""
    return list(dict.fromkeys(e for t in types for e in expressions_in(t) if isinstance(e, Var)))
