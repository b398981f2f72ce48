"""Statements of entry points by TVM's conventions: definitions and checks, in nested scopes."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from ....dialects import tir
from ....dialects.names import set_name
from ....handles.tir import prim_expr as tx
from ....handles.tir.expr_kinds import expr_node
from ....handles.tir.prim_expr import PrimExpr, const
from ....handles.tir.stmt import planted_in
from ...handles.arith.analyzer import Analyzer

DATA, SHAPE, STRIDES, NDIM, TYPE_CODE, TYPE_BITS, TYPE_LANES, BYTE_OFFSET, DEVICE_ID, DEVICE_TYPE = range(1, 11)
"""The fields of a tensor in memory."""
ADDRESS, VALUE = 0, 12
"""The address of a tensor among others, and the content of an argument."""


def device_call(name: str, args: list[Any], result: Attribute) -> PrimExpr:
    """Return the call of an intrinsic of TVM's later stages."""
    values = [tir.StringImmOp(a).result if isinstance(a, str) else tx.convert(a).ssa for a in args]
    return expr_node(tir.intrinsic(name, values, result).result)


def field(struct: PrimExpr, kind: int, dtype: Attribute, index: int = 0) -> PrimExpr:
    """Return a field of a struct at an address: `T.tvm_struct_get(struct, index, kind, dtype)`."""
    return device_call("tvm_struct_get", [struct, index, kind], dtype)


def is_null(address: PrimExpr) -> PrimExpr:
    """Return `T.isnullptr(address)`."""
    return expr_node(tir.CallIntrinOp("isnullptr", [address.ssa], tir.i1).result)


def load(buffer: SSAValue, index: int) -> PrimExpr:
    """Return an element of a buffer of one dimension."""
    return expr_node(tir.LoadOp(buffer, [const(index, "int32").ssa]).result)


class Writer:
    """Writes statements at the end of the innermost scope."""

    def __init__(self, block: Block):
        self.block = block
        self.analyzer = Analyzer()

    def let(self, name: str, value: PrimExpr, dtype: Attribute | None = None) -> PrimExpr:
        """Bind a value to a name."""
        op = tir.LetOp(planted_in(value, self.block), dtype)
        set_name(op.result, name)
        self.block.add_op(op)
        return expr_node(op.result)

    def check(self, condition: PrimExpr, message: str) -> None:
        """Stop with a message unless the condition holds."""
        self.block.add_op(tir.AssertOp(planted_in(condition, self.block), message))

    def declare(self, name: str, data: PrimExpr, buffer_type: tir.BufferType, *, alias: bool = False) -> SSAValue:
        """Declare a buffer at an address."""
        return self.declare_op(name, data.ssa, buffer_type, alias=alias)

    def declare_op(self, name: str, data: SSAValue, buffer_type: tir.BufferType, *, alias: bool = False) -> SSAValue:
        """Declare a buffer at an address that is a value."""
        op = tir.DeclBufferOp(data, buffer_type, alias=alias)
        set_name(op.result, name)
        self.block.add_op(op)
        return op.result

    def attribute(self, key: str, value: Any, on: str | PrimExpr | int = 0) -> None:
        """Open the scope of an attribute: what is written after it is inside."""
        given = tir.StringImmOp(value).result if isinstance(value, str) else tx.convert(value).ssa
        node: Any = on.ssa if isinstance(on, PrimExpr) else StringAttr(on) if isinstance(on, str) else None
        inside = Block()
        self.block.add_op(tir.AttrOp(key, planted_in(expr_node(given), self.block), Region(inside), node))
        self.block = inside

    def end(self, status: int = 0) -> None:
        """Return a status."""
        self.block.add_op(tir.ReturnOp(planted_in(const(status, "int32"), self.block)))


def constraint(writer: Writer, condition: PrimExpr, argument: str) -> tuple[PrimExpr, str] | None:
    """Return what an argument has to fulfil, simplified, and its message; None if it always holds."""
    simple = writer.analyzer.simplify(condition)
    owner = simple.ssa.owner
    if isinstance(owner, tir.ConstOp):
        if owner.py_value:
            return None
        raise ValueError(f"Bind have an unmet assertion: {condition}, on argument {argument}")
    return simple, f"Argument {argument} has an unsatisfied constraint: {condition}"


__all__ = ["Writer", "constraint", "device_call", "field", "is_null", "load", "planted_in"]
