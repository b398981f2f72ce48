"""What a function computes, as terms: the element of an output at symbolic indices, down to elements of the inputs.

A term is a tuple; indices in it are symbolic expressions. Buffers in between are replaced by what defines their
elements, so that copies and inlined stages disappear; a reduction is a term over variables of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects import tir
from ...dialects.sym.expr import SymExpr, Var
from ...ir.affine.iter_map import IterMapLevel, NotAffineError, detect_iter_map
from ..terms import NotCoveredError
from .facts import Facts, compared
from .nests import Program, Stage, index_of, is_index

Term = tuple[Any, ...]
Indices = tuple[SymExpr, ...]
_MOST_TERMS = 4000
_COMBINERS = ("tir.add", "tir.mul", "tir.max", "tir.min")


class Definitions:
    """The terms of a function's elements."""

    def __init__(self, program: Program, facts: Facts):
        self.program = program
        self.facts = facts
        self.reduces = False
        """Whether a term has a reduction of floats, whose order the loops decide."""
        self._memo: dict[tuple[SSAValue, Indices], Term] = {}

    def element(self, buffer: SSAValue, at: Indices, depth: int = 0) -> Term:
        """Return the term of an element. Raises `NotCoveredError`."""
        key = buffer, at
        known = self._memo.get(key)
        if known is None:
            if len(self._memo) > _MOST_TERMS:
                raise NotCoveredError("too many elements are used")
            known = self._memo[key] = self._element(buffer, at, depth)
        return known

    def _element(self, buffer: SSAValue, at: Indices, depth: int) -> Term:
        writers = self.program.writers.get(buffer, [])
        if not writers:
            if not isinstance(buffer, BlockArgument):
                raise NotCoveredError("a buffer that nothing writes is read")
            return ("input", buffer.index, at)
        first, update = parts_of(writers)
        if update is None:
            return self._value(first.store.value, first, self.iterators(first, at), depth)
        inner = depth + 1
        env = self.iterators(update, at)
        ranges = list[Indices]()
        for number, var in enumerate(update.reduced):
            low, extent = (e.substitute(env) for e in update.domain[var])
            ranges.append((low, extent))
            env = {**env, var: Var(f"reduced {depth} {number}", var.dtype)}
        kind, body = combination(update)
        self.reduces |= not isinstance(update.store.value.type, IntegerType)
        term = self._value(body, update, env, inner)
        if update.init is not None:
            start = self._value(update.init.value, update, env, inner)
        else:
            start = self._value(first.store.value, first, self.iterators(first, at), inner)
        return ("reduce", kind, start, tuple(ranges), term)

    def iterators(self, stage: Stage, at: Sequence[SymExpr]) -> dict[Var, SymExpr]:
        """Return the spatial iterators that write an element. Raises `NotCoveredError`."""
        dims = stage.buffer.type.dims  # pyright: ignore[reportAttributeAccessIssue]
        values = _plain(stage, at, dims)
        if values is None:
            values = self._inverse(stage, at)
        for var in stage.spatial:
            low, extent = stage.domain[var]
            if var not in values:
                if extent.constant != 1:
                    raise NotCoveredError("iterations write the same element")
                values[var] = low
        return values

    def _inverse(self, stage: Stage, at: Sequence[SymExpr]) -> dict[Var, SymExpr]:
        ranges = {v: stage.domain[v] for v in stage.spatial}
        try:
            found = detect_iter_map(stage.places, ranges, (), IterMapLevel.BIJECTIVE)
        except NotAffineError as error:
            raise NotCoveredError("the element that a block writes is not affine") from error
        return dict(found.inverse(at))

    def _value(self, value: SSAValue, stage: Stage, env: Mapping[Var, SymExpr], depth: int) -> Term:
        if isinstance(value.type, IntegerType) and is_index(value):
            return ("index", self._simplified(index_of(value), env), value.type)
        op = value.owner
        if not isinstance(op, Operation):
            raise NotCoveredError("a value that is no expression")
        if isinstance(op, tir.LoadOp):
            return self.element(op.buffer, tuple(self._simplified(index_of(i), env) for i in op.indices), depth)
        if isinstance(op, tir.IfThenElseOp):
            sides = (self._value(_yielded(r), stage, env, depth) for r in (op.then_region, op.else_region))
            return ("if", self._value(op.cond, stage, env, depth), *sides)
        if op.regions or isinstance(op, tir.CallExternOp | tir.CallPackedOp | tir.CallOp | tir.MaskedLoadOp):
            raise NotCoveredError(f"{op.name} in a block")
        operands = tuple(self._value(v, stage, env, depth) for v in op.operands)
        kept = tuple(sorted((k, v) for k, v in op.properties.items() if k != "operandSegmentSizes"))
        return (op.name, kept, value.type, *operands)

    def _simplified(self, e: SymExpr, env: Mapping[Var, SymExpr]) -> SymExpr:
        replaced = e.substitute(env)
        for var in replaced.free_vars():
            if var.value is not None:
                raise NotCoveredError("an index by a loop, not by an iterator")
        return self.facts.analyzer.simplify(replaced)


def _plain(stage: Stage, at: Sequence[SymExpr], dims: Sequence[SymExpr]) -> dict[Var, SymExpr] | None:
    """Return the iterators if each index is one of its own, or the only one of its dimension."""
    values = dict[Var, SymExpr]()
    for place, index, dim in zip(stage.places, at, dims, strict=True):
        if isinstance(place, Var) and place in stage.spatial and place not in values:
            values[place] = index
        elif not (place.constant == 0 and dim.constant == 1):
            return None
    return values


def _yielded(region: Any) -> SSAValue:
    return region.block.last_op.value


def parts_of(writers: Sequence[Stage]) -> tuple[Stage, Stage | None]:
    """Return the stage that defines a buffer, or the ones that start and update it. Raises `NotCoveredError`."""
    if len(writers) == 1:
        (one,) = writers
        if not one.updates:
            return one, None
        if one.init is not None:
            return one, one
    if len(writers) == 2 and not writers[0].updates and writers[1].updates and writers[1].init is None:
        return writers[0], writers[1]
    raise NotCoveredError("several blocks write a buffer")


def combination(stage: Stage) -> tuple[str, SSAValue]:
    """Return the operation of a reduction and what it adds. Raises `NotCoveredError`."""
    op = stage.store.value.owner
    if isinstance(op, Operation) and op.name in _COMBINERS and len(op.operands) == 2:
        for own, other in (op.operands, op.operands[::-1]):
            if _is_own(own, stage) and not _loads_own(other, stage):
                return op.name, other
    raise NotCoveredError("a reduction of another form")


def _is_own(value: SSAValue, stage: Stage) -> bool:
    op = value.owner
    return (
        isinstance(op, tir.LoadOp) and op.buffer is stage.buffer and [index_of(i) for i in op.indices] == stage.places
    )


def _loads_own(value: SSAValue, stage: Stage) -> bool:
    owner = value.owner
    if not isinstance(owner, Operation):
        return False
    inside = [v for inner in owner.walk() for v in inner.operands]
    return any(isinstance(v.owner, tir.LoadOp) and v.owner.buffer is stage.buffer for v in inside) or any(
        _loads_own(v, stage) for v in owner.operands
    )


def written_back(stage: Stage, values: Mapping[Var, SymExpr], at: Sequence[SymExpr]) -> list[SymExpr]:
    """Return the conditions under which iterators write an element: in the domain, and at its indices."""
    same = [compared("eq", p.substitute(values), i) for p, i in zip(stage.places, at, strict=True)]
    return [*stage.in_domain({v: values[v] for v in stage.spatial}), *same]
