"""Operators that repeat, reverse, stack and sum back tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.ir import Attribute

from ..sym.expr import Const, SymExpr, product
from .operator import AXIS, NUMBERS, Attr, Domain, Operator, operator
from .reduction import normalize_axis
from .types import TensorType, tuple_type


def positive(op: Operator, name: str) -> int:
    """Return the integer attribute `name`. Raises `ShapeError` if it is less than 1."""
    value = op.attr(name)
    if not isinstance(value, int) or value < 1:
        op.fail_shape(f"attribute {name} must be positive", "1 or more", value)
    return value


@operator("relax.repeat", "data", repeats=1, axis=AXIS)
class Repeat(Operator):
    """Each element repeated `repeats` times along `axis`; of the flattened data if None."""

    def infer(self) -> Attribute:
        x, axis, count = self.tensor("data"), self.attr("axis"), positive(self, "repeats")
        if axis is None:
            return TensorType.of(None if x.dims is None else [product(x.dims) * count], x.element, 1)
        place = None if x.rank is None else normalize_axis(self, axis, x.rank)
        if count == 1:
            return x.of_dtype(x.element)
        if x.dims is None:
            return TensorType.of(None, x.element, x.rank)
        return TensorType.of([d * count if i == place else d for i, d in enumerate(x.dims)], x.element)


@operator("relax.tile", "data", repeats=Attr(default=[], types=(int, list), listed=True))
class Tile(Operator):
    """data repeated `repeats` times in each dimension; the shorter of shape and repeats is filled with leading 1s."""

    def infer(self) -> Attribute:
        x, repeats = self.tensor("data"), self.repeats_of()
        if x.rank is None:
            return TensorType.of(None, x.element)
        rank = max(x.rank, len(repeats))
        if x.dims is None and not repeats:
            return x.of_dtype(x.element)
        if x.dims is None:
            return TensorType.of(None, x.element, rank)
        dims = [*([Const(1)] * (rank - len(x.dims))), *x.dims]
        counts = [1] * (rank - len(repeats)) + repeats
        return TensorType.of([d * c for d, c in zip(dims, counts, strict=True)], x.element)

    def repeats_of(self) -> list[int]:
        repeats: list[int] = list(self.attr("repeats"))
        if any(r < 0 for r in repeats):
            self.fail_shape("attribute repeats must not be negative", "0 or more", repeats)
        return repeats


@operator("relax.flip", "data", axis=0)
class Flip(Operator):
    """data reversed along `axis`."""

    def infer(self) -> Attribute:
        x = self.tensor("data")
        if x.rank is not None:
            normalize_axis(self, self.attr("axis"), x.rank)
        return x


def _agreeing(op: Operator, arg: str) -> tuple[list[TensorType], Attribute | None]:
    """Return the types of a nonempty tuple of tensors, and their common dtype. Raises if dtypes differ."""
    tensors = op.tensors(arg)
    if not tensors:
        op.fail_shape(f"argument {arg} is empty", "one tensor or more")
    dtypes = {t.element for t in tensors}
    if len(dtypes - {None}) > 1:
        op.fail_dtype(f"all of {arg} must have one dtype", tensors[0].element, ", ".join(map(str, dtypes)))
    return tensors, None if None in dtypes else tensors[0].element


@operator("relax.stack", "xs*", axis=Attr(default=0, types=(int, type(None))))
class Stack(Operator):
    """Tensors of one shape stacked along a new dimension `axis`."""

    def infer(self) -> Attribute:
        tensors, dtype = _agreeing(self, "xs")
        ranks = {t.rank for t in tensors} - {None}
        if len(ranks) > 1:
            self.fail_shape("all of xs must have one rank", found=[t.rank for t in tensors])
        rank = next(iter(ranks), None)
        if rank is None:
            return TensorType.of(None, dtype)
        place = normalize_axis(self, self.attr("axis") or 0, rank + 1)
        shapes = [t.dims for t in tensors if t.dims is not None]
        if len(shapes) < len(tensors):
            return TensorType.of(None, dtype, rank + 1)
        self._check(shapes)
        return TensorType.of([*shapes[0][:place], Const(len(tensors)), *shapes[0][place:]], dtype)

    def _check(self, shapes: list[tuple[SymExpr, ...]]) -> None:
        for n, shape in enumerate(shapes[1:], 1):
            for i, (a, b) in enumerate(zip(shapes[0], shape, strict=True)):
                self.require_equal(a, b, f"xs[{n}] has another extent in dimension {i}", a, b)


@operator("relax.meshgrid", "xs*", indexing="ij")
class Meshgrid(Operator):
    """Coordinate grids of vectors: tensor i is repeated along all dimensions but i (`xy` swaps the first two)."""

    def infer(self) -> Attribute:
        tensors, dtype = _agreeing(self, "xs")
        if self.attr("indexing") not in ("ij", "xy"):
            self.fail_shape("attribute indexing is unknown", "ij or xy", self.attr("indexing"))
        for i, t in enumerate(tensors):
            if t.rank not in (None, 1):
                self.fail_shape(f"xs[{i}] must be a vector", "rank 1", t.rank)
        dims = [t.dims[0] for t in tensors if t.dims is not None]
        if self.attr("indexing") == "xy" and len(dims) > 1:
            dims[:2] = dims[1::-1]
        known = dims if len(dims) == len(tensors) else None
        return tuple_type([TensorType.of(known, dtype, len(tensors))] * len(tensors))


class _CollapseSum(Operator):
    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": NUMBERS}

    def collapsed(self, data: TensorType, target: tuple[SymExpr, ...] | None) -> None:
        """Check that `target` broadcasts to the shape of the data."""
        extents = data.extents
        if extents is None or target is None:
            return
        if len(target) > len(extents):
            self.fail_shape("the target has more dimensions than data", f"at most {len(extents)}", len(target))
        for have, want in zip(reversed(extents), reversed(target), strict=False):
            if want.constant != 1 and (have - want).constant != 0:
                self.fail_shape("the target is not known to broadcast to data", f"1 or {have}", want)


@operator("relax.collapse_sum_like", "data collapse_target")
class CollapseSumLike(_CollapseSum):
    """The sum of data over the broadcast dimensions, in the shape of collapse_target."""

    def infer(self) -> Attribute:
        data, target = self.tensor("data"), self.tensor("collapse_target")
        self.collapsed(data, target.extents)
        return target.of_dtype(data.element)


@operator("relax.collapse_sum_to", "data shape")
class CollapseSumTo(_CollapseSum):
    """The sum of data over the broadcast dimensions, in the shape `shape`."""

    def infer(self) -> Attribute:
        data, shape = self.tensor("data"), self.shape_arg("shape")
        self.collapsed(data, shape.dims)
        return self.of_shape_arg("shape", data.element)
