"""Detection of tensor functions that only reshape: they copy the elements of a buffer, in order, to another shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, permutations
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.quick import operations
from ...dialects.sym import ValueOp
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, Var, floordiv, floormod, product
from ..affine.values import sym_expr_of

_ORDERS = 24
"""The maximum number of loop orders to try: all of four loops."""
_EXPRESSIONS = (tir.ConstOp, tir.CastOp, ValueOp, *tir.BINARY.values())


def is_reshape(func: tir.FuncOp) -> bool:
    """Return whether `func` only copies its full first buffer into its last one, in order."""
    buffers = [cast(tir.BufferType, b.type) for b in func.buffer_params]
    return copies_in_order(func) and product(buffers[0].dims) == product(buffers[-1].dims)


def copies_in_order(func: tir.FuncOp) -> bool:
    """Return whether `func` only fills its last buffer with elements of its first, in row-major order.

    The first buffer may have more elements, which are ignored.
    """
    copy = _find_copy(func)
    if copy is None:
        return False
    source, target = copy.load.buffer.type, copy.store.buffer.type
    assert isinstance(source, tir.BufferType) and isinstance(target, tir.BufferType)
    if not (_is_dense(source) and _is_dense(target)) or source.dtype != target.dtype:
        return False
    if product(target.dims).constant == 0:  # an empty tensor has no order
        return True
    read, written = copy.indices(copy.load.indices), copy.indices(copy.store.indices)
    return copy.covers(target.dims) and copy.in_order(read, source.dims, _flat(written, target.dims))


@dataclass
class _Copy:
    """A load and a store in loops from 0; `ranges` are the extents of the loop variables."""

    load: tir.LoadOp
    store: tir.StoreOp
    ranges: dict[Var, SymExpr]
    bindings: dict[Var, SymExpr]
    analyzer: Analyzer

    def indices(self, values: Sequence[SSAValue]) -> list[SymExpr]:
        """Return indices as simplified expressions of the loop variables."""
        return [self.analyzer.simplify(e.substitute(self._single())) for e in self._as_written(values)]

    def _as_written(self, values: Sequence[SSAValue]) -> list[SymExpr]:
        return [sym_expr_of(v, through_casts=True).substitute(self.bindings) for v in values]

    def _single(self) -> dict[Var, SymExpr]:
        return {v: Const(0, v.dtype) for v, extent in self.ranges.items() if extent.constant == 1}

    def covers(self, dims: Sequence[SymExpr]) -> bool:
        """Return whether every element is written.

        Each index is a loop variable, or all together count the iterations, with the loops in any order.
        """
        written, single = self.indices(self.store.indices), self._single()
        pairs = [(e, d) for e, d in zip(written, dims, strict=True) if d.constant != 1]
        loops = {v: extent for v, extent in self.ranges.items() if v not in single}
        if len(pairs) == len(loops) and {e for e, _ in pairs} == set(loops):
            return all(isinstance(e, Var) and loops[e] == d for e, d in pairs)
        if product(loops.values()) != product(dims):
            return False
        counts = [_flat(order, [loops[v] for v in order]) for order in islice(permutations(loops), _ORDERS)]
        return self.same(_flat(written, dims), counts[0]) or any(self._count(written, dims, c) for c in counts)

    def _count(self, written: list[SymExpr], dims: Sequence[SymExpr], position: SymExpr) -> bool:
        """Return whether the indices are those of the element at a linear `position`."""
        forms = zip(written, _unflattened(position, dims), _cut(position, dims), strict=True)
        return all(self.same(e, digit) or self.same(e, cut) for e, digit, cut in forms)

    def in_order(self, read: list[SymExpr], dims: Sequence[SymExpr], position: SymExpr) -> bool:
        """Return whether the element at the linear `position` is the one that is read.

        The position is in bounds, so the outermost index may be taken modulo its extent.
        """
        if self.same(_flat(read, dims), position):
            return True
        expected = _unflattened(position, dims)
        if not all(self.same(e, w) for e, w in zip(read[1:], expected[1:], strict=True)):
            return False
        return not read or self.same(read[0], expected[0]) or self.same(read[0], floormod(expected[0], dims[0]))

    def same(self, a: SymExpr, b: SymExpr) -> bool:
        """Return whether two expressions are equal in all iterations."""
        return self.analyzer.simplify(a - b).constant == 0 or self.analyzer.simplify(a) == self.analyzer.simplify(b)


def _find_copy(func: tir.FuncOp) -> _Copy | None:
    """Return the load and the store if the function has no other significant operations, else None."""
    inside = operations(func)[1:]
    loads = [op for op in inside if isinstance(op, tir.LoadOp)]
    stores = [op for op in inside if isinstance(op, tir.StoreOp)]
    if len(loads) != 1 or len(stores) != 1 or stores[0].value is not loads[0].result:
        return None
    buffers = func.buffer_params
    if len(buffers) < 2 or loads[0].buffer is not buffers[0] or stores[0].buffer is not buffers[-1]:
        return None
    copy = _Copy(loads[0], stores[0], {}, _scalar_params(func), Analyzer())
    return copy if all(_is_accounted_for(op, copy) for op in inside) else None


def _scalar_params(func: tir.FuncOp) -> dict[Var, SymExpr]:
    """Map the symbolic variables to the scalar parameters of the same names."""
    return {_variable(p): Var(name_of(p) or "", p.type) for p in func.params if isinstance(p.type, IntegerType)}


def _is_accounted_for(op: Operation, copy: _Copy) -> bool:
    """Return whether an op is part of a copy; loops and blocks are."""
    if isinstance(op, tir.ForOp):
        return _add_loop(op, copy.ranges, copy.analyzer)
    if isinstance(op, tir.BlockOp):
        return _add_block(op, copy.bindings)
    return isinstance(op, (*_EXPRESSIONS, tir.LoadOp, tir.StoreOp, tir.ReadsOp, tir.WritesOp))


def _add_loop(op: tir.ForOp, ranges: dict[Var, SymExpr], analyzer: Analyzer) -> bool:
    if not isinstance(op.min, SymExpr) or op.min.constant != 0 or not isinstance(op.extent, SymExpr):
        return False
    variable = _variable(op.loop_var)
    ranges[variable] = op.extent
    analyzer.bind_range(variable, Const(0, variable.dtype), op.extent)
    return True


def _add_block(op: tir.BlockOp, bindings: dict[Var, SymExpr]) -> bool:
    spatial = all(kind is tir.IterKind.SPATIAL for kind in op.kinds)
    if not spatial or op.predicate is not None or any(m.constant != 0 for m in op.mins):
        return False
    for variable, binding in zip(op.iter_vars, op.bindings, strict=True):
        bindings[_variable(variable)] = sym_expr_of(binding, through_casts=True).substitute(bindings)
    return True


def _variable(value: SSAValue) -> Var:
    variable = sym_expr_of(value)
    assert isinstance(variable, Var)
    return variable


def _is_dense(t: tir.BufferType) -> bool:
    offset = t.elem_offset
    return t.explicit_strides is None and (offset is None or offset.constant == 0)


def _flat(indices: Sequence[SymExpr], dims: Sequence[SymExpr]) -> SymExpr:
    """Return the row-major position of an element."""
    position: SymExpr = Const(0)
    for index, d in zip(indices, dims, strict=True):
        position = position * d + index
    return position


def _unflattened(position: SymExpr, dims: Sequence[SymExpr]) -> list[SymExpr]:
    """Return the indices of the element at a row-major position."""
    out: list[SymExpr] = []
    for i, d in enumerate(dims):
        outer = floordiv(position, product(dims[i + 1 :]))
        out.append(outer if i == 0 else floormod(outer, d))
    return out


def _cut(position: SymExpr, dims: Sequence[SymExpr]) -> list[SymExpr]:
    """Return the same indices in the form `position // a % b` instead of `position % c // a`."""
    sizes = [product(dims[i:]) for i in range(len(dims) + 1)]
    return [floordiv(floormod(position, outer), inner) for outer, inner in pairwise(sizes)]
