"""Operators that read or write at given positions: slices, gathers, one-hot rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import IntegerType, TupleType, i64
from xdsl.ir import Attribute, SSAValue

from ..sym.analyzer import Analyzer
from ..sym.expr import Const, SymExpr
from ..sym.operators import ge, maximum, minimum
from .creation import extent_operand, prim_operand
from .elementwise import broadcast_dims
from .operator import Operator, operator
from .reduction import normalize_axes, normalize_axis
from .types import OBJECT, PrimType, TensorType


@dataclass(frozen=True)
class Slice:
    """The slice of a dimension with indices `begin`, `begin + stride`, …, `extent` of them."""

    begin: SymExpr
    extent: SymExpr
    stride: int


def _at_least_zero(e: SymExpr) -> bool:
    """Return whether `e` is nonnegative for all nonnegative symbolic variables."""
    analyzer = Analyzer()
    for v in e.free_vars():
        analyzer.bind(v, 0, float("inf"))
    return analyzer.can_prove(ge(e, 0))


def _bounded(index: SymExpr, extent: SymExpr, stride: int) -> SymExpr:
    """Return a bound of a slice, counted from the front and clamped to the dimension."""
    low, high = (Const(0), extent) if stride > 0 else (Const(-1), extent - 1)
    if index.constant is not None and index.constant < 0:
        return maximum(index + extent, low)
    if not _at_least_zero(index):
        # plus the extent where negative: -max(min(index, 0), -1) is 1 there, else 0
        index = maximum(index - maximum(minimum(index, 0), -1) * extent, low)
    return minimum(index, high)


def slice_of(begin: SymExpr, end: SymExpr, stride: int, extent: SymExpr, assume_inbound: bool = False) -> Slice:
    """Return the slice `begin:end:stride` of a dimension of `extent`, with Python's rules; with `assume_inbound`
    bounds are not clamped.
    """
    first, last = (b if assume_inbound else _bounded(b, extent, stride) for b in (begin, end))
    span = last - first if stride > 0 else first - last
    count = (span + (abs(stride) - 1)) // abs(stride)
    if count.constant is not None:
        return Slice(first, Const(max(0, count.constant)), stride)
    if assume_inbound and stride > 0:
        return Slice(first, count, stride)
    in_order = begin.constant is not None and end.constant is not None and 0 <= begin.constant <= end.constant
    safe = (in_order and stride > 0) or _at_least_zero(count)
    return Slice(first, count if safe else maximum(count, 0), stride)


_UNEQUAL = "axes, begin, end and strides must be equally many"


@operator("relax.strided_slice", "x axes* begin* end* strides*?", assume_inbound=False)
class StridedSlice(Operator):
    """x[begin:end:strides] along `axes`; begin, end and strides are tuples of scalars."""

    WRITTEN: ClassVar[tuple[str, ...]] = (_UNEQUAL,)

    def infer(self) -> Attribute:
        x = self.tensor("x")
        slices = self.slices()
        if x.extents is None or slices is None:
            unchanged = self._scalars("axes") == []
            return x.of_dtype(x.element) if unchanged else x.of_rank()
        return TensorType.of([slices[i].extent if i in slices else d for i, d in enumerate(x.extents)], x.element)

    def slices(self) -> dict[int, Slice] | None:
        """Return the slice of each of `axes`, or None if not everything is known."""
        x = self.tensor("x")
        axes, begin, end, strides = (self._scalars(n) for n in ("axes", "begin", "end", "strides"))
        if axes is None or begin is None or end is None or strides is None:
            return None
        strides = strides or [Const(1) for _ in axes]
        if not len(axes) == len(begin) == len(end) == len(strides):
            self.fail_shape(_UNEQUAL, len(axes), f"{len(begin)}, {len(end)}, {len(strides)}")
        extents = x.extents
        if extents is None:
            return None
        places = normalize_axes(self, [self._literal("axes", a) for a in axes], len(extents), "axes")
        steps = [self._literal("strides", s) for s in strides]
        if 0 in steps:
            self.fail_shape("argument strides must not contain zero", found=steps)
        inbound = bool(self.attr("assume_inbound"))
        rows = zip(places, begin, end, steps, strict=True)
        return {a: slice_of(b, e, s, extents[a], inbound) for a, b, e, s in rows}

    def _literal(self, arg: str, value: SymExpr) -> int:
        if value.constant is None:
            self.fail_shape(f"argument {arg} must be of constants", "integers", value)
        return value.constant

    def _scalars(self, arg: str) -> list[SymExpr] | None:
        values = cast(Sequence[SSAValue], getattr(self, arg))
        types = [v.type for v in values]
        if types == [OBJECT]:
            return None
        if len(types) == 1 and isinstance(types[0], TupleType):
            types = list(types[0].types)
        for t in types:
            if not isinstance(t, PrimType) or t.dtype != i64:
                self.fail_dtype(f"argument {arg} must be a tuple of int64 scalars", "prim values of int64", t)
        known = [t.expr for t in types if isinstance(t, PrimType) and t.expr is not None]
        return known if len(known) == len(types) else None


@operator("relax.dynamic_strided_slice", "x begin end strides")
class DynamicStridedSlice(Operator):
    """x[begin:end:strides]; begin, end and strides are int64 tensors with an element for each dimension of x."""

    def infer(self) -> Attribute:
        x = self.tensor("x")
        if x.rank is None:
            return TensorType.of(None, x.element)
        for arg in ("begin", "end", "strides"):
            t = self.tensor(arg)
            if t.rank != 1:
                self.fail_shape(f"argument {arg} must be a vector", "rank 1", t.rank)
            if t.element not in (None, i64):
                self.fail_dtype(f"argument {arg} must be of int64", i64, t.element)
            count = None if t.dims is None else t.dims[0].constant
            if count != x.rank:
                self.fail_shape(f"argument {arg} must have an element for each dimension of x", x.rank, count)
        return TensorType.of(None, x.element, x.rank)


def integer_tensor(op: Operator, arg: str) -> TensorType:
    """Return the type of the operand `arg`, a tensor of integers. Raises `DTypeError` otherwise."""
    t = op.tensor(arg)
    if t.element is not None and not isinstance(t.element, IntegerType):
        op.fail_dtype(f"argument {arg} must be of an integer type", "int32 or int64", t.element)
    return t


def same_dtype(op: Operator, first: str, second: str) -> None:
    """Raise `DTypeError` if two operands certainly have different dtypes."""
    a, b = op.tensor(first), op.tensor(second)
    if a.element is not None and b.element is not None and a.element != b.element:
        op.fail_dtype(f"argument {second} must have the dtype of {first}", a.element, b.element)


def require_within(op: Operator, data: TensorType, indices: TensorType) -> None:
    """Require that indices are no larger than data, except along the attribute `axis`."""
    axis = op.attr("axis") % max(len(data.dims or ()), 1)
    for i, (extent, reached) in enumerate(zip(data.dims or (), indices.dims or (), strict=False)):
        if i != axis:
            what = f"argument indices reaches beyond data in dimension {i}"
            op.require_equal(minimum(reached, extent), reached, what, f"at most {extent}", reached)


@operator("relax.gather_elements", "data indices", axis=0)
class GatherElements(Operator):
    """data at the position of each index, with the coordinate along `axis` replaced by the index."""

    def infer(self) -> Attribute:
        data, indices = self.tensor("data"), integer_tensor(self, "indices")
        if data.rank is None or indices.rank is None:
            return TensorType.of(None, data.element)
        normalize_axis(self, self.attr("axis"), data.rank)
        if data.rank != indices.rank:
            self.fail_shape("argument indices must have the rank of data", data.rank, indices.rank)
        require_within(self, data, indices)
        return indices.of_dtype(data.element)


@operator("relax.gather_nd", "data indices", batch_dims=0)
class GatherND(Operator):
    """The slices of data at the positions in the last dimension of indices, after `batch_dims` shared dimensions."""

    def infer(self) -> Attribute:
        data, indices, batch = self.tensor("data"), integer_tensor(self, "indices"), self.attr("batch_dims")
        if data.rank is None or indices.rank is None:
            return TensorType.of(None, data.element)
        if not 0 <= batch <= min(data.rank, indices.rank - 1):
            what = "attribute batch_dims is out of range"
            self.fail_shape(what, "at most the rank of data, less than that of indices", batch)
        depth = None if indices.dims is None else indices.dims[-1].constant
        if indices.dims is None or depth is None:
            return TensorType.of(None, data.element)
        if depth > data.rank - batch:
            self.fail_shape("the last dimension of indices is too great", f"at most {data.rank - batch}", depth)
        if data.dims is None:
            return TensorType.of(None, data.element, indices.rank + data.rank - depth - 1 - batch)
        for own, other in zip(data.dims[:batch], indices.dims[:batch], strict=True):
            self.require_equal(own, other, "data and indices must agree in the first batch_dims dimensions", own, other)
        return TensorType.of([*indices.dims[:-1], *data.dims[batch + depth :]], data.element)


@operator("relax.index_tensor", "data indices*")
class IndexTensor(Operator):
    """data[indices]: the indices broadcast and apply to the first dimensions of data."""

    def infer(self) -> Attribute:
        data, indices = self.tensor("data"), self.tensors("indices")
        shape = broadcast_indices(self, indices)
        if data.rank is not None and len(indices) > data.rank:
            self.fail_shape("there are more indices than dimensions of data", f"at most {data.rank}", len(indices))
        ranks = [t.rank for t in indices]
        if data.rank is None or None in ranks:
            return TensorType.of(None, data.element)
        if data.dims is None or shape is None:
            return TensorType.of(None, data.element, max(r or 0 for r in ranks) + data.rank - len(indices))
        return TensorType.of([*shape, *data.dims[len(indices) :]], data.element)


def broadcast_indices(op: Operator, indices: Sequence[TensorType]) -> tuple[SymExpr, ...] | None:
    """Return the broadcast shape of index tensors, None if unknown. Raises if there are none, and for non-integers."""
    if not indices:
        op.fail_shape("argument indices is empty", "one tensor or more")
    for i, t in enumerate(indices):
        if t.element is not None and not isinstance(t.element, IntegerType):
            op.fail_dtype(f"indices[{i}] must be of an integer type", "int32 or int64", t.element)
    shapes = [t.dims for t in indices if t.dims is not None]
    if len(shapes) < len(indices):
        return None
    return broadcast_dims(op, [f"indices[{i}]" for i in range(len(shapes))], shapes)


@operator("relax.one_hot", "indices on_value off_value", depth=1, axis=-1)
class OneHot(Operator):
    """on_value where the coordinate along the new dimension `axis`, of extent `depth`, equals the index; else
    off_value.
    """

    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"on_value", "off_value"})

    def infer(self) -> Attribute:
        indices, depth = integer_tensor(self, "indices"), self.attr("depth")
        on, off = prim_operand(self, "on_value"), prim_operand(self, "off_value")
        if on is None or off is None or on.dtype != off.dtype:
            self.fail_dtype("on_value and off_value must have one dtype", on, off)
        if depth < 1:
            self.fail_shape("attribute depth must be positive", "1 or more", depth)
        if indices.rank is None:
            return TensorType.of(None, on.dtype)
        place = normalize_axis(self, self.attr("axis"), indices.rank + 1)
        if indices.dims is None:
            return TensorType.of(None, on.dtype, indices.rank + 1)
        return TensorType.of([*indices.dims[:place], Const(depth), *indices.dims[place:]], on.dtype)


@operator("relax.slice_scatter", "input_tensor src start end step", axis=0)
class SliceScatter(Operator):
    """input_tensor with src written to start:end:step of the dimension `axis`."""

    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"start", "end", "step"})

    def infer(self) -> Attribute:
        x, src = self.tensor("input_tensor"), self.tensor("src")
        same_dtype(self, "input_tensor", "src")
        if x.rank is not None and src.rank is not None and x.rank != src.rank:
            self.fail_shape("argument src must have the rank of input_tensor", x.rank, src.rank)
        part = self.slice()
        if part is not None and x.dims is not None and src.dims is not None:
            place = normalize_axis(self, self.attr("axis"), len(x.dims))
            extents = [part.extent if i == place else d for i, d in enumerate(x.dims)]
            for i, (have, want) in enumerate(zip(src.dims, extents, strict=True)):
                self.require_equal(have, want, f"argument src has another extent in dimension {i}", want, have)
        return x

    def slice(self) -> Slice | None:
        """Return the slice that is written, or None if it is not completely known."""
        x = self.tensor("input_tensor")
        start, end = extent_operand(self, "start"), extent_operand(self, "end")
        step = extent_operand(self, "step")
        if start is None or end is None or step is None or step.constant is None or x.dims is None:
            return None
        if step.constant < 1:
            self.fail_shape("argument step must be positive", "1 or more", step)
        return slice_of(start, end, step.constant, x.dims[normalize_axis(self, self.attr("axis"), len(x.dims))])
