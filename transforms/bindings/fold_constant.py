"""Evaluate operations on constants at compile time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ...dialects import relax, tir
from ...dialects.dtypes import byte_size, numpy_dtype
from ...dialects.names import set_name
from ...dialects.relax.data import TensorDataAttr
from ...dialects.relax.registered import LEGALIZE, MISSING, registered
from ...dialects.relax.types import free_symbolic_vars, is_base_of
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import Var
from ...ir.functions.iterations import iterations
from ...ir.functions.lookup import binding_blocks, functions, relax_functions
from ...ir.passes.limits import limit
from ...ir.passes.transform import Pass
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.edit import erase, erase_unused, insert_before
from ...ir.rewriting.infer import infer_users, refine_result


@dataclass(frozen=True)
class FoldConstant(Pass):
    """Fold operators and calls of tensor functions whose inputs are constants.

    `max_bytes` bounds the size of a result that is larger than its operands; `max_steps` the loop iterations of an
    interpreted tensor function, which must not contain `while`; `max_operations` the multiplications of a product. The
    defaults are the limits `fold.bytes`, `fold.iterations` and `fold.operations` (docs/limits.md). Without `outside`,
    operators outside of dataflow blocks are not folded.
    """

    name = "fold-constant"
    max_bytes: int | None = None
    max_steps: int | None = None
    max_operations: int | None = None
    outside: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        interpreter = cache(lambda: _interpreter(op))  # created on the first fold: often there is none
        table = functions(op)
        for func in relax_functions(op):
            blocks = list(binding_blocks(func))
            for block in blocks:
                for binding in list(block.ops):
                    if _is_constant_shape(binding):
                        _fold_shape(binding)
                    elif self._foldable(binding, table):
                        self._fold(binding, *interpreter())
            for block in reversed(blocks):  # inner blocks first: their operands may become unused
                _constants_leave(block)
                erase_unused(block.ops)
            remove_dead_bindings(func)
            refine_result(func)

    def _foldable(self, op: Operation, table: dict[str, Any]) -> bool:
        if not isinstance(op, relax.Operator | relax.CallTIROp) or not op.PURE or not op.operands:
            return False
        if not all(_is_constant(v) for v in op.operands) or not self._fits(op):
            return False
        if isinstance(op, relax.CallTIROp):
            func = table.get(op.callee_name)
            if not isinstance(func, tir.FuncOp) or op.tir_vars:
                return False
            return iterations(func, _sizes(func, op)) <= self._limit("iterations")
        if not self.outside and not isinstance(op.parent_op(), relax.DataflowOp):
            return False
        if registered(op.name, LEGALIZE) is not MISSING:  # the function registered by the user computes it
            return False
        return _multiplications(op) <= self._limit("operations")

    def _limit(self, name: str) -> int:
        own = {"bytes": self.max_bytes, "iterations": self.max_steps, "operations": self.max_operations}[name]
        return limit(f"fold.{name}") if own is None else own

    def _fits(self, op: relax.Operator | relax.CallTIROp) -> bool:
        size = _bytes(op.result_type)
        return size is not None and size <= max(self._limit("bytes"), sum(_bytes(v.type) or 0 for v in op.operands))

    @staticmethod
    def _fold(op: Operation, interpreter: Any, semantics: Any) -> None:
        from ...interpreter.run import InterpreterError

        assert isinstance(op, relax.Operator | relax.CallTIROp)
        values = tuple(_value(v) for v in op.operands)
        try:
            if isinstance(op, relax.Operator):
                (value,) = semantics.operator(interpreter, op, values)
            else:
                (value,) = interpreter.drive(semantics.call_tir(interpreter, op, values))
        except InterpreterError:
            return  # undefined on these constants: left to fail at run time, if it runs
        _replace(op, value)


def _interpreter(op: ModuleOp) -> Any:
    from ...interpreter.run import make_interpreter

    return make_interpreter(op)


def _sizes(func: tir.FuncOp, call: relax.CallTIROp) -> dict[str, int]:
    """Return the values of a tensor function's symbolic variables that follow from the call's tensors."""
    sizes: dict[str, int] = {}
    for param, t in zip(func.params, [*(v.type for v in call.call_args), *call.output_types], strict=False):
        if isinstance(param.type, tir.BufferType) and isinstance(t, relax.TensorType):
            for d, size in zip(param.type.dims, t.dims or (), strict=False):
                if isinstance(d, Var) and size.constant is not None:
                    sizes.setdefault(str(d.name), int(size.constant))
    return sizes


def _is_constant_shape(op: Operation) -> bool:
    """Return whether an op builds a shape from constants."""
    return op.name == "relax.tensor_to_shape" and isinstance(op.operands[0].owner, relax.ConstantOp)


def _fold_shape(op: Operation) -> None:
    """tensor_to_shape([2, 3]) -> shape [2, 3], and refine the values of this shape."""
    constant = op.operands[0].owner
    assert isinstance(constant, relax.ConstantOp)
    extents = [int(d) for d in constant.value.numpy()]
    if min(extents, default=0) < 0:
        return  # no valid shape: left to fail at run time, if it runs
    shape = insert_before(op, relax.ShapeOp(extents))
    users = [use.operation for use in op.results[0].uses]
    _stand_in(op.results[0], shape.result)
    erase(op)
    infer_users(users, is_base_of)


def _constants_leave(block: Block) -> None:
    """Replace outputs of a dataflow block that are constants by constants outside it."""
    for op in block.ops:
        if not isinstance(op, relax.DataflowOp):
            continue
        for outer, inner in zip(op.outputs, op.output_op.values_, strict=True):
            if isinstance(inner.owner, relax.ConstantOp):
                constant = relax.ConstantOp(inner.owner.value)
                block.insert_op_before(constant, op)
                _stand_in(outer, constant.result)


def _is_constant(value: SSAValue) -> bool:
    if not isinstance(value, OpResult):
        return False
    if isinstance(value.op, relax.TupleOp):
        return all(_is_constant(f) for f in value.op.fields_)
    if isinstance(value.op, relax.ShapeOp | relax.PrimValueOp):
        return not free_symbolic_vars([value.type])
    return isinstance(value.op, relax.ConstantOp)


def _value(value: SSAValue) -> Any:
    assert isinstance(value, OpResult)
    op = value.op
    if isinstance(op, relax.TupleOp):
        return tuple(_value(f) for f in op.fields_)
    if isinstance(op, relax.ShapeOp):
        return tuple(d.data.constant for d in op.values_)
    if isinstance(op, relax.PrimValueOp):
        return op.value.data.constant if isinstance(op.value, SymAttr) else op.value.value.data
    assert isinstance(op, relax.ConstantOp)
    return op.value.numpy()


def _bytes(t: object) -> int | None:
    """Return the size in bytes of a tensor or a tuple of tensors, or None if unknown."""
    if isinstance(t, TupleType):
        fields = [_bytes(f) for f in t.types]
        return None if None in fields else sum(f for f in fields if f is not None)
    if not isinstance(t, relax.TensorType) or t.dims is None or t.element is None:
        return None
    size = byte_size(t.element)
    for d in t.dims:
        if d.constant is None:
            return None
        size *= d.constant
    return size


_PRODUCTS = ("relax.matmul", "relax.einsum", "relax.nn.conv", "relax.nn.attention")


def _multiplications(op: relax.Operator) -> int:
    """Return the approximate number of multiplications of a product, which exceeds its size; 0 for other ops.

    A product of an m × k and a k × n matrix takes m · k · n = √(mk · kn · mn).
    """
    if not op.name.startswith(_PRODUCTS):
        return 0
    return math.isqrt(math.prod(max(_elements(t), 1) for t in (op.result_type, *[v.type for v in op.operands[:2]])))


def _elements(t: object) -> int:
    size = _bytes(t)
    return (
        1 if size is None or not isinstance(t, relax.TensorType) or t.element is None else size // byte_size(t.element)
    )


def _replace(op: Operation, value: Any) -> None:
    block = op.parent
    assert block is not None
    old = op.results[0]
    if isinstance(old.type, TupleType):
        fields = [_constant(v, t) for v, t in zip(value, old.type.types, strict=True)]
        new: Operation = relax.TupleOp([f.result for f in fields])
        block.insert_ops_before([*fields, new], op)
    else:
        new = _constant(value, old.type).named_after(*op.operands)
        block.insert_op_before(new, op)
    _stand_in(old, new.results[0])
    erase(op)


def _stand_in(old: SSAValue, leaf: SSAValue) -> None:
    """Replace a value by a leaf, which gets no name: a named leaf would be a binding."""
    old.replace_all_uses_with(leaf)
    set_name(leaf, None)


def _constant(value: Any, t: Attribute) -> relax.ConstantOp:
    assert isinstance(t, relax.TensorType) and t.element is not None
    return relax.ConstantOp(TensorDataAttr.sharing(np.asarray(value, numpy_dtype(t.element)), t.element))
