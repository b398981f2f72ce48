"""Index maps with TVM's names: `IndexMap.from_func(lambda i: (i // 4, i % 4))`, a view on `sym.index_map`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IntegerType

from ...diagnostics import TiraxError
from ...dialects.sym.expr import Const, SymExpr, Var, i64
from ...dialects.sym.index_map import IndexMapAttr, IndexMapping
from ...dialects.sym.rebuild import retyped
from ...ir.passes.limits import check_limit
from ..array import Array
from .dims import dim_of
from .placeholders import named_var
from .prim_expr import PrimExpr, as_sym, from_sym
from .variables import SizeVar

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class _AxisSeparator:
    """The marker between groups of axes, see `IndexMap.from_func_with_separators`."""

    def __repr__(self) -> str:
        return "IndexMap.AXIS_SEPARATOR"


class IndexMap:
    """A function from indices to indices; `mapping` is its form in the dialect.

    Two maps are equal if they are the same function up to the names of variables.
    """

    AXIS_SEPARATOR = _AxisSeparator()

    __slots__ = ("mapping",)

    def __init__(
        self, initial_indices: Sequence[Any], final_indices: Sequence[Any], inverse_index_map: Any = None
    ) -> None:
        params = [as_sym(i).free_vars() for i in initial_indices]
        if any(len(p) != 1 for p in params):
            raise TiraxError("the initial indices of an index map are variables", found=list(initial_indices))
        names = tuple(named_var(p[0]) for p in params)
        inverse = None if inverse_index_map is None else index_mapping(inverse_index_map)
        self.mapping = IndexMapping(names, tuple(_index(e, names) for e in final_indices), inverse)

    @staticmethod
    def of(mapping: IndexMapping | IndexMapAttr) -> IndexMap:
        """Return the view on a mapping of the dialect."""
        out = IndexMap.__new__(IndexMap)
        out.mapping = mapping.data if isinstance(mapping, IndexMapAttr) else mapping
        return out

    @staticmethod
    def from_func(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Any = None,
        *,
        index_dtype: str = "int64",
    ) -> IndexMap:
        """Return the map that a Python function describes; `ndim` is the number of indices if it has `*args`.

        Raises `TiraxError` if it returns anything but integer expressions, including axis separators.
        """
        index_map, separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if separators:
            raise TiraxError(
                "IndexMap.from_func takes no axis separators",
                found="IndexMap.AXIS_SEPARATOR",
                hint="use IndexMap.from_func_with_separators",
            )
        return index_map

    @staticmethod
    def from_func_with_separators(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Any = None,
        *,
        index_dtype: str = "int64",
    ) -> tuple[IndexMap, list[int]]:
        """Return the map that a function describes, and the positions of `IndexMap.AXIS_SEPARATOR` among its
        results.
        """
        args, kwargs = _parameters(mapping_function, ndim, index_dtype)
        results = mapping_function(*args, **kwargs)
        parts: list[Any] = list(cast("Sequence[Any]", results)) if isinstance(results, tuple | list) else [results]
        finals = [p for p in parts if p is not IndexMap.AXIS_SEPARATOR]
        marks = [i for i, p in enumerate(parts) if p is IndexMap.AXIS_SEPARATOR]
        index_map = IndexMap([*args, *kwargs.values()], finals, inverse_index_map)
        return index_map, [place - n for n, place in enumerate(marks)]

    def __tirax_script_value__(self) -> IndexMapping:
        return self.mapping

    @property
    def initial_indices(self) -> list[PrimExpr]:
        return [from_sym(p) for p in self.mapping.params]

    @property
    def final_indices(self) -> list[PrimExpr]:
        return [from_sym(r) for r in self.mapping.results]

    @property
    def inverse_index_map(self) -> IndexMap | None:
        """The inverse passed to the constructor, or None."""
        return None if self.mapping.inverse_map is None else IndexMap.of(self.mapping.inverse_map)

    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """Return whether both are provably the same function, of integers of this map's types."""
        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        return self.mapping.equivalent(other_map._typed(self.initial_indices))

    def map_indices(self, indices: Sequence[Any]) -> Array[PrimExpr]:
        """Return the new indices for old ones. Raises `ShapeError` if their number is wrong."""
        mapping = self._typed(indices)
        return Array(from_sym(e) for e in mapping.apply([_operand(i, mapping.params) for i in indices]))

    def map_shape(self, shape: Sequence[Any]) -> Array[PrimExpr]:
        """Return the shape of a buffer of `shape` after the map. Raises `ShapeError` if the new indices are
        unbounded.
        """
        mapping = self._typed(shape)
        return Array(from_sym(e) for e in mapping.shape([_operand(d, mapping.params) for d in shape]))

    def _typed(self, values: Sequence[Any]) -> IndexMapping:
        """Return the map over indices of the dtype of the expressions among the values."""
        types = [v.type for v in values if isinstance(v, PrimExpr) and isinstance(v.type, IntegerType)]
        return retyped_mapping(self.mapping, types[0]) if types else self.mapping

    def map_ndarray(self, arr_src: Any) -> Any:
        """Return the array with its elements rearranged; padding is zero."""

        from ...interpreter.index_maps import move_elements  # late: few ask for it, and it brings the interpreter

        moved = move_elements(self.mapping, np.asarray(arr_src))
        return moved.view(type(arr_src)) if isinstance(arr_src, np.ndarray) else moved

    def inverse(self, shape: Sequence[Any]) -> IndexMap:
        """Return the inverse on indices below `shape`. Raises `ShapeError` if the map is not one-to-one or pads."""
        return IndexMap.of(self.mapping.inverse([_operand(d, self.mapping.params) for d in shape]))

    def non_surjective_inverse(self, shape: Sequence[Any]) -> tuple[IndexMap, PrimExpr]:
        """Return the inverse on indices below `shape`, and the condition under which new indices are padding.

        Raises `ShapeError` if the map is not one-to-one.
        """
        inverse = self.mapping.padded_inverse([_operand(d, self.mapping.params) for d in shape])
        return IndexMap.of(inverse.map), from_sym(inverse.padding)

    def script(self) -> str:
        """Return `T.index_map(lambda i: (i // 4, i % 4))`."""
        from ...script.printer.symbolic import print_index_map

        return print_index_map(self.mapping)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexMap) and self.mapping == other.mapping

    def __hash__(self) -> int:
        return hash(self.mapping)

    def __str__(self) -> str:
        return self.script()

    __repr__ = __str__


def index_mapping(value: Any) -> IndexMapping:
    """Convert a view, an attribute or a function to an index map. Raises `TiraxError` for anything else."""
    if isinstance(value, IndexMapping):
        return value
    if isinstance(value, IndexMapAttr):
        return value.data
    if isinstance(value, IndexMap):
        return value.mapping
    if callable(value):
        return IndexMap.from_func(cast("Callable[..., Any]", value)).mapping
    raise TiraxError("not an index map", expected="an IndexMap or a function of indices", found=type(value).__name__)


def _parameters(
    function: Callable[..., Any], ndim: int | None, dtype: str
) -> tuple[list[PrimExpr], dict[str, PrimExpr]]:
    """Return a variable for each parameter: the positional ones, and the keyword-only ones by name."""
    declared = inspect.signature(function).parameters
    args: list[PrimExpr] = [SizeVar(n, dtype) for n, p in declared.items() if p.kind in _POSITIONAL]
    kwargs: dict[str, PrimExpr] = {
        n: SizeVar(n, dtype) for n, p in declared.items() if p.kind is inspect.Parameter.KEYWORD_ONLY
    }
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in declared.values()):
        raise TiraxError("an index map takes no **kwargs", found=str(inspect.signature(function)))
    rest = next((n for n, p in declared.items() if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
    if rest is not None:
        if ndim is None:
            raise TiraxError(f"how many indices *{rest} stands for is not known", hint="give ndim")
        args += [SizeVar(f"{rest}_{i}", dtype) for i in range(ndim - len(args) - len(kwargs))]
    return args, kwargs


def _operand(value: Any, params: Sequence[Var]) -> SymExpr:
    """Return an index; a Python integer gets the type of the map's indices."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Const(value, params[0].dtype)
    return as_sym(value) if isinstance(value, PrimExpr) else dim_of(value)


def retyped_mapping(mapping: IndexMapping, dtype: IntegerType) -> IndexMapping:
    """Return the same map over indices of another integer type."""
    if all(p.dtype == dtype for p in mapping.params):
        return mapping
    params = tuple(Var(p.name, dtype) for p in mapping.params)
    variables = dict(zip(mapping.params, params, strict=True))
    return IndexMapping(params, tuple(retyped(r, dtype, variables) for r in mapping.results))


def _index(value: Any, params: Sequence[Var]) -> SymExpr:
    """Return a result of the function; a Python integer gets the type of the indices."""
    if isinstance(value, bool) or not (isinstance(value, PrimExpr | SymExpr | int) or hasattr(value, "__index__")):
        raise TiraxError(
            "an index map gives integer expressions", expected="PrimExprs, or one", found=type(value).__name__
        )
    if isinstance(value, PrimExpr):
        check_limit("sym.size", as_sym(value).tree_size(), "a result of the index map is too large")
    expr = dim_of(value)
    return expr if expr.constant is None else Const(expr.constant, params[0].dtype if params else i64)
