"""`bf16-compute-legalize` and `fp8-compute-legalize`: compute in wider floats what is computed in narrow ones.

%c = tir.add %a, %b : bf16     ->     %c = cast(add(cast(%a), cast(%b)) : f32) : bf16
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, FloatAttr, ModuleOp, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects import tir
from ....dialects.dtypes import dtype_of, is_float, is_narrow, lanes_of, scalar_of
from ....dialects.names import name_of, set_name
from ....dialects.quick import operations
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import inserter, set_type
from ....transforms.tir.storage_legalize import computes_in, like
from ....transforms.tir.walk import erase_with_tree, functions, remove_dead, values_of

_COMPUTED = (*tir.BINARY.values(), tir.SelectOp, tir.CallIntrinOp, tir.DeviceCallOp)
_FOLLOWS = (tir.LetOp, tir.BroadcastOp, tir.ShuffleOp)
"""Ops whose type is that of their operands."""
_ACCESSES = (tir.LoadOp, tir.StoreOp, tir.ReadsOp, tir.WritesOp)


def legalize(func: tir.FuncOp, is_narrow: Callable[[Attribute], bool], wide: Attribute) -> None:
    """Compute in `wide` what the function computes in the types selected by `is_narrow`.

    Operands are converted, and results are converted back where they are stored: intermediate values remain in
    the wide type, and so do their names and the function's own buffers, as in TVM.
    """
    if any(is_narrow(scalar_of(v.type)) for op in operations(func) for v in op.results) or _buffers(func, is_narrow):
        _Legalizer(is_narrow, wide).function(func)
        remove_dead(func)


def _buffers(func: tir.FuncOp, is_narrow: Callable[[Attribute], bool]) -> list[tir.AllocBufferOp]:
    """Return the function's own buffers of a narrow type whose address is not taken."""
    allocs = [op for op in operations(func) if isinstance(op, tir.AllocBufferOp) and is_narrow(op.result.type.dtype)]
    return [op for op in allocs if all(_is_access(use.operation) for use in op.result.uses)]


def _is_access(op: Operation) -> bool:
    if isinstance(op, tir.MatchBufferOp):
        return all(_is_access(use.operation) for use in op.result.uses)
    return isinstance(op, _ACCESSES)


class _Legalizer:
    def __init__(self, is_narrow: Callable[[Attribute], bool], wide: Attribute):
        self.is_narrow = is_narrow
        self.wide = wide

    def function(self, func: tir.FuncOp) -> None:
        for alloc in _buffers(func, self.is_narrow):
            self._widen_buffer(alloc.result)
        for op in operations(func):
            if op.parent is not None:
                self._operation(op)

    def _operation(self, op: Operation) -> None:
        """Visit an op after its operands; `tir.if_then_else` is visited with its sides, at the first `tir.yield`."""
        if isinstance(op, _COMPUTED):
            if any(self._is_narrow(v) for v in (*op.operands, *op.results)):
                self._compute_wide(op)
        elif isinstance(op, tir.CommReducerOp):
            self._widen_reducer(op)
        elif isinstance(op, _FOLLOWS):
            if any(self._was_wide(v) for v in op.operands):
                self._compute_wide(op)
        elif isinstance(op, tir.CastOp):
            self._skip_conversion(op)
        elif isinstance(op, tir.YieldOp):
            self._yield(op)

    def _is_narrow(self, value: SSAValue) -> bool:
        return self.is_narrow(scalar_of(value.type))

    def _was_wide(self, value: SSAValue) -> bool:
        """Return whether a narrow value is converted from a wide one."""
        owner = value.owner
        return self._is_narrow(value) and isinstance(owner, tir.CastOp) and scalar_of(owner.value.type) == self.wide

    def _compute_wide(self, op: Operation) -> None:
        insert = inserter(op)
        (result,) = op.results
        new = type(op).create(
            operands=[self._widened(v, insert) if self._is_narrow(v) else v for v in op.operands],
            result_types=[like(self.wide, result.type) if self._is_narrow(result) else result.type],
            properties=dict(op.properties),
        )
        insert(new)
        self._replace(result, new.results[0], insert)
        erase_with_tree(op)

    def _widen_reducer(self, op: tir.CommReducerOp) -> None:
        """Widen a reduction over threads; its regions are visited after it."""
        insert = inserter(op)
        for i, value in enumerate(op.identity):
            if self._is_narrow(value):
                op.operands[i] = self._widened(value, insert)
        for value in [v for region in op.combine for inner in region.walk() for v in values_of(inner)]:
            if self._is_narrow(value):
                set_type(value, like(self.wide, value.type))
        for arg in [a for region in op.combine for a in region.block.args]:
            if self._is_narrow(arg):
                set_type(arg, like(self.wide, arg.type))

    def _replace(self, old: SSAValue, new: SSAValue, insert: Callable[[Operation], None]) -> None:
        """Replace a value by a new one, converted to the old type."""
        set_name(new, name_of(old))
        if new.type != old.type:
            insert(back := tir.CastOp(new, old.type))
            new = back.result
        old.replace_all_uses_with(new)

    def _widened(self, value: SSAValue, insert: Callable[[Operation], None]) -> SSAValue:
        """Return a value in the wide type: the source of a conversion, a constant, or a new conversion."""
        owner = value.owner
        if isinstance(owner, tir.ConstOp) and isinstance(owner.value, FloatAttr):
            insert(constant := tir.ConstOp(owner.value.value.data, self.wide))
            return constant.result
        if isinstance(owner, tir.BroadcastOp) and isinstance(owner.value.owner, tir.ConstOp):
            insert(lanes := tir.BroadcastOp(self._widened(owner.value, insert), lanes_of(value.type)))
            return lanes.result
        expected = like(self.wide, value.type)
        if isinstance(owner, tir.CastOp) and owner.value.type == expected:
            return owner.value
        insert(cast := tir.CastOp(value, expected))
        return cast.result

    def _skip_conversion(self, op: tir.CastOp) -> None:
        """Remove `wide -> narrow -> wide`."""
        source = op.value.owner
        if isinstance(source, tir.CastOp) and source.value.type == op.result.type and self._is_narrow(op.value):
            op.result.replace_all_uses_with(source.value)
            erase_with_tree(op)

    def _yield(self, op: tir.YieldOp) -> None:
        """Yield the wide value of a side; the expression becomes wide at its last side."""
        parent = op.parent_op()
        if not isinstance(parent, tir.IfThenElseOp | tir.LetInOp) or not self._is_narrow(op.value):
            return
        op.operands[0] = self._widened(op.value, inserter(op))
        if op.parent is not parent.regions[-1].block:
            return
        result = parent.results[0]
        back = tir.CastOp(parent.results[0], result.type)
        set_type(result, like(self.wide, result.type))
        result.replace_uses_with_if(back.result, lambda use: use.operation is not back)
        block = parent.parent
        assert block is not None
        block.insert_op_after(back, parent)

    def _widen_buffer(self, buffer: SSAValue) -> None:
        t = buffer.type
        assert isinstance(t, tir.BufferType)
        set_type(buffer, t.replaced(dtype=self.wide))
        for use in list(buffer.uses):
            op = use.operation
            if isinstance(op, tir.MatchBufferOp):
                self._widen_buffer(op.result)
            elif isinstance(op, tir.StoreOp):
                op.operands[0] = self._widened(op.value, inserter(op))
            elif isinstance(op, tir.LoadOp):
                self._widen_load(op)

    def _widen_load(self, op: tir.LoadOp) -> None:
        narrow = op.result.type
        set_type(op.result, like(self.wide, narrow))
        back = tir.CastOp(op.result, narrow)
        op.result.replace_uses_with_if(back.result, lambda use: use.operation is not back)
        block = op.parent
        assert isinstance(block, Block)
        block.insert_op_after(back, op)


@dataclass(frozen=True)
class BF16ComputeLegalize(Pass):
    """Convert to float32 before arithmetic and to bfloat16 after it; loads, stores and buffers remain.

    Functions whose target computes in bfloat16 remain unchanged.
    """

    name = "bf16-compute-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            if not computes_in(func, "bfloat16"):
                legalize(func, lambda t: isinstance(t, BFloat16Type), f32)


@dataclass(frozen=True)
class FP8ComputeLegalize(Pass):
    """Convert 8-bit floats to another dtype before arithmetic and back after it; loads, stores and buffers remain.

    Functions whose target computes in them remain unchanged.
    """

    name = "fp8-compute-legalize"
    promote_dtype_str: str = "float32"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wide = dtype_of(self.promote_dtype_str)
        for func in functions(op):
            if not computes_in(func, "float8"):
                legalize(func, lambda t: is_float(t) and is_narrow(t), wide)
