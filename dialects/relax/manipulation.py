"""Operators that rearrange elements: transpose, reshape, concat, split, broadcast, take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from ..sym.analyzer import is_nonnegative
from ..sym.expr import Const, SymExpr, add, floordiv, product
from ..sym.operators import maximum, minimum
from .operator import AXES, AXIS, Attr, Operator, certainly_differ, operator
from .reduction import normalize_axes, normalize_axis
from .types import PrimType, TensorType, tuple_type


@operator("relax.permute_dims", "x", axes=AXES)
class PermuteDims(Operator):
    """Transpose: dimension i of the result is dimension axes[i] of x; all reversed if axes is None."""

    def infer(self) -> Attribute:
        x, axes = self.tensor("x"), self.attr("axes")
        if x.rank is None and axes is None:
            return TensorType.of(None, x.element)
        if x.rank is None:
            self.fail_shape("attribute axes needs a tensor of known rank", f"rank {len(axes)}")
        order = list(range(x.rank))[::-1] if axes is None else normalize_axes(self, axes, x.rank, "axes")
        if len(order) != x.rank:
            self.fail_shape("attribute axes must be a permutation of the dimensions", f"{x.rank} axes", axes)
        if x.shape_var is not None and order == list(range(x.rank)):
            return x
        return TensorType.of(None if x.dims is None else [x.dims[a] for a in order], x.element, x.rank)


@operator("relax.reshape", "x shape")
class Reshape(Operator):
    """The elements of x in row-major order, in another shape. (-1 is replaced before the operator is built.)"""

    def infer(self) -> Attribute:
        x, shape = self.tensor("x"), self.shape_arg("shape")
        if (extents := x.extents) is not None and shape.dims is not None:
            before, after = product(extents), product(shape.dims)
            what = "argument shape has another number of elements"
            self.require_equal(before, after, what, f"{before}", f"{after} in {shape}")
        return TensorType.of(shape.dims, x.element) if shape.dims is not None else self.of_shape_arg("shape", x.element)


def kept_extents(source: Sequence[SymExpr] | None, extents: Sequence[Any]) -> list[Any]:
    """Return the Python target of a reshape with 0 replaced by the extent of the source at that position.

    A 0 stays if the source may not have that dimension, or if the source is empty, when it means an extent of 0.
    """
    if source is None or product(source).constant == 0:
        return list(extents)
    return [source[i] if e == 0 and i < len(source) else e for i, e in enumerate(extents)]


@operator("relax.flatten", "x")
class Flatten(Operator):
    """All elements as one dimension."""

    def infer(self) -> Attribute:
        x = self.tensor("x")
        if x.rank == 0:
            return TensorType.of([Const(1)], x.element)
        if x.rank == 1:
            return TensorType(x.shape, x.ndim, x.dtype, x.vdevice)
        return TensorType.of(None if x.dims is None else [product(x.dims)], x.element, 1)


@operator("relax.broadcast_to", "x shape")
class BroadcastTo(Operator):
    """x repeated along dimensions of extent 1, and along new leading ones, to `shape`."""

    def infer(self) -> Attribute:
        x, shape = self.tensor("x"), self.shape_arg("shape")
        if x.rank is not None and shape.rank is not None and x.rank > shape.rank:
            self.fail_shape("argument shape has fewer dimensions than x", f"at least {x.rank}", shape.rank)
        if (extents := x.extents) is not None and shape.dims is not None:
            for have, want in zip(reversed(extents), reversed(shape.dims), strict=False):
                if have.constant != 1 and certainly_differ(have, want):
                    self.fail_shape("x does not broadcast to the shape", f"1 or {want}", have)
        return self.of_shape_arg("shape", x.element)


@operator("relax.expand_dims", "x", axis=AXES)
class ExpandDims(Operator):
    """New dimensions of extent 1 at the positions `axis` of the result."""

    def infer(self) -> Attribute:
        x = self.tensor("x")
        axis = self.attr("axis")
        axes: list[int] = [axis] if isinstance(axis, int) else list(axis or ())
        if not axes:
            return TensorType(x.shape, x.ndim, x.dtype, x.vdevice)
        if x.rank is None:
            return TensorType.of(None, x.element)
        rank = x.rank + len(axes)
        places = normalize_axes(self, axes, rank)
        if x.dims is None:
            return TensorType.of(None, x.element, rank)
        old = iter(x.dims)
        return TensorType.of([Const(1) if i in places else next(old) for i in range(rank)], x.element)


@operator("relax.squeeze", "x", axis=AXES)
class Squeeze(Operator):
    """x without the dimensions `axis`, which have extent 1; without all of extent 1 if None."""

    def infer(self) -> Attribute:
        x, axis = self.tensor("x"), self.attr("axis")
        if axis == []:
            return x.of_dtype(x.element)
        extents = x.extents
        if x.rank is None or (extents is None and axis is None):
            return TensorType.of(None, x.element)
        if axis is None:
            axes = [i for i, d in enumerate(extents or ()) if d.constant == 1]
        else:
            axes = normalize_axes(self, axis, x.rank)
        for a, d in enumerate(extents or ()):
            if a in axes:
                self.require_equal(d, Const(1), f"dimension {a} of x cannot be squeezed", 1, d)
        if axis is None and any(d.constant is None for d in extents or ()):
            return TensorType.of(None, x.element)  # an unknown extent may be 1
        if x.dims is None:
            return x.of_dtype(x.element) if not axes else self._unnamed(x, None if axis is None else len(axes))
        return TensorType.of([d for i, d in enumerate(x.dims) if i not in axes], x.element)

    @staticmethod
    def _unnamed(x: TensorType, removed: int | None) -> TensorType:
        return TensorType.of(None, x.element, None if removed is None or x.rank is None else x.rank - removed)


@operator("relax.concat", "xs*", axis=Attr(default=0, types=(int, type(None))))
class Concat(Operator):
    """Tensors joined along `axis`; the other extents agree."""

    def infer(self) -> Attribute:
        xs, axis = self.tensors("xs"), self.attr("axis")
        if not xs:
            self.fail_shape("argument xs is empty", "one tensor or more")
        dtypes = {x.element for x in xs}
        if len(dtypes - {None}) > 1:
            self.fail_dtype("all tensors must have one dtype", xs[0].element, ", ".join(map(str, dtypes)))
        dtype = None if None in dtypes else xs[0].element
        ranks = {x.rank for x in xs} - {None}
        if len(ranks) > 1:
            self.fail_shape("all tensors must have one rank", found=[x.rank for x in xs])
        rank = next(iter(ranks), 1 if axis is None and len(xs) > 1 else None)
        if axis is None and rank not in (None, 1):
            self.fail_shape("attribute axis must be given where tensors are not vectors", "rank 1", rank)
        place = 0 if rank is None else normalize_axis(self, axis or 0, rank)
        if rank is None or any(x.dims is None for x in xs):
            self._joined([shape for x in xs if (shape := x.extents) is not None], place)
            return xs[0].of_dtype(dtype) if len(xs) == 1 else TensorType.of(None, dtype, rank)
        return TensorType.of(self._joined([x.dims or () for x in xs], place), dtype)

    def _joined(self, shapes: list[tuple[SymExpr, ...]], axis: int) -> list[SymExpr]:
        out = list(shapes[0]) if shapes else []
        for n, shape in enumerate(shapes[1:], 1):
            for i, (a, b) in enumerate(zip(out, shape, strict=True)):
                if i != axis:
                    self.require_equal(a, b, f"xs[{n}] has another extent in dimension {i}", a, b)
            out[axis] = add(out[axis], shape[axis])
        return out


@operator("relax.split", "x", indices_or_sections=Attr(default=1, types=(int, list)), axis=0)
class Split(Operator):
    """x split along `axis`: at the positions of a list, or into a number of sections (of equal extent, rounded up)."""

    def infer(self) -> Attribute:
        x, where = self.tensor("x"), self.attr("indices_or_sections")
        count = where if isinstance(where, int) else len(where) + 1
        if count < 1:
            self.fail_shape("attribute indices_or_sections must be positive", "1 or more", where)
        if not isinstance(where, int) and any(position < 0 for position in where):
            self.fail_shape("attribute indices_or_sections must not be negative", "0 or more", where)
        if x.rank is not None:
            normalize_axis(self, self.attr("axis"), x.rank)
        if x.dims is None:
            return tuple_type([TensorType.of(None, x.element, x.rank)] * count)
        axis = normalize_axis(self, self.attr("axis"), len(x.dims))
        extents = [extent for _, extent in sections(x.dims[axis], where)]
        return tuple_type(TensorType.of([*x.dims[:axis], e, *x.dims[axis + 1 :]], x.element) for e in extents)


def sections(extent: SymExpr, where: int | Sequence[int]) -> list[tuple[SymExpr, SymExpr]]:
    """Return the begin and the extent of each section of `relax.split`: like numpy's slices if everything is known.

    For an unknown extent, positions are assumed to be in bounds, and equal sections to be nonempty.
    """
    if isinstance(where, int):
        each = floordiv(extent + (where - 1), where)
        edges = [each * n for n in range(where)]
        last = extent - edges[-1]
        if extent.constant is None:
            return [*((edge, each) for edge in edges[:-1]), (edges[-1], last)]
        edges.append(extent)
    else:
        edges = [Const(0, extent.dtype), *(Const(int(w), extent.dtype) for w in where), extent]
    if extent.constant is not None:
        edges = [minimum(edge, extent) for edge in edges]
    lengths = [high - low for low, high in pairwise(edges)]
    return [(low, e if is_nonnegative(e) else maximum(e, 0)) for low, e in zip(edges, lengths, strict=False)]


@operator("relax.take", "x indices", axis=AXIS, mode="fast")
class Take(Operator):
    """The slices of x along `axis` at `indices`, which may be a tensor of any rank or a prim value."""

    ADDED: ClassVar[frozenset[str]] = frozenset({"mode"})

    def infer(self) -> Attribute:
        x, axis = self.tensor("x"), self.attr("axis")
        index = self.operands[1].type
        if isinstance(index, PrimType):
            middle, rank = (), 0
        else:
            t = self.tensor("indices")
            if t.element is not None and not isinstance(t.element, IntegerType):
                self.fail_dtype("argument indices must be of an integer type", "int32 or int64", t.element)
            middle, rank = t.dims, t.rank
        if axis is None and x.rank != 1:
            self.fail_shape("attribute axis must be given where x may have several dimensions", found=x)
        if x.rank is None or rank is None:
            return TensorType.of(None, x.element)
        place = normalize_axis(self, axis or 0, x.rank)
        if x.dims is None or middle is None:
            return TensorType.of(None, x.element, x.rank + rank - 1)
        return TensorType.of([*x.dims[:place], *middle, *x.dims[place + 1 :]], x.element)
