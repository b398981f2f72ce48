"""Put rows of blocks into the order in which products read them."""

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
    """Rows of blocks that are constant stand in memory as kernels for `target` read them: words of r rows side by side.

    matmul_blocks(x, p)  ->  matmul_blocks(x, q) {interleaved = r}      take_blocks, dequantize_blocks of p: of q, too

    r is how many numbers of 32 bits a vector has. Where it does not divide the rows there are some of zeros more, and
    what they give is cut off; only products read those. With `parameters` so do those behind the first `num_input` of a
    function that only operators on blocks read: they are given as `interleaved` makes them then.
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
        """Parameters by name for the functions of `module`, which this pass has rewritten: interleaved where they are.

        Raises `ShapeError` where rows are no whole blocks.
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
    """The parameters behind the first `num_input`."""
    count = num_input(func)
    return [] if count is None else func.params[count:]


def _packed(op: BlockOperator) -> SSAValue:
    return cast(SSAValue, cast(Any, op).packed)


def _is_parameter(value: SSAValue) -> bool:
    return isinstance(value.owner, Block)


def _rows(op: BlockOperator) -> TensorDataAttr | None:
    """The constant rows that an operator reads, None where they are interleaved or not known."""
    constant = _packed(op).owner
    if not isinstance(constant, relax.ConstantOp) or op.attr("interleaved") != 1:
        return None
    return constant.value if len(constant.value.data.shape) == 2 else None


def _dims(value: SSAValue) -> Sequence[SymExpr]:
    """The shape of a tensor, () where it is not known."""
    return (value.type.dims or ()) if isinstance(value.type, TensorType) else ()


def _reads_rows(op: object, rows: SSAValue) -> bool:
    return isinstance(op, BlockOperator) and _packed(op) is rows and op.attr("interleaved") == 1


def _interleaved(format: BlockFormat, rows: Array, lanes: int) -> Array:
    """Rows, with rows of zeros at the end where their number needs it, side by side."""
    missing = -len(rows) % lanes
    return format.interleave(np.pad(rows, ((0, missing), (0, 0))) if missing else rows, lanes)


@dataclass
class _Interleaved:
    """Rules, the constants that there are already, and how many rows parameters have that are interleaved."""

    lanes: int
    multiplied: set[int] = field(default_factory=set[int])
    known: dict[int, tuple[TensorDataAttr, TensorDataAttr]] = field(default_factory=dict[int, Any])
    parameters: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def take_parameters(self, params: Sequence[SSAValue]) -> None:
        """Let those that are rows of blocks, for products among others, be interleaved from now on.

        Functions have them by the same names: one is interleaved in all of them, or in none.
        """
        count = {param: self._rows_of_parameter(param) for param in params}
        stay = {name_of(param) for param, rows in count.items() if rows is None}
        for param, rows in count.items():
            if rows is not None and name_of(param) not in stay:
                self.parameters[param] = rows
                groups, width = -(-rows // self.lanes), _dims(param)[1] * self.lanes
                set_type(param, TensorType.of([groups, width], ui8))

    def _rows_of_parameter(self, param: SSAValue) -> int | None:
        """How many rows a parameter has, None where it stays: what is no multiple of r has to be for products alone."""
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
        """The interleaved rows of an operator, None where they stay, and how many it has."""
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
