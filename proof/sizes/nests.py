"""Tensor functions as stages: structured blocks with the loops and conditions around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.ir import Block, SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr, Var
from ...dialects.sym.operators import OPS, logical_not
from ...ir.affine.values import sym_expr_of
from ..terms import NotCoveredError
from .facts import within

_EXPRESSIONS = (*tir.EXPRESSION_OPS, ValueOp)
_REFUSED = (tir.MaskedLoadOp, tir.CallExternOp, tir.CallPackedOp, tir.CallOp)
_ALONE = frozenset((tir.ForKind.PARALLEL, tir.ForKind.VECTORIZED, tir.ForKind.THREAD_BINDING))
"""Kinds of loops whose iterations run at once."""


def index_of(value: SSAValue) -> SymExpr:
    """Return an index, as if it never overflowed; parameters are the sizes of their names."""
    e = sym_expr_of(value, through_casts=True)
    parameters = {v: Var(name, v.dtype) for v in e.free_vars() if (name := _parameter_name(v)) is not None}
    return e.substitute(parameters) if parameters else e


def _parameter_name(var: Var) -> str | None:
    owner = None if var.value is None else var.value.owner
    is_parameter = isinstance(owner, Block) and isinstance(owner.parent_op(), tir.FuncOp)
    return name_of(var.value) if is_parameter and var.value is not None else None


@dataclass(frozen=True)
class Loop:
    """A loop: its variable, its first value and its extent."""

    op: tir.ForOp
    var: Var
    first: SymExpr
    extent: SymExpr

    @property
    def conditions(self) -> list[SymExpr]:
        return within(self.var, self.first, self.extent)

    @property
    def is_at_once(self) -> bool:
        return self.op.kind in _ALONE


@dataclass(frozen=True)
class Read:
    """A load of a block, under conditions of its body."""

    buffer: SSAValue
    indices: tuple[SymExpr, ...]
    conditions: tuple[SymExpr, ...]


@dataclass(eq=False)
class Stage:
    """A block with one store. `path` has the numbers of the statements that lead to it, for their order."""

    block: tir.BlockOp
    loops: tuple[Loop, ...]
    guards: tuple[SymExpr, ...]
    path: tuple[int, ...]
    store: tir.StoreOp
    init: tir.StoreOp | None
    reads: list[Read] = field(default_factory=list[Read])

    @property
    def buffer(self) -> SSAValue:
        return self.store.buffer

    @cached_property
    def iters(self) -> list[Var]:
        return [Var(v, v.type) for v in self.block.iter_vars]  # pyright: ignore[reportArgumentType]

    @cached_property
    def bindings(self) -> dict[Var, SymExpr]:
        """The values of the iterators, in terms of loops."""
        return dict(zip(self.iters, map(index_of, self.block.bindings), strict=True))

    @cached_property
    def conditions(self) -> list[SymExpr]:
        """The conditions under which an iteration runs the block."""
        predicate = self.block.predicate
        own = [] if predicate is None else [index_of(predicate)]
        return [*(c for loop in self.loops for c in loop.conditions), *self.guards, *own]

    def of_kind(self, kind: tir.IterKind) -> list[Var]:
        return [v for v, k in zip(self.iters, self.block.kinds, strict=True) if k is kind]

    @property
    def spatial(self) -> list[Var]:
        return self.of_kind(tir.IterKind.SPATIAL)

    @property
    def reduced(self) -> list[Var]:
        return self.of_kind(tir.IterKind.REDUCE)

    @cached_property
    def domain(self) -> dict[Var, tuple[SymExpr, SymExpr]]:
        return dict(zip(self.iters, zip(self.block.mins, self.block.extents, strict=True), strict=True))

    def in_domain(self, values: Mapping[Var, SymExpr]) -> list[SymExpr]:
        return [c for v, e in values.items() for c in within(e, *self.domain[v])]

    @cached_property
    def places(self) -> list[SymExpr]:
        """The indices of the element that is written, in terms of iterators."""
        return [index_of(i) for i in self.store.indices]

    @property
    def updates(self) -> bool:
        """Whether the block reads the element that it writes."""
        return any(r.buffer is self.buffer for r in self.reads)

    def common(self, other: Stage) -> int:
        """Return the number of loops that are around both stages."""
        count = 0
        for a, b in zip(self.loops, other.loops, strict=False):
            if a.op is not b.op:
                break
            count += 1
        return count


@dataclass
class Program:
    """The stages of a function in order, and the sizes' conditions."""

    func: tir.FuncOp
    stages: list[Stage]

    @cached_property
    def writers(self) -> dict[SSAValue, list[Stage]]:
        out: dict[SSAValue, list[Stage]] = {}
        for stage in self.stages:
            out.setdefault(stage.buffer, []).append(stage)
        return out

    @cached_property
    def size_conditions(self) -> list[SymExpr]:
        """Extents of the parameters are not negative."""
        dims = [d for p in self.func.params if isinstance(p.type, tir.BufferType) for d in p.type.dims]
        return [OPS["ge"](d, Const(0)) for d in dict.fromkeys(dims) if d.constant is None]


def read_program(func: tir.FuncOp) -> Program:
    """Return the stages of a function. Raises `NotCoveredError` for what is no structured block in loops."""
    return Program(func, list(_stages(func.body.block, (), (), ())))


def _stages(
    block: Block, loops: tuple[Loop, ...], guards: tuple[SymExpr, ...], path: tuple[int, ...]
) -> Iterator[Stage]:
    for number, op in enumerate(block.ops):
        here = (*path, number)
        if isinstance(op, tir.ForOp):
            first, extent = (b if isinstance(b, SymExpr) else index_of(b) for b in (op.min, op.extent))
            loop = Loop(op, Var(op.loop_var, op.loop_var.type), first, extent)  # pyright: ignore[reportArgumentType]
            yield from _stages(op.body.block, (*loops, loop), guards, here)
        elif isinstance(op, tir.IfOp):
            condition = index_of(op.cond)
            sides = ((condition, op.then_region), (logical_not(condition), op.else_region))
            for side, (each, region) in enumerate(sides):
                if region.first_block is not None:
                    yield from _stages(region.block, loops, (*guards, each), (*here, side))
        elif isinstance(op, tir.BlockOp):
            yield _stage(op, loops, guards, here)
        elif not isinstance(op, (*_EXPRESSIONS, tir.AllocBufferOp)):
            raise NotCoveredError(f"{op.name} outside of a block")


def _stage(block: tir.BlockOp, loops: tuple[Loop, ...], guards: tuple[SymExpr, ...], path: tuple[int, ...]) -> Stage:
    stores, inits = list[tir.StoreOp](), list[tir.StoreOp]()
    for op in block.body.block.ops:
        if isinstance(op, tir.StoreOp):
            stores.append(op)
        elif isinstance(op, tir.InitOp):
            inits += _stores_of(op)
        elif not isinstance(op, (*_EXPRESSIONS, tir.ReadsOp, tir.WritesOp)):
            raise NotCoveredError(f"{op.name} in a block")
    if len(stores) != 1 or len(inits) > 1:
        raise NotCoveredError("a block that does not write one element")
    stage = Stage(block, loops, guards, path, stores[0], inits[0] if inits else None)
    if stage.init is not None and (
        stage.init.buffer is not stage.buffer or [index_of(i) for i in stage.init.indices] != stage.places
    ):
        raise NotCoveredError("an init of another element")
    stage.reads = list(_reads(block.body.block, ()))
    return stage


def _stores_of(init: tir.InitOp) -> list[tir.StoreOp]:
    stores = [op for op in init.body.block.ops if isinstance(op, tir.StoreOp)]
    if any(not isinstance(op, (*_EXPRESSIONS, tir.StoreOp)) for op in init.body.block.ops):
        raise NotCoveredError("statements in an init")
    return stores


def _reads(block: Block, conditions: tuple[SymExpr, ...]) -> Iterator[Read]:
    """Yield the loads of a body whose value is used in it, with the conditions of the branches around them."""
    for op in block.ops:
        if isinstance(op, tir.LoadOp):
            indices = tuple(map(index_of, op.indices))
            yield Read(op.buffer, indices, conditions)
        elif isinstance(op, tir.IfThenElseOp):
            condition = index_of(op.cond) if is_index(op.cond) else None
            for region, holds in ((op.then_region, True), (op.else_region, False)):
                own = () if condition is None else (condition if holds else logical_not(condition),)
                yield from _reads(region.block, (*conditions, *own))
        elif isinstance(op, tir.InitOp):
            yield from _reads(op.body.block, conditions)
        elif op.regions and isinstance(op, _EXPRESSIONS) or isinstance(op, _REFUSED):
            raise NotCoveredError(f"{op.name} in a block")


def is_index(value: SSAValue) -> bool:
    """Return whether a value is arithmetic on loops, iterators and sizes, not on data."""
    return all(_is_fixed(v) for v in index_of(value).free_vars())


def _is_fixed(var: Var) -> bool:
    owner = None if var.value is None else var.value.owner
    return owner is None or (
        isinstance(owner, Block) and isinstance(owner.parent_op(), tir.ForOp | tir.BlockOp | tir.FuncOp)
    )


def require_indices(exprs: Sequence[SymExpr]) -> None:
    """Raise `NotCoveredError` if indices or conditions depend on data."""
    if not all(_is_fixed(v) for e in exprs for v in e.free_vars()):
        raise NotCoveredError("data decide which elements are used")
