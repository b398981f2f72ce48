"""What the parser of prim_funcs keeps of blocks and loops, and the last touches to a function."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerType, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.sym import ValueOp
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import SymExpr, Var, maximum
from ...dialects.sym.int_set import SymInterval, values_of
from ...dialects.tir import ForKind, IterKind
from ...ir.affine.values import sym_expr_of
from .source import Source

Bound = SymExpr | SSAValue


@dataclass
class BlockFrame:
    """A `with T.block(…)` that is being read. Bindings and the predicate are computed outside of its body."""

    outer: Block
    root: bool = False
    iters: list[tuple[IterKind, SSAValue, tuple[SymExpr, SymExpr]]] = field(
        default_factory=list[tuple[IterKind, SSAValue, tuple[SymExpr, SymExpr]]]
    )
    predicate: SSAValue | None = None
    annotations: DictionaryAttr | None = None
    noted: list[SSAValue] = field(default_factory=list[SSAValue])
    """The buffers that the annotations name."""
    given: set[str] = field(default_factory=set[str])
    """Which of reads, writes and where the script has."""


@dataclass(frozen=True)
class Loop:
    """A loop before its body is read."""

    least: Bound
    extent: Bound
    kind: ForKind = ForKind.SERIAL
    thread: str | None = None
    annotations: DictionaryAttr | None = None


def check_plain_parameters(source: Source, arguments: ast.arguments) -> None:
    """Refuse parameters that are not plain ones."""
    other = [*arguments.posonlyargs, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg, *arguments.defaults]
    odd = next((a for a in other if a is not None), None)
    if odd is not None:
        raise source.error(odd, "a function of TVMScript has plain parameters only, without defaults")


def without_symbol(attrs: DictionaryAttr | None, name: str) -> DictionaryAttr | None:
    """The attributes without the name of the function, which it has anyway."""
    if attrs is None or attrs.data.get("global_symbol") != StringAttr(name):
        return attrs
    kept = {k: v for k, v in attrs.data.items() if k != "global_symbol"}
    return DictionaryAttr(kept) if kept else None


_EFFECTS = (tir.CallExternOp, tir.CallPackedOp, tir.CallOp, tir.CallLLVMEffectOp, tir.DeviceCallOp, tir.YieldOp)
_ERASABLE = tuple(op for op in tir.EXPRESSION_OPS if op not in _EFFECTS)


def erase_unused(block: Block) -> None:
    """Erase expressions that nothing uses (the ends of slices, say)."""
    for op in reversed(list(block.walk())):
        if isinstance(op, (*_ERASABLE, ValueOp)) and not any(r.uses for r in op.results):
            _erase(op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def constant_domain(
    least: Bound, extent: Bound, loops: Mapping[SSAValue, tuple[Bound, Bound]]
) -> tuple[SymExpr, SymExpr] | None:
    """The first value and the extent of the domain of a loop, of constants and symbolic sizes.

    Where they depend on loops around it (triangular nests) they are those of the least interval that holds all values,
    a domain that the loop does not fill. None where they depend on what is loaded.
    """
    if isinstance(least, SymExpr) and isinstance(extent, SymExpr):
        return least, extent
    around: dict[Var, SymInterval] = {}
    for value, (low, count) in loops.items():
        first = _as_expr(low)
        around[Var(value, cast(IntegerType, value.type))] = SymInterval(first, first + _as_expr(count) - 1)
    first = _as_expr(least)
    low, high = values_of(first, around).low, values_of(first + _as_expr(extent) - 1, around).high
    if low is None or high is None or any(v.value is not None for end in (low, high) for v in end.free_vars()):
        return None
    return low, Analyzer().simplify(maximum(high - low + 1, 0))


def _as_expr(bound: Bound) -> SymExpr:
    return bound if isinstance(bound, SymExpr) else sym_expr_of(bound)
