"""Conversion of PyTorch's symbolic sizes (sympy expressions) to symbolic expressions of the IR."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any

from ...diagnostics import UnsupportedError
from ...dialects.sym.expr import SymExpr, Var, as_expr, floordiv, floormod
from ...dialects.sym.operators import eq, ge, gt, le, lt, maximum, minimum, ne, select, truncdiv
from .emitter import Extent, count_of, plain
from .ratios import Ratio, factor, product, quotient, rounded, total


def _power(base: Extent, exponent: Extent) -> Extent:
    if not isinstance(exponent, int) or exponent < 0:
        raise UnsupportedError("a size is a power with an exponent that is not constant", found=exponent)
    return count_of([base] * exponent)


def _ceiling(a: Any, b: Any) -> Any:
    return -floordiv(-a, b)


_BUILD: dict[str, Callable[..., Extent]] = {
    "Add": lambda *args: reduce(operator.add, args),
    "Mul": lambda *args: reduce(operator.mul, args),
    "Pow": _power,
    "PowByNatural": _power,
    "FloorDiv": floordiv,
    "CleanDiv": floordiv,
    "CeilDiv": _ceiling,
    "Mod": floormod,
    "PythonMod": floormod,
    "ModularIndexing": lambda a, b, m: floormod(floordiv(a, b), m),
    "Max": lambda *args: reduce(maximum, args),
    "Min": lambda *args: reduce(minimum, args),
    "Identity": lambda a: a,
}
"""Constructors by the class of the sympy node."""
_OF_FRACTIONS: dict[str, Callable[[Ratio, Ratio], Ratio]] = {
    "Add": total, "Mul": product, "ToFloat": total, "IntTrueDiv": quotient, "FloatTrueDiv": quotient,
}  # fmt: skip
"""Functions of two numbers in floating point, by the class of the sympy node; one of a single number is that number."""
_ROUNDED = {
    "TruncToInt": rounded(truncdiv), "FloorToInt": rounded(floordiv), "CeilToInt": rounded(_ceiling),
    "floor": rounded(floordiv), "ceiling": rounded(_ceiling),
}  # fmt: skip
"""Functions from numbers in floating point to integers."""
_CONDITIONS = {"Equality": eq, "Unequality": ne, "StrictLessThan": lt, "LessThan": le, "StrictGreaterThan": gt,
               "GreaterThan": ge}  # fmt: skip


class Symbols:
    """The symbols of one program and their extents, by default variables of the same names."""

    def __init__(self) -> None:
        self._values: dict[Any, Extent] = {}
        self.names: dict[str, str] = {}
        """Names of users for symbols, by PyTorch's: `s77` -> `batch`."""
        self.multiples: dict[Var, tuple[str, int, int]] = {}
        """Sizes a * n + b of inputs that are variables of their own: the name of n, a and b."""

    def name(self, symbol: Any) -> str:
        """Return the name of a symbol's variable."""
        return self.names.get(str(symbol), str(symbol))

    def bind(self, inputs: Iterable[Any]) -> None:
        """Determine symbols that are not extents themselves, such as n for a dimension 2 * n, from the inputs' sizes.

        A size from which its symbols cannot be determined becomes a new variable.
        """
        sizes = [s.node.expr for value in inputs for s in symbolic_sizes(value)]
        known = {s for s in sizes if s.is_Symbol}
        for number, size in enumerate(dict.fromkeys(s for s in sizes if not s.is_Symbol)):
            missing = size.free_symbols - known
            if missing:
                names = sorted(map(self.name, missing))
                extent = Var("_".join([*names, f"size{number or ''}"]))
                self._values[size] = extent
                if len(missing) == 1 and self._solve(size, next(iter(missing)), extent):
                    known |= missing

    def _solve(self, size: Any, symbol: Any, extent: Var) -> bool:
        """Define n as (s - b) // a if the size s is a * n + b; return False otherwise."""
        slope, offset = size.coeff(symbol, 1), size.coeff(symbol, 0)
        if not (slope.is_Integer and size == slope * symbol + offset):
            return False
        self._values[symbol] = floordiv(extent - self.of(offset), int(slope))
        self.multiples[extent] = self.name(symbol), int(slope), int(offset)
        return True

    def replace(self, mapping: Mapping[Var, SymExpr]) -> None:
        """Replace variables by expressions of the same value."""
        for symbol, extent in self._values.items():
            if isinstance(extent, SymExpr):
                self._values[symbol] = plain(extent.substitute(mapping))

    def extent(self, size: Any) -> Extent:
        """Convert an `int` or `torch.SymInt` to an extent. Raises `UnsupportedError` for unsupported arithmetic."""
        return self.of(size.node.expr) if is_symbolic(size) else int(size)

    def define(self, number: Any, extent: Extent) -> None:
        """Bind a symbol of PyTorch, a `torch.SymInt`, to an extent."""
        self._values[number.node.expr] = extent

    def of(self, expr: Any) -> Extent:
        """Convert a sympy expression to an extent."""
        known = self._values.get(expr)
        if known is not None:
            return known
        if expr.is_Integer:
            return int(expr)
        if expr.is_Symbol:
            return self._values.setdefault(expr, Var(self.name(expr)))
        if type(expr).__name__ == "Piecewise":
            return self._first_that_holds(expr.args)
        round_ = _ROUNDED.get(type(expr).__name__)
        if round_ is not None:
            return plain(round_(self._ratio(expr.args[0])).numerator)
        build = _BUILD.get(type(expr).__name__)
        if build is None:
            raise UnsupportedError(f"a size is computed with {type(expr).__name__}", found=expr)
        return plain(build(*map(self.of, expr.args)))

    def _ratio(self, expr: Any) -> Ratio:
        """Convert an expression in floating point. Raises `UnsupportedError` for what may be rounded."""
        if expr.is_Float or expr.is_Rational:
            return factor(float(expr))
        combine = _OF_FRACTIONS.get(type(expr).__name__)
        if combine is None:
            return Ratio(as_expr(self.of(expr)))
        return reduce(combine, map(self._ratio, expr.args))

    def _first_that_holds(self, cases: Iterable[Any]) -> Extent:
        """Return the value of the first of (value, condition) whose condition holds; that of the last one is true."""
        *rest, (last, _) = cases
        value = self.of(last)
        for case, condition in reversed(rest):
            build = _CONDITIONS.get(type(condition).__name__)
            if build is None:
                raise UnsupportedError(f"a size depends on {type(condition).__name__}", found=condition)
            value = select(build(*map(self.of, condition.args)), self.of(case), value)
        return plain(value)


def symbolic_sizes(value: Any) -> list[Any]:
    """Return the symbolic integers of a traced value: a tensor's extents, or the value itself."""
    return [s for s in getattr(value, "shape", [value]) if is_symbolic(s)]


def is_symbolic(value: Any) -> bool:
    """Return whether a traced value is a symbolic integer."""
    import torch

    return isinstance(value, torch.SymInt)


def is_symbolic_float(value: Any) -> bool:
    """Return whether a traced value is a symbolic number in floating point."""
    import torch

    return isinstance(value, torch.SymFloat)


def finite_bounds(ranges: Mapping[Any, Any]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the lower and upper bounds of symbols that are declared explicitly.

    PyTorch assumes that all sizes are at least 2, which is not such a bound.
    """
    lower = {str(s): int(r.lower) for s, r in ranges.items() if r.lower.is_Integer and int(r.lower) > _ASSUMED}
    upper = {str(s): int(r.upper) for s, r in ranges.items() if r.upper.is_Integer}
    return lower, upper


_ASSUMED = 2
