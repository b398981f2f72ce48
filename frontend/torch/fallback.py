"""Operators without a converter as calls of PyTorch, when the program runs."""

from __future__ import annotations

from typing import Any, Protocol

from ...diagnostics import UnsupportedError
from ...dialects.sym.expr import SymExpr
from ...handles.relax.calls import call_pure_packed
from ...handles.relax.expr import Expr, PrimValue, TupleGetItem
from ...handles.struct_info import TensorStructInfo, TupleStructInfo
from ...runtime.errors import ArgumentError
from ...runtime.torch_operators import encoded, name_of
from ..block_builder import BlockBuilder
from .arguments import dtype_name, leaves, mapped, operator_name
from .pairs import Pairs
from .symbols import Symbols


class Reader(Protocol):
    """What this file needs of a `GraphReader`."""

    block_builder: BlockBuilder
    symbols: Symbols

    def value(self, argument: Any) -> Any:
        """Return the value of a node's argument."""
        ...


def is_complex(value: Any) -> bool:
    """Return whether a traced value is a complex tensor, or has one in it."""
    return any(getattr(v, "is_complex", bool)() for v in leaves(value))


def as_pairs(tensor: Any) -> Any:
    """Return a complex tensor as pairs of numbers, any other tensor itself."""
    import torch

    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def call_torch(reader: Reader, node: Any) -> Any:
    """Return the results of a node as PyTorch computes them. Complex tensors are pairs of numbers.

    Raises `UnsupportedError` for nodes whose arguments or results cannot be passed.
    """
    results = _results(node)
    _require_row_major(node)
    arguments = _Arguments(reader)
    try:
        args = [arguments.encode(a) for a in node.args]
        kwargs = {name: arguments.encode(a) for name, a in node.kwargs.items()}
    except ArgumentError as error:
        raise UnsupportedError(f"{error.message}: {error.found}") from error
    infos = [_info(reader, r) for r in results]
    name = name_of(str(node.target), args, kwargs)
    unknown = [TensorStructInfo(ndim=info.ndim, dtype=info.dtype) for info in infos]
    info = unknown[0] if len(unknown) == 1 else TupleStructInfo(unknown)
    value = reader.block_builder.emit(call_pure_packed(name, *arguments.values, sinfo_args=info))
    fields = [value] if len(infos) == 1 else [TupleGetItem(value, i) for i in range(len(infos))]
    cast: list[Any] = [reader.block_builder.match_cast(f, info) for f, info in zip(fields, infos, strict=True)]
    cast = [Pairs(whole=v) if r.is_complex() else v for v, r in zip(cast, results, strict=True)]
    return cast if isinstance(node.meta["val"], list | tuple) else cast[0]


def _results(node: Any) -> list[Any]:
    results = list(leaves(node.meta.get("val")))
    if not results or not all(hasattr(r, "dtype") and hasattr(r, "shape") for r in results):
        raise UnsupportedError("a result is not a tensor")
    if any("sparse" in str(r.layout) for r in results):
        raise UnsupportedError("a result is a sparse tensor")
    return results


def _require_row_major(node: Any) -> None:
    """Raise `UnsupportedError` for an operator on memory whose argument is laid out otherwise than at run time."""
    if not operator_name(node.target)[0].rpartition("::")[2].startswith("as_strided"):
        return
    value = node.args[0].meta["val"]
    if not value.is_contiguous() or value.storage_offset() != 0:
        raise UnsupportedError("a view of memory that is not row major")


def _info(reader: Reader, value: Any) -> TensorStructInfo:
    extents = [reader.symbols.extent(s) for s in value.shape]
    dtype = value.dtype
    return (
        TensorStructInfo([*extents, 2], dtype_name(dtype.to_real()))
        if value.is_complex()
        else TensorStructInfo(extents, dtype_name(dtype))
    )


class _Arguments:
    """The arguments of a node: those that a run computes, and all as data of the packed function's name."""

    def __init__(self, reader: Reader):
        self._reader = reader
        self.values: list[Any] = []

    def encode(self, argument: Any) -> Any:
        """Return an argument as data. Raises `ArgumentError` or `UnsupportedError`."""
        if isinstance(argument, list | tuple):
            return [self.encode(a) for a in argument]
        if type(argument).__name__ != "Node":
            return encoded(argument)
        value = self._reader.value(argument)
        if isinstance(value, Pairs):
            value = value.joined(self._reader.block_builder.emit)
        kind = "complex" if is_complex(argument.meta.get("val")) else "tensor"
        return mapped(value, lambda v: self._passed(v, kind))

    def _passed(self, value: Any, kind: str) -> Any:
        if isinstance(value, SymExpr):
            value, kind = PrimValue(value), "number"
        if not isinstance(value, Expr):
            return encoded(value)
        self.values.append(value)
        return {kind: len(self.values) - 1}
