"""Interleave block-quantized rows in the order in which products read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from ...dialects import relax
from ...dialects.block_formats import BlockFormat
from ...dialects.dtypes import ui8
from ...dialects.names import name_of
from ...dialects.quick import operations
from ...dialects.relax.block_quantization import BlockOperator
from ...dialects.relax.data import TensorDataAttr
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import SymExpr
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass, module_op
from ...ir.rewriting.driver import Emit, apply_rules
from ...ir.rewriting.edit import set_type
from ...target import Target
from ..params.weights import num_input
from .rules import Array

_PRODUCT = "relax.matmul_blocks"


@dataclass(frozen=True)
class InterleaveBlocks(Pass):
    """Store constant block-quantized rows in the order of the kernels for `target`: words of r rows alternate.

    matmul_blocks(x, p)  ->  matmul_blocks(x, q) {interleaved = r}      take_blocks, dequantize_blocks of p: of q, too

    r is the number of 32-bit lanes of a vector. If it does not divide the rows, rows of zeros are added, whose results
    are cut off; only products read them. With `parameters`, this also applies to parameters after the first `num_input`
    of a function that only operators on blocks read: the caller must pass them as `interleaved` returns them.
    """

    name = "interleave-blocks"
    target: str = "llvm"
    parameters: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        state = _Interleaved(self._lanes)
        state.multiplied |= {id(data) for product in _products(op) if (data := _rows(product)) is not None}
        if self.parameters:
            state.take_parameters([p for func in relax_functions(op) for p in _weights(func)])
        apply_rules(
            op,
            {_PRODUCT: state.matmul, "relax.take_blocks": state.read, "relax.dequantize_blocks": state.read},
        )

    @property
    def _lanes(self) -> int:
        return Target(self.target).vector_bits // 32

    def interleaved(self, params: Mapping[str, Any], module: Any) -> dict[str, Any]:
        """Return parameters by name for the functions of `module`, after this pass, interleaved where necessary.

        Raises `ShapeError` if rows are not full blocks.
        """
        formats = {
            name_of(packed): product.layout
            for product in _products(module_op(module))
            if product.attr("interleaved") == self._lanes and _is_parameter(packed := product.operands[1])
        }
        return {
            name: _interleaved(formats[name], np.asarray(value), self._lanes) if name in formats else value
            for name, value in params.items()
        }


def _products(op: ModuleOp) -> list[BlockOperator]:
    return [
        product
        for func in relax_functions(op)
        for product in operations(func)
        if isinstance(product, BlockOperator) and product.name == _PRODUCT
    ]


def _weights(func: relax.FuncOp) -> Sequence[SSAValue]:
    """Return the parameters after the first `num_input`."""
    count = num_input(func)
    return [] if count is None else func.params[count:]


def _packed(op: BlockOperator) -> SSAValue:
    return cast(SSAValue, cast(Any, op).packed)


def _is_parameter(value: SSAValue) -> bool:
    return isinstance(value.owner, Block)


def _rows(op: BlockOperator) -> TensorDataAttr | None:
    """Return the constant rows that an operator reads; None if they are interleaved or unknown."""
    constant = _packed(op).owner
    if not isinstance(constant, relax.ConstantOp) or op.attr("interleaved") != 1:
        return None
    return constant.value if len(constant.value.data.shape) == 2 else None


def _dims(value: SSAValue) -> Sequence[SymExpr]:
    """Return the shape of a tensor, () if unknown."""
    return (value.type.dims or ()) if isinstance(value.type, TensorType) else ()


def _reads_rows(op: object, rows: SSAValue) -> bool:
    return isinstance(op, BlockOperator) and _packed(op) is rows and op.attr("interleaved") == 1


def _interleaved(format: BlockFormat, rows: Array, lanes: int) -> Array:
    """Return rows interleaved, padded with rows of zeros if necessary."""
    missing = -len(rows) % lanes
    return format.interleave(np.pad(rows, ((0, missing), (0, 0))) if missing else rows, lanes)


@dataclass
class _Interleaved:
    """The rules, the existing constants, and the row counts of interleaved parameters."""

    lanes: int
    multiplied: set[int] = field(default_factory=set[int])
    known: dict[int, tuple[TensorDataAttr, TensorDataAttr]] = field(default_factory=dict[int, Any])
    parameters: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def take_parameters(self, params: Sequence[SSAValue]) -> None:
        """Mark parameters that are block-quantized rows, used by products among others, to be interleaved.

        Functions share them by name: one is interleaved in all of them, or in none.
        """
        count = {param: self._rows_of_parameter(param) for param in params}
        stay = {name_of(param) for param, rows in count.items() if rows is None}
        for param, rows in count.items():
            if rows is not None and name_of(param) not in stay:
                self.parameters[param] = rows
                groups, width = -(-rows // self.lanes), _dims(param)[1] * self.lanes
                set_type(param, TensorType.of([groups, width], ui8))

    def _rows_of_parameter(self, param: SSAValue) -> int | None:
        """Return the number of rows of a parameter; None if it stays: only products may use rows that need padding."""
        dims = _dims(param)
        rows = dims[0].constant if len(dims) == 2 else None
        uses = [use.operation for use in param.uses]
        if rows is None or not all(_reads_rows(op, param) for op in uses):
            return None
        multiplied = [op.name == _PRODUCT for op in uses]
        return rows if any(multiplied) and (rows % self.lanes == 0 or all(multiplied)) else None

    def matmul(self, op: BlockOperator, emit: Emit) -> SSAValue | None:
        """relax.matmul_blocks(x, p)"""
        packed, rows = self._wide(op, emit)
        if packed is None:
            return None
        attrs = {name: op.attr(name) for name in ("format", "out_dtype", "activation")}
        y = emit("matmul_blocks", op.operands[0], packed, interleaved=self.lanes, **attrs)
        if rows % self.lanes == 0:
            return y
        axis = len(_dims(y)) - 1
        ends = [[emit.integer(n)] for n in (axis, 0, rows)]
        return emit("strided_slice", y, *ends)

    def read(self, op: BlockOperator, emit: Emit) -> SSAValue | None:
        """relax.take_blocks(p, indices), relax.dequantize_blocks(p)"""
        data = _rows(op)
        if data is not None and (id(data) not in self.multiplied or data.numpy().shape[0] % self.lanes):
            return None
        packed, _ = self._wide(op, emit)
        if packed is None:
            return None
        attrs = {name: op.attr(name) for name in ("format", "out_dtype")}
        return emit(op.name.removeprefix("relax."), packed, *op.operands[1:], interleaved=self.lanes, **attrs)

    def _wide(self, op: BlockOperator, emit: Emit) -> tuple[SSAValue | None, int]:
        """Return the interleaved rows of an operator, None if they stay, and their number."""
        rows = self.parameters.get(_packed(op))
        if rows is not None:
            return (_packed(op) if op.attr("interleaved") == 1 else None), rows
        data = _rows(op)
        if data is None:
            return None, 0
        if id(data) not in self.known:
            wide = _interleaved(op.layout, data.numpy(), self.lanes)
            self.known[id(data)] = data, TensorDataAttr.from_numpy(wide, ui8)
        return emit.put(relax.ConstantOp(self.known[id(data)][1])), int(data.data.shape[0])
