"""`tvm-flatten-buffer`: TVM's `tir.transform.FlattenBuffer`, which keeps memory and its flat views separate.

The pass of the pipeline is `flatten-buffer`; here declarations of buffers become views without a declaration, groups of
axes between separators stay separate, and the regions of blocks are flattened, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, VectorType, i1, i8
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....dialects.relax.types import dims_attr
from ....dialects.sym.analyzer import Analyzer as SymAnalyzer
from ....dialects.sym.expr import Const, Op, Product, SymExpr, Var, floormod, product, terms_of
from ....dialects.tir import BufferType
from ....handles.tir.domains import Range
from ....handles.tir.prim_expr import PrimExpr, as_sym, const, from_sym, logical_and
from ....ir.affine.iter_map import IterMapLevel, quotient
from ....ir.affine.values import sym_expr_of
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import clone_expr
from ....transforms.tir.walk import functions, remove_dead
from ...handles.arith.analyzer import Analyzer
from ...handles.iter_map import iter_map_simplify
from .rebuilt import rebuild
from .with_analyzer import AnalyzingCopier


@dataclass(frozen=True)
class FlattenBuffer(Pass):
    """Make the memory of each group of axes one-dimensional; views of parameters are at the head.

    Booleans are stored as int8. Raises `UnsupportedError` for buffers that blocks match.
    """

    name = "tvm-flatten-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            rebuild(func, _Flattener())
            remove_dead(func)


def flat_type(t: BufferType) -> BufferType:
    """Return the type of a flat buffer: an axis for each group between separators; booleans are int8."""
    cuts = [0, *(s.data for s in t.separators), t.rank]
    runs = list(zip(cuts, cuts[1:], strict=False))
    strides = t.explicit_strides
    if strides is None:
        shape = [product(t.dims[a:b]) for a, b in runs]
    else:
        shape = [strides[a] * t.dims[a] for a, _ in runs]
    flat = (
        t
        if len(runs) == t.rank and strides is None
        else t.replaced(shape=dims_attr(shape), strides=t.with_shape([]).strides).with_separators(range(1, len(runs)))
    )
    return flat.replaced(dtype=i8) if t.dtype == i1 else flat


class _Flattener(AnalyzingCopier):
    """Copies a function; `views` are the flat buffers by the buffers that they replace."""

    def __init__(self) -> None:
        super().__init__()
        self.views: dict[SSAValue, SSAValue] = {}
        self.head: Block | None = None
        self.named: dict[Var, SymExpr] = {}

    # Memory

    def statement(self, op: Operation, block: Block, mapping: dict[SSAValue, SSAValue]) -> None:
        if self.head is None:
            self.head = block
            scalars = [(a, a.type) for a in block.args if isinstance(a.type, IntegerType)]
            self.named = {Var(name_of(a) or "", t): Var(a, t) for a, t in scalars}
        if isinstance(op, tir.MatchBufferOp):
            hint = "run lower-match-buffer before"
            raise UnsupportedError("Unexpected MatchBufferRegion found", location=location_of(op), hint=hint)
        if isinstance(op, tir.AllocBufferOp | tir.AllocateOp | tir.DeclBufferOp):
            self._memory(op, block, mapping)
        elif isinstance(op, tir.RegionOp):
            self._region(op, block, mapping)
        elif isinstance(op, tir.StoreOp):
            self._store(op, block, mapping)
        else:
            super().statement(op, block, mapping)

    def _memory(
        self,
        op: tir.AllocBufferOp | tir.AllocateOp | tir.DeclBufferOp,
        block: Block,
        mapping: dict[SSAValue, SSAValue],
    ) -> None:
        if isinstance(op, tir.DeclBufferOp):
            self._view(op.result, self.value(op.data, block, mapping), block)
        elif isinstance(op, tir.AllocateOp):
            dtype = i8 if op.dtype == i1 else op.dtype
            memory = tir.AllocateOp(_extents(op), dtype, op.scope.data, annotations=op.annotations)
            self._add(memory, op.result, block)
            mapping[op.result] = memory.result
        elif op.declared:
            flat = flat_type(op.result.type)
            block.add_op(memory := tir.AllocateOp(flat.dims, flat.dtype, flat.scope.data))
            set_name(memory.result, name_of(op.result))
            self._view(op.result, memory.result, block)
        else:
            new = tir.AllocBufferOp(flat_type(op.result.type))
            self._add(new, op.result, block)
            self.views[op.result] = mapping[op.result] = new.result

    @staticmethod
    def _add(new: Operation, old: SSAValue, block: Block) -> None:
        set_name(new.results[0], name_of(old))
        block.add_op(new)

    def _view(self, buffer: SSAValue, data: SSAValue, block: Block) -> SSAValue:
        view = tir.DeclBufferOp(data, flat_type(cast(BufferType, buffer.type)), alias=True)
        self._add(view, buffer, block)
        self.views[buffer] = view.result
        return view.result

    def _flat(self, buffer: SSAValue, mapping: dict[SSAValue, SSAValue]) -> SSAValue:
        """Return the flat buffer; that of a parameter is declared at the head when it is used first."""
        known = self.views.get(buffer)
        if known is not None:
            return known
        kept, t = mapping.get(buffer, buffer), cast(BufferType, buffer.type)
        if not isinstance(buffer, BlockArgument) or flat_type(t) == t:
            self.views[buffer] = kept
            return kept
        place = Block()
        place.add_op(data := tir.BufferDataOp(kept))
        view = self._view(buffer, data.result, place)
        assert self.head is not None
        first = self.head.first_op
        for op in list(place.ops):
            op.detach()
            if first is None:
                self.head.add_op(op)
            else:
                self.head.insert_op_before(op, first)
        return view

    # Accesses

    def value(self, value: SSAValue, block: Block | None, mapping: dict[SSAValue, SSAValue]) -> SSAValue:
        op = value.owner
        if value not in mapping and isinstance(op, tir.BufferDataOp) and op.buffer in self.views:
            view = self.views[op.buffer].owner
            if isinstance(view, tir.DeclBufferOp):
                return view.data
        if value in mapping or not isinstance(op, tir.LoadOp):
            return super().value(value, block, mapping)
        place = Block() if block is None else block
        indices = self._indices(op.buffer, list(op.indices), place, mapping)
        place.add_op(load := tir.LoadOp(self._flat(op.buffer, mapping), indices))
        new = load.result
        if op.result.type == i1:
            place.add_op(truth := tir.CastOp(new, i1))
            new = truth.result
        mapping[value] = new
        return new

    def _store(self, op: tir.StoreOp, block: Block, mapping: dict[SSAValue, SSAValue]) -> None:
        value = self.value(op.value, block, mapping)
        indices = self._indices(op.buffer, list(op.indices), block, mapping)
        if value.type == i1:
            block.add_op(number := tir.CastOp(value, i8))
            value = number.result
        block.add_op(tir.StoreOp(value, self._flat(op.buffer, mapping), indices))

    def _indices(
        self, buffer: SSAValue, indices: Sequence[SSAValue], block: Block, mapping: dict[SSAValue, SSAValue]
    ) -> list[SSAValue]:
        copies = [PrimExpr(self.value(i, block, mapping)) for i in indices]
        return [clone_expr(e.ssa, block, {}) for e in self._offsets(cast(BufferType, buffer.type), copies)]

    def _offsets(self, t: BufferType, indices: Sequence[PrimExpr]) -> list[PrimExpr]:
        """Return the index along each group of axes, simplified for the values of the loop variables."""
        offsets = element_offsets(t, indices, self.named)
        if any(isinstance(e.type, VectorType) for e in offsets):
            return [Analyzer().simplify(e) for e in offsets]
        offsets = [_merged(Analyzer().simplify(e)) for e in offsets]
        predicate = const(True)
        for condition in map(self._over_parameters, self.predicates):
            predicate = condition if predicate.constant else logical_and(predicate, condition)
        for condition in (predicate, const(True)) if self.predicates else (predicate,):
            simplified = iter_map_simplify(offsets, self._domains(), condition, IterMapLevel.SURJECTIVE)
            if any(str(a) != str(b) for a, b in zip(simplified, offsets, strict=True)):
                return [self.analyzer.simplify(e) for e in simplified]
        return offsets

    def _over_parameters(self, e: PrimExpr) -> PrimExpr:
        """Return an expression in which symbols are the parameters that the indices use."""
        return from_sym(as_sym(e).substitute(self.named)) if self.named else e

    def _domains(self) -> dict[PrimExpr, Range]:
        """Return the domains of the loops over the parameters."""
        ends = {v: (self._over_parameters(r.min), self._over_parameters(r.extent)) for v, r in self.iterators.items()}
        return {v: Range.from_min_extent(*end) for v, end in ends.items()}

    def _region(self, op: tir.RegionOp, block: Block, mapping: dict[SSAValue, SSAValue]) -> None:
        flat, t = self._flat(op.buffer, mapping), cast(BufferType, op.buffer.type)
        if flat.type == t:
            super().statement(op, block, mapping)
            return
        lows = [PrimExpr(self.value(s, block, mapping)) for s in op.starts]
        highs = [low + from_sym(extent) - 1 for low, extent in zip(lows, op.extents, strict=True)]
        firsts, lasts = self._offsets(t, lows), self._offsets(t, highs)
        starts = [clone_expr(e.ssa, block, {}) for e in firsts]
        extents = [sym_expr_of(self.analyzer.simplify(b + 1 - a).ssa) for a, b in zip(firsts, lasts, strict=True)]
        block.add_op(type(op)(flat, starts, extents))


def element_offsets(t: BufferType, indices: Sequence[PrimExpr], named: dict[Var, SymExpr]) -> list[PrimExpr]:
    """Return the offset along each group of axes, as TVM writes it; `named` are the values of symbolic variables."""
    cuts = {s.data for s in t.separators}
    strides = t.explicit_strides
    totals: list[PrimExpr | None] = [None]
    for axis, index in enumerate(indices):
        if axis in cuts:
            totals.append(None)
        before = totals[-1]
        if strides is not None:
            part = index * from_sym(strides[axis].substitute(named))
            totals[-1] = part if before is None else before + part
        else:
            totals[-1] = index if before is None else before * from_sym(t.dims[axis].substitute(named)) + index
    offsets = [const(0, "int32") if e is None else e for e in totals]
    if t.elem_offset is not None and t.elem_offset.constant != 0:
        offsets[0] = offsets[0] + from_sym(t.elem_offset.substitute(named))
    return offsets


def _merged(offset: PrimExpr) -> PrimExpr:
    """Return a sum with the quotients and remainders of one number recombined: `x // n * n + x % n` is `x`."""
    total = known = sym_expr_of(offset.ssa)
    while (shorter := _recombined(known)) is not None:
        known = shorter
    return offset if known is total else from_sym(known)


def _recombined(total: SymExpr) -> SymExpr | None:
    parts = [(_factors(term), factor) for term, factor in terms_of(total)]
    for (atoms, factor), (others, other) in permutations(parts, 2):
        for divided, rest in _taken(atoms, "floordiv"):
            number, divisor = divided.args
            for remainder, outer in _taken(others, "floormod"):
                around = product([*outer, Const(other)])
                fits = remainder.args[1] == divisor and product([*rest, Const(factor)]) == around * divisor
                if fits and _remainder(number, divisor) == remainder:
                    return total - product([*atoms, Const(factor)]) - product([*others, Const(other)]) + number * around
    return None


def _remainder(number: SymExpr, divisor: SymExpr) -> SymExpr:
    """Return `number % divisor`; that of a remainder by a multiple of the divisor is that of its number."""
    while isinstance(number, Op) and number.kind == "floormod" and quotient(number.args[1], divisor) is not None:
        number = number.args[0]
    return SymAnalyzer().simplify(floormod(number, divisor))


def _factors(term: SymExpr) -> list[SymExpr]:
    return list(term.atoms) if isinstance(term, Product) else [term]


def _taken(atoms: list[SymExpr], kind: str) -> list[tuple[Op, list[SymExpr]]]:
    """Return each operation of a kind among the factors, with the other factors."""
    return [(a, atoms[:k] + atoms[k + 1 :]) for k, a in enumerate(atoms) if isinstance(a, Op) and a.kind == kind]


def _extents(op: tir.AllocateOp) -> list[SymExpr]:
    """Return the extents of flat memory: those of the buffer declared in it next, if it is the same, else one."""
    if len(op.extents) == 1:
        return op.extents
    declared = op.next_op
    if isinstance(declared, tir.DeclBufferOp) and not declared.alias and declared.data is op.result:
        t = declared.result.type
        if t.dtype == op.dtype and list(t.dims) == op.extents:
            return list(flat_type(t).dims)
    return [product(op.extents)]


__all__ = ["FlattenBuffer", "element_offsets", "flat_type"]
