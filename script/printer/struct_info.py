"""Struct info as TVMScript: `R.Tensor((n, 128), dtype="float32")`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, NoneAttr, StringAttr, TupleType
from xdsl.ir import Attribute

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.dtypes import dtype_name
from ...dialects.sym.expr import SymExpr
from .document import Document
from .literals import parenthesized, string, tir_float


class DimPrinter(Protocol):
    """The interface that struct info requires of a function's printer."""

    doc: Document

    def dim(self, e: SymExpr) -> str:
        """Return a dimension; a string in a signature, where it declares variables."""
        ...

    def variable(self, key: str, dtype: Attribute) -> str:
        """Return the name under which a variable is declared."""
        ...

    def number(self, value: int, dtype: Attribute) -> str:
        """Return the value of a known scalar."""
        ...

    def device(self, name: str) -> str:
        """Return a virtual device as `kind:index`, an index among the module's devices of that kind."""
        ...


def struct_info(p: DimPrinter, t: Attribute) -> str:
    """Return the text of a type. Raises `UnsupportedError` for a type that is not struct info."""
    printed = _PRINTERS.get(type(t))
    if printed is None:
        raise UnsupportedError(f"the type {t} has no form in TVMScript", expected="struct info")
    return printed(p, t)


def _call(p: DimPrinter, name: str, args: Sequence[str]) -> str:
    return f"{p.doc.relax(name)}({', '.join(args)})" if args else p.doc.relax(name)


def _tensor(p: DimPrinter, t: relax.TensorType) -> str:
    args: list[str] = []
    if t.shape_var is not None:
        args.append(t.shape_var)
    elif t.dims is not None:
        args.append(parenthesized([p.dim(d) for d in t.dims]))
    if t.element is not None:
        args.append(f"dtype={string(dtype_name(t.element))}")
    if isinstance(t.shape, NoneAttr) and t.rank is not None:
        args.append(f"ndim={t.rank}")
    if isinstance(t.vdevice, StringAttr):
        args.append(f"vdevice={string(p.device(t.vdevice.data))}")
    return _call(p, "Tensor", args)


def _shape(p: DimPrinter, t: relax.ShapeType) -> str:
    if t.dims is None:
        return _call(p, "Shape", [f"ndim={t.ndim.data}"])
    return _call(p, "Shape", [f"[{', '.join(p.dim(d) for d in t.dims)}]"])


def _prim(p: DimPrinter, t: relax.PrimType) -> str:
    if isinstance(t.value, NoneAttr):
        return _call(p, "Prim", [string(dtype_name(t.dtype))])
    return _call(p, "Prim", [f"value={_prim_value(p, t)}"])


def _prim_value(p: DimPrinter, t: relax.PrimType) -> str:
    if isinstance(t.value, FloatAttr):
        return tir_float(p.doc, t.value.value.data, t.dtype).text
    if isinstance(t.value, StringAttr):
        return p.variable(t.value.data, t.dtype)
    expr = cast(SymExpr, t.expr)
    return p.dim(expr) if expr.constant is None else p.number(expr.constant, t.dtype)


def _tuple(p: DimPrinter, t: TupleType) -> str:
    return _call(p, "Tuple", [struct_info(p, f) for f in t.types])


def _callable(p: DimPrinter, t: relax.CallableType) -> str:
    if isinstance(t.params, ArrayAttr):
        params = parenthesized([struct_info(p, f) for f in t.params])
        return _call(p, "Callable", [params, struct_info(p, t.ret), str(t.pure)])
    if t.ret == relax.OBJECT and not t.pure:
        return p.doc.relax("Callable")
    return _call(p, "Callable", [f"ret={struct_info(p, t.ret)}", *(["purity=True"] if t.pure else [])])


_PRINTERS: dict[type[Attribute], Callable[[Any, Any], str]] = {
    relax.TensorType: _tensor,
    relax.ShapeType: _shape,
    relax.PrimType: _prim,
    relax.ObjectType: lambda p, t: p.doc.relax("Object"),
    relax.CallableType: _callable,
    TupleType: _tuple,
}
