"""Reductions: commutative combiners over reduction axes, at the top of a `te.compute`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from xdsl.ir import Attribute

from ..diagnostics import TiraxError
from ..dialects.dtypes import is_float
from ..handles.tir.prim_expr import (
    ExprLike,
    PrimExpr,
    Var,
    add,
    const,
    convert,
    if_then_else,
    max_value,
    maximum,
    min_value,
    minimum,
    multiply,
)
from .axis import IterVar

Values = tuple[PrimExpr, ...]


@dataclass(frozen=True, eq=False)
class Combiner:
    """How two partial results join, and the value that changes nothing.

    `combine` takes two tuples and gives one; `identity` takes the dtypes.
    """

    combine: Callable[[Values, Values], Values]
    identity: Callable[[Sequence[Attribute]], Values]
    name: str = "reduce"


@dataclass(frozen=True, eq=False)
class Reduce:
    """`combiner` over all points of `axes`, of `sources`; `init` in place of the identity where it is given.

    `value_index` says which of several results it stands for. `condition` is None here: where one does not hold, the
    sources are the identity. A part of the language only at the top of a `te.compute`: arithmetic on it raises
    `TiraxError`.
    """

    combiner: Combiner
    sources: Values
    axes: tuple[IterVar, ...]
    condition: PrimExpr | None = None
    value_index: int = 0
    init: Values | None = None

    @property
    def source(self) -> Values:
        return self.sources

    @property
    def axis(self) -> tuple[IterVar, ...]:
        return self.axes

    @property
    def types(self) -> list[Attribute]:
        return [s.type for s in self.sources]

    @property
    def dtype(self) -> str:
        return self.sources[0].dtype

    def initial(self) -> Values:
        """What an element holds before the first point."""
        return self.combiner.identity(self.types) if self.init is None else self.init

    def __tirax_parts__(self) -> tuple[Any, ...]:
        """What it is made of: two reductions of equal parts are equal."""
        left, right = (_operands(side, *(s.dtype for s in self.sources)) for side in ("x", "y"))
        combined = self.combiner.combine(left, right)
        rest = (self.sources, self.axes, self.initial(), self.value_index)
        return (combined, *rest, *(() if self.condition is None else (self.condition,)))

    def _refuse(self, *_: object) -> NoReturn:
        raise TiraxError(
            "a reduction stands inside of an expression",
            expected="the reduction alone as the value of te.compute",
            hint="compute the reduction as a tensor of its own, then use its elements",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = astype = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse


@cache
def _operands(name: str, *dtypes: str) -> Values:
    """Variables that stand for what is combined: the same each time, so that combinations of them compare."""
    return tuple(Var(f"{name}{i}", dtype) for i, dtype in enumerate(dtypes))


def _axes(axis: object) -> tuple[IterVar, ...] | None:
    """The axes that `axis` stands for, None where it is an ordinary value."""
    if isinstance(axis, IterVar):
        return (axis,)
    if isinstance(axis, list | tuple) and all(isinstance(a, IterVar) for a in axis):
        return tuple(axis)
    return None


def make_reduce(
    combiner: Combiner,
    sources: Values,
    axes: Sequence[IterVar],
    where: PrimExpr | None = None,
    init: Values | None = None,
) -> Reduce:
    """A reduction; points where `where` does not hold give the identity. Raises `TiraxError` for a spatial axis."""
    for axis in axes:
        if not axis.is_reduction:
            raise TiraxError(f"'{axis.name}' is no reduction axis", hint="make one with te.reduce_axis")
    if where is not None:
        neutral = combiner.identity([s.type for s in sources])
        sources = tuple(if_then_else(where, s, n) for s, n in zip(sources, neutral, strict=True))
    return Reduce(combiner, sources, tuple(axes), init=init)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


class Reducer:
    """`reducer(expr, axis=k)` reduces over axes; `reducer(a, b)` combines two values."""

    def __init__(self, combiner: Combiner, doc: str | None = None):
        self.combiner = combiner
        self.__doc__ = doc

    def __call__(
        self, expr: Any, axis: Any = None, where: PrimExpr | None = None, init: Any = None, *more: ExprLike
    ) -> Any:
        axes = _axes(axis)
        if axes is None:
            return self._elementwise([expr, axis, *(v for v in (where, init, *more) if v is not None)])
        sources = tuple(convert(e) for e in _as_tuple(expr))
        start = None
        if init is not None:
            start = tuple(convert(i, s).astype(s.type) for i, s in zip(_as_tuple(init), sources, strict=True))
        if axes:
            return make_reduce(self.combiner, sources, axes, where, start)
        results = self._of_one_point(sources, where, start)
        return results if isinstance(expr, list | tuple) else results[0]

    def _of_one_point(self, sources: Values, where: PrimExpr | None, start: Values | None) -> Values:
        """Over no axes there is one point: its sources, joined with what is there before them."""
        results = sources if start is None else self.combiner.combine(start, sources)
        if where is None:
            return results
        before = self.combiner.identity([s.type for s in sources]) if start is None else start
        return tuple(if_then_else(where, f, b) for f, b in zip(results, before, strict=True))

    def _elementwise(self, values: Sequence[Any]) -> PrimExpr:
        if any(v is None for v in values):
            raise TiraxError("a reduction needs its axis", hint="axis=k, with k made by te.reduce_axis")
        out = convert(values[0])
        for v in values[1:]:
            (out,) = self.combiner.combine((out,), (convert(v, out),))
        return out


def _single(
    build: Callable[[ExprLike, ExprLike], PrimExpr], identity: Callable[[Attribute], PrimExpr], name: str
) -> Combiner:
    return Combiner(lambda a, b: (build(a[0], b[0]),), lambda types: (identity(types[0]),), name)


sum = Reducer(_single(add, lambda t: const(0, t), "sum"), "The sum over axes.")
prod = Reducer(_single(multiply, lambda t: const(1, t), "prod"), "The product over axes.")


def least_of(dtype: Attribute) -> PrimExpr:
    """What no number of a dtype is less than: -inf of floats."""
    return const(float("-inf"), dtype) if is_float(dtype) else min_value(dtype)


def greatest_of(dtype: Attribute) -> PrimExpr:
    """What no number of a dtype is greater than: inf of floats."""
    return const(float("inf"), dtype) if is_float(dtype) else max_value(dtype)


max = Reducer(_single(maximum, min_value, "max"), "The greatest value over axes, or the greater of two values.")
min = Reducer(_single(minimum, max_value, "min"), "The least value over axes, or the lesser of two values.")
max_of_all = Reducer(_single(maximum, least_of, "max"), "As `max`; of no values -inf.")
min_of_all = Reducer(_single(minimum, greatest_of, "min"), "As `min`; of no values inf.")


def comm_reducer(fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce") -> Reducer:
    """A reducer of one's own: `fcombine(a, b)` and `fidentity(dtype)`, of tuples for several values at once.

    `fidentity` gets a dtype's name for each value.
    """
    from ..dialects.dtypes import dtype_name

    def combine(a: Values, b: Values) -> Values:
        joined = fcombine(a, b) if len(a) > 1 else fcombine(*a, *b)
        return tuple(convert(v, x) for v, x in zip(_as_tuple(joined), a, strict=True))

    def identity(types: Sequence[Attribute]) -> Values:
        values = _as_tuple(fidentity(*(dtype_name(t) for t in types)))
        return tuple(v if isinstance(v, PrimExpr) else const(v, t) for v, t in zip(values, types, strict=True))

    return Reducer(Combiner(combine, identity, name))
