"""Reductions: commutative combiners over reduction axes, at the top of a `te.compute`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from xdsl.ir import Attribute

from ..diagnostics import TiraxError
from ..dialects.dtypes import is_float
from ..handles.tir.limits import max_value, min_value
from ..handles.tir.prim_expr import ExprLike, PrimExpr, add, const, convert, if_then_else, maximum, minimum, multiply
from ..handles.tir.variables import Var
from .axis import IterVar

Values = tuple[PrimExpr, ...]


@dataclass(frozen=True, eq=False)
class Combiner:
    """A commutative function that combines two partial results, with its identity element.

    `combine` maps two tuples of values to one; `identity` gets the dtypes.
    """

    combine: Callable[[Values, Values], Values]
    identity: Callable[[Sequence[Attribute]], Values]
    name: str = "reduce"


@dataclass(frozen=True, eq=False)
class Reduce:
    """The reduction of `sources` with `combiner` over all points of `axes`; `init` replaces the identity if present.

    `value_index` selects one of several results. `condition` is always None: where a condition does not hold, the
    sources are the identity. Allowed only at the top of a `te.compute`: arithmetic on it raises `TiraxError`.
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
        """Return the values of an element before the first point."""
        return self.combiner.identity(self.types) if self.init is None else self.init

    def __tirax_parts__(self) -> tuple[Any, ...]:
        """Return the parts that equality compares."""
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
    """Return variables for the operands of a combiner: the same ones each time, so that combiners compare equal."""
    return tuple(Var(f"{name}{i}", dtype) for i, dtype in enumerate(dtypes))


def _axes(axis: object) -> tuple[IterVar, ...] | None:
    """Return the axes in `axis`, or None if it is an ordinary value."""
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
    """Return a reduction; points where `where` is false contribute the identity.

    Raises `TiraxError` for a spatial axis.
    """
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
    """A reducer: `reducer(expr, axis=k)` reduces over axes; `reducer(a, b)` combines two values."""

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
        """Return the reduction over no axes: the sources of its single point, combined with any initial value."""
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
    """Return the smallest value of a dtype: -inf for floats."""
    return const(float("-inf"), dtype) if is_float(dtype) else min_value(dtype)


def greatest_of(dtype: Attribute) -> PrimExpr:
    """Return the greatest value of a dtype: inf for floats."""
    return const(float("inf"), dtype) if is_float(dtype) else max_value(dtype)


max = Reducer(_single(maximum, min_value, "max"), "The greatest value over axes, or the greater of two values.")
min = Reducer(_single(minimum, max_value, "min"), "The least value over axes, or the lesser of two values.")
max_of_all = Reducer(_single(maximum, least_of, "max"), "As `max`; of no values -inf.")
min_of_all = Reducer(_single(minimum, greatest_of, "min"), "As `min`; of no values inf.")


def comm_reducer(fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce") -> Reducer:
    """Return a custom reducer from `fcombine(a, b)` and `fidentity(dtype)`, with tuples for several values at once.

    `fidentity` gets the name of a dtype for each value.
    """
    from ..dialects.dtypes import dtype_name

    def combine(a: Values, b: Values) -> Values:
        joined = fcombine(a, b) if len(a) > 1 else fcombine(*a, *b)
        return tuple(convert(v, x) for v, x in zip(_as_tuple(joined), a, strict=True))

    def identity(types: Sequence[Attribute]) -> Values:
        values = _as_tuple(fidentity(*(dtype_name(t) for t in types)))
        return tuple(v if isinstance(v, PrimExpr) else const(v, t) for v, t in zip(values, types, strict=True))

    return Reducer(Combiner(combine, identity, name))
