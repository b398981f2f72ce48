"""Domains of loops and blocks, with TVM's names: ranges, iterators, regions of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import SSAValue

from ...diagnostics import TiraxError
from ...dialects import tir
from ...dialects.sym.expr import Const, SymExpr
from . import prim_expr as tx
from . import variables
from .buffers import Buffer
from .expr_kinds import dim_node, expr_node
from .prim_expr import ExprLike, PrimExpr, as_sym


@dataclass(frozen=True, eq=False)
class Range:
    """`Range(begin, end)`: `extent` values from `min` on; `Range(end)` begins at 0."""

    min: PrimExpr
    extent: PrimExpr

    def __init__(self, begin: ExprLike, end: ExprLike | None = None, span: object = None):
        first = tx.const(0, tx.convert(begin).type) if end is None else tx.convert(begin, _expr_or_none(end))
        last = tx.convert(begin if end is None else end, first)
        object.__setattr__(self, "min", first)
        object.__setattr__(self, "extent", tx.simplified(last - first))

    @staticmethod
    def from_min_extent(min_value: ExprLike, extent: ExprLike, span: object = None) -> Range:
        """Return the range of `extent` values from `min_value` on."""
        new = Range.__new__(Range)
        size = tx.convert(extent)
        object.__setattr__(new, "min", tx.convert(min_value, size))
        object.__setattr__(new, "extent", size)
        return new

    @property
    def end(self) -> PrimExpr:
        """The value after the last one."""
        return tx.simplified(self.min + self.extent)

    def script(self, **options: Any) -> str:
        """Return the range as TVMScript, `T.Range(0, 8)`; `verbose_expr=True` declares its variables before."""
        from ...script.printer.fragment import print_range

        return print_range(self.min.ssa, self.end.ssa, **options)

    def __repr__(self) -> str:
        return f"Range({self.min}, {self.end})"


def _expr_or_none(value: object) -> PrimExpr | None:
    return value if isinstance(value, PrimExpr) else None


def range_of(least: SymExpr | SSAValue, extent: SymExpr | SSAValue) -> Range:
    """Return the range of `extent` values from `least` on."""
    size = dim_node(extent)
    first = dim_node(least)
    return Range.from_min_extent(tx.const(int(first), size.type) if first.constant is not None else first, size)


class IterVar(PrimExpr):
    """An iterator of a block: its variable, its domain and its kind (0 spatial, 2 reduction, 3 scan, 4 opaque).

    A thread iterator (1) needs no domain: its extent is set by the launch. In expressions it is its variable.
    """

    __slots__ = ("dom", "iter_type", "thread_tag", "var")
    DataPar = 0
    ThreadIndex = 1
    CommReduce = 2
    Ordered = 3
    Opaque = 4

    def __init__(
        self,
        dom: Range | Sequence[ExprLike] | None,
        var: PrimExpr | str,
        iter_type: int = DataPar,
        thread_tag: str = "",
        span: object = None,
    ):
        self.dom = dom if dom is None or isinstance(dom, Range) else Range(*dom)
        dtype = "int32" if self.dom is None else self.dom.extent.type
        self.var = variables.Var(var, dtype) if isinstance(var, str) else var
        self.iter_type, self.thread_tag = iter_type, thread_tag
        super().__init__(self.var.ssa)

    def script(self, **options: Any) -> str:
        """Return the iterator as TVMScript: `T.iter_var(i, T.Range(0, 8), "DataPar", "")`."""
        from ...script.printer.fragment import print_iterator

        domain = None if self.dom is None else (self.dom.min.ssa, self.dom.end.ssa)
        return print_iterator(self.var.ssa, domain, _ITER_NAMES[self.iter_type], self.thread_tag, **options)

    @property
    def domain(self) -> Range:
        """The domain of a block iterator. Raises `TiraxError` for a thread iterator without one."""
        if self.dom is None:
            raise TiraxError(f"the iterator '{self.var}' has no domain", hint="give it a range: IterVar((0, 4), …)")
        return self.dom


_ITER_NAMES = (
    "DataPar", "ThreadIndex", "CommReduce", "Ordered", "Opaque", "Unrolled", "Vectorized", "Parallelized", "Tensorized",
)  # fmt: skip
"""TVM's names of the kinds of iterators, by number."""

ITER_TYPES = {
    tir.IterKind.SPATIAL: IterVar.DataPar,
    tir.IterKind.REDUCE: IterVar.CommReduce,
    tir.IterKind.SCAN: IterVar.Ordered,
    tir.IterKind.OPAQUE: IterVar.Opaque,
}
ITER_KINDS = {number: kind for kind, number in ITER_TYPES.items()}
"""TVM's number of a kind of iterator -> the kind."""


@dataclass(frozen=True, eq=False)
class BufferRegion:
    """A region of a buffer: a range for each dimension."""

    buffer: Buffer
    region: Sequence[Range]

    def ends(self) -> tuple[list[SSAValue], list[SSAValue | None]]:
        """Return the starts and the ends of the ranges; None is the end of a single element."""
        ends = [None if r.extent == 1 else (r.min + r.extent).ssa for r in self.region]
        return [r.min.ssa for r in self.region], ends

    def script(self, **options: Any) -> str:
        """Return the region as TVMScript: `A[0:8, i]`; `verbose_expr=True` declares buffer and variables before."""
        from ...script.printer.fragment import print_region

        return print_region(self.buffer.ssa, *self.ends(), **options)

    def __str__(self) -> str:
        return self.script()


@dataclass(frozen=True, eq=False)
class MatchBufferRegion:
    """A buffer that is a view on a region of another one."""

    buffer: Buffer
    source: BufferRegion

    def script(self, **options: Any) -> str:
        """Return the view as TVMScript: `B = T.match_buffer(A[0:4], (4,))`, after declarations of what it uses."""
        from ...script.printer.fragment import print_view

        return print_view(self.buffer.ssa, self.source.buffer.ssa, *self.source.ends(), **options)

    def __str__(self) -> str:
        return self.script()


def domain_of(dom: Range | None) -> tuple[SymExpr, SymExpr]:
    """Return first value and extent. Raises `TiraxError` if there is no domain."""
    if dom is None:
        raise TiraxError("an iterator of a block has a domain")
    extent = as_sym(dom.extent)
    least = as_sym(dom.min)
    return (Const(least.constant, extent.dtype) if least.constant is not None else least), extent


def region_of(buffer: SSAValue, op: tir.RegionOp | tir.MatchBufferOp) -> BufferRegion:
    """Return the region of a buffer in an operation."""
    ranges = [Range.from_min_extent(expr_node(s), dim_node(e)) for s, e in zip(op.starts, op.extents, strict=True)]
    return BufferRegion(Buffer(buffer), ranges)
