"""Classification of tensor functions by their blocks (TVM's operator pattern kinds).

`annotate-tir-op-pattern` stores the kind on every tensor function, for `fuse-ops`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ...dialects import tir
from ...dialects.quick import operations
from ...ir.affine.values import is_fixed
from ...ir.passes.transform import Pass

ATTRIBUTE = "op_pattern"
"""The function attribute that holds the kind."""


class OpPattern(IntEnum):
    """Kinds of operators, from the easiest to the hardest to fuse."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


def declared_pattern(func: tir.FuncOp) -> int | None:
    """Return the kind in the function's attribute, or None."""
    attr = func.func_attrs.data.get(ATTRIBUTE) if func.func_attrs is not None else None
    return attr.value.data if isinstance(attr, IntegerAttr) else None


def find_pattern(func: tir.FuncOp) -> OpPattern:
    """Return the kind of `func`: the maximum of its blocks, or 4 for a reduction before an injective output block."""
    if any(type(op) in _OPAQUE_OPS or (type(op) is tir.StoreOp and not _in_block(op)) for op in operations(func)):
        return OpPattern.OPAQUE
    blocks = [op for op in operations(func) if type(op) is tir.BlockOp]
    if not blocks or any(_in_block(b) for b in blocks):
        return OpPattern.OPAQUE
    params = set(func.params)
    variables = _Variables()
    kind = OpPattern.ELEMWISE
    for block in blocks:
        pattern = _BlockPattern(block, variables).find()
        outputs = any(w.buffer in params for w in block.writes)
        if pattern <= OpPattern.INJECTIVE and kind == OpPattern.COMM_REDUCE and outputs:
            kind = OpPattern.OUT_ELEMWISE_FUSABLE  # reduce, then injective: softmax, mean
        else:
            kind = max(kind, pattern)
    return kind


_OPAQUE_OPS = frozenset[type[Operation]](
    (
        tir.EvaluateOp,
        tir.CallPackedOp,
        tir.BufferDataOp,
        tir.DeclBufferOp,
        tir.MatchBufferOp,
        tir.WhileOp,
        tir.AttrOp,
        tir.LaunchThreadOp,
        tir.DeviceCallOp,
        tir.AssertOp,
        tir.ReturnOp,
    )
)
"""Operations that access memory in ways not visible in the indices of loads and stores."""


def _in_block(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, tir.BlockOp):
        parent = parent.parent_op()
    return parent is not None


class _Variables:
    """The variables (iterators, loop variables, loaded elements) that an index depends on, except sizes."""

    def __init__(self) -> None:
        self._memo: dict[SSAValue, frozenset[SSAValue]] = {}

    def __call__(self, value: SSAValue) -> frozenset[SSAValue]:
        variables = self._memo.get(value)
        if variables is None:
            variables = self._memo[value] = self._find(value)
        return variables

    def _find(self, value: SSAValue) -> frozenset[SSAValue]:
        if is_fixed(value):
            return frozenset()
        if not isinstance(value, OpResult) or isinstance(value.op, tir.LoadOp | tir.LetOp) or not value.op.operands:
            return frozenset((value,))
        inner = [op for region in value.op.regions for op in region.walk()]
        operands = [o for op in (value.op, *inner) for o in op.operands]
        return frozenset[SSAValue]().union(*(self(o) for o in operands if o.owner not in inner))


class _BlockPattern:
    """Classification of one block by its loads and its last store."""

    def __init__(self, block: tir.BlockOp, variables: _Variables):
        self.block = block
        self.variables = variables
        self.loads: list[tir.LoadOp] = []
        self.store: tir.StoreOp | None = None
        self._collect(block.body.block)

    def _collect(self, body: Block) -> None:
        for op in body.ops:
            if isinstance(op, tir.LoadOp):
                self.loads.append(op)
            elif isinstance(op, tir.StoreOp):
                self.store = op
            elif not isinstance(op, tir.InitOp):
                for region in op.regions:
                    for inner in region.blocks:
                        self._collect(inner)

    def find(self) -> OpPattern:
        if self.store is None:
            return OpPattern.OPAQUE
        kinds = [self._pair(self.store, load) for load in self.loads]
        kind = max(kinds, default=OpPattern.ELEMWISE)
        if kind == OpPattern.OPAQUE:
            return self._reduction(self.store)
        if kind == OpPattern.BROADCAST and OpPattern.ELEMWISE in kinds:
            return OpPattern.ELEMWISE  # C[i, j] = A[i, j] + b[j]
        return kind

    def _plain(self, index: SSAValue) -> bool:
        return isinstance(index, BlockArgument) and index.block is self.block.body.block

    def _pair(self, store: tir.StoreOp, load: tir.LoadOp) -> OpPattern:
        """Return the kind that relates the indices of a load to those of the store."""
        if not all(self._plain(i) for i in store.indices):
            return OpPattern.OPAQUE
        if list(store.indices) == list(load.indices):
            return OpPattern.ELEMWISE
        if self._is_broadcast(store.indices, load):
            return OpPattern.BROADCAST
        stored = set(store.indices)
        if all(self.variables(i) <= stored for i in load.indices):
            return OpPattern.INJECTIVE
        return OpPattern.OPAQUE

    @staticmethod
    def _is_broadcast(stored: Sequence[SSAValue], load: tir.LoadOp) -> bool:
        """Return whether the load's indices are a subsequence of the stored ones; extents of 1 are ignored."""
        buffer_type = load.buffer.type
        assert isinstance(buffer_type, tir.BufferType)
        j = 0
        for index, extent in zip(load.indices, buffer_type.dims, strict=True):
            if extent.constant == 1 and _is_zero(index):
                continue
            while j < len(stored) and stored[j] is not index:
                j += 1
            if j == len(stored):
                return False
        return True

    def _reduction(self, store: tir.StoreOp) -> OpPattern:
        kinds = zip(self.block.iter_vars, self.block.kinds, strict=True)
        reduced = {v for v, kind in kinds if kind is tir.IterKind.REDUCE}
        if not reduced:
            return OpPattern.OPAQUE
        indices = [i for load in self.loads for i in load.indices]
        pure = all(self._plain(i) or not self.variables(i) & reduced for i in indices)
        if not pure or self._is_product_sum(store):
            return OpPattern.OUT_ELEMWISE_FUSABLE  # pooling; matmul
        return OpPattern.COMM_REDUCE

    def _is_product_sum(self, store: tir.StoreOp) -> bool:
        """Return whether the block is `C[…] = C[…] + A[…] * B[…]`, with an iterator in A only, and one in B only."""
        total = _uncast(store.value)
        if not isinstance(total, tir.AddOp):
            return False
        old, product = _uncast(total.operands[0]), _uncast(total.operands[1])
        if not (isinstance(old, tir.LoadOp) and isinstance(product, tir.MulOp)):
            return False
        if old.buffer is not store.buffer or list(old.indices) != list(store.indices):
            return False
        factors = [_uncast(o) for o in product.operands]
        used = [self._used(f) for f in factors if isinstance(f, tir.LoadOp)]
        return len(used) == 2 and bool(used[0] - used[1]) and bool(used[1] - used[0])

    def _used(self, load: tir.LoadOp) -> frozenset[SSAValue]:
        return frozenset[SSAValue]().union(*(self.variables(i) for i in load.indices))


def _is_zero(index: SSAValue) -> bool:
    return isinstance(index, OpResult) and isinstance(index.op, tir.ConstOp) and index.op.py_value == 0


def _uncast(value: SSAValue) -> Operation | None:
    """Return the op that computes `value`, looking through casts."""
    op = value.op if isinstance(value, OpResult) else None
    while isinstance(op, tir.CastOp):
        op = op.value.op if isinstance(op.value, OpResult) else None
    return op


_SCHEDULED = "tir.is_scheduled"


@dataclass(frozen=True)
class AnnotateTIROpPattern(Pass):
    """Set the attribute `op_pattern` of each `tir.func` that has none, to the kind of its blocks."""

    name: ClassVar[str] = "annotate-tir-op-pattern"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Annotate in place."""
        for func in op.body.block.ops:
            if isinstance(func, tir.FuncOp):
                annotate(func)


def annotate(func: tir.FuncOp, known: OpPattern | None = None) -> None:
    """Set the attribute `op_pattern` of `func` unless it has one, to `known` or the result of the analysis.

    A scheduled function counts as opaque: fusion would not preserve its schedule.
    """
    attrs = dict(func.func_attrs.data) if func.func_attrs is not None else {}
    if ATTRIBUTE not in attrs:
        kind = OpPattern.OPAQUE if _SCHEDULED in attrs else find_pattern(func) if known is None else known
        attrs[ATTRIBUTE] = IntegerAttr(int(kind), i64)
        func.func_attrs = DictionaryAttr(dict(sorted(attrs.items())))
