"""Struct info as TVMScript: `R.Tensor((n, 128), dtype="float32")`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from xdsl.dialects.builtin import ArrayAttr, StringAttr, TupleType
from xdsl.ir import Attribute

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.dtypes import dtype_name
from ...dialects.sym.expr import SymExpr
from .document import Document
from .literals import parenthesized, string


class DimPrinter(Protocol):
    """What struct info needs of the printer of a function."""

    doc: Document

    def dim(self, e: SymExpr) -> str:
        """A dimension: a string in a signature, where it declares variables."""
        ...


def struct_info(p: DimPrinter, t: Attribute) -> str:
    """The text of a type. Raises `UnsupportedError` for a type that is no struct info."""
    printed = _PRINTERS.get(type(t))
    if printed is None:
        raise UnsupportedError(f"the type {t} has no form in TVMScript", expected="struct info")
    return printed(p, t)


def _call(p: DimPrinter, name: str, args: Sequence[str]) -> str:
    return f"{p.doc.relax(name)}({', '.join(args)})" if args else p.doc.relax(name)


def _tensor(p: DimPrinter, t: relax.TensorType) -> str:
    args: list[str] = []
    if t.dims is not None:
        args.append(parenthesized([p.dim(d) for d in t.dims]))
    if t.element is not None:
        args.append(f"dtype={string(dtype_name(t.element))}")
    if isinstance(t.vdevice, StringAttr):
        args.append(f"vdevice={string(t.vdevice.data)}")
    if t.dims is None and t.rank is not None:
        args.append(f"ndim={t.rank}")
    return _call(p, "Tensor", args)


def _shape(p: DimPrinter, t: relax.ShapeType) -> str:
    if t.dims is None:
        return _call(p, "Shape", [f"ndim={t.ndim.data}"])
    return _call(p, "Shape", [f"[{', '.join(p.dim(d) for d in t.dims)}]"])


def _prim(p: DimPrinter, t: relax.PrimType) -> str:
    return _call(p, "Prim", [string(dtype_name(t.dtype)) if t.expr is None else f"value={p.dim(t.expr)}"])


def _tuple(p: DimPrinter, t: TupleType) -> str:
    return _call(p, "Tuple", [struct_info(p, f) for f in t.types])


def _callable(p: DimPrinter, t: relax.CallableType) -> str:
    if isinstance(t.params, ArrayAttr):
        params = parenthesized([struct_info(p, f) for f in t.params])
        return _call(p, "Callable", [params, struct_info(p, t.ret), str(t.pure)])
    if t.ret == relax.OBJECT and not t.pure:
        return p.doc.relax("Callable")
    return _call(p, "Callable", [f"ret={struct_info(p, t.ret)}", f"purity={t.pure}"])


_PRINTERS: dict[type[Attribute], Callable[[Any, Any], str]] = {
    relax.TensorType: _tensor,
    relax.ShapeType: _shape,
    relax.PrimType: _prim,
    relax.ObjectType: lambda p, t: p.doc.relax("Object"),
    relax.CallableType: _callable,
    TupleType: _tuple,
}
