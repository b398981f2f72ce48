"""Block quantization of the weights of products and embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...diagnostics import DTypeError
from ...dialects import relax
from ...dialects.block_formats import BlockFormat, block_format
from ...dialects.dtypes import ui8
from ...dialects.names import name_of
from ...dialects.relax.block_quantization import ACTIVATIONS
from ...dialects.relax.data import TensorDataAttr
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import Const
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass, module_op
from ...ir.rewriting.driver import Emit, apply_rules
from ...ir.rewriting.edit import set_type
from ..params.weights import num_input
from .rules import Array, dims_of, producer


@dataclass(frozen=True)
class QuantizeWeights(Pass):
    """Store weight matrices as block-quantized rows of `format`, which reads a fourth to an eighth of the bytes.

    y = matmul(x, permute_dims(w))  ->  y = matmul_blocks(x, p)         y = matmul(x, w): rows are the columns of w
    y = take(w, indices, axis=0)    ->  y = take_blocks(p, indices)

    w is a constant, or a parameter after the first `num_input` of its function (as exported by `nn`) without other
    uses: the caller then passes bytes, from `quantized`. Biases, norms, and matrices whose rows are not full blocks, or
    not finite, are kept. With `activation` "int8", products round x to bytes, too (`relax.matmul_blocks`).

    Raises `NameLookupError` for an unknown format, `DTypeError` for an unknown activation.
    """

    name = "quantize-weights"
    format: str = "q8_0"
    activation: str = "float32"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.activation not in ACTIVATIONS:
            raise DTypeError("the activation is unknown", expected=" or ".join(ACTIVATIONS), found=self.activation)
        rules = _Rules(block_format(self.format), self.activation)
        for func in relax_functions(op):
            count = num_input(func)
            rules.weights.update(() if count is None else [p for p in func.params[count:] if _is_all_weights(p)])
        apply_rules(op, {"relax.matmul": rules.matmul, "relax.take": rules.take})

    def quantized(self, params: Mapping[str, Any], module: Any) -> dict[str, Any]:
        """Return parameters by name for the functions of `module`, after this pass, as bytes where expected.

        Raises `ShapeError` if rows are not full blocks, `TiraxError` if they are not finite.
        """
        taken = {
            name_of(p)
            for func in relax_functions(module_op(module))
            for p in func.params
            if isinstance(p.type, TensorType) and p.type.element == ui8
        }
        row = block_format(self.format)

        def stored(name: str, value: Any) -> Any:
            array = np.asarray(value)
            return row.quantize(array) if name in taken and array.dtype.kind == "f" else value

        return {name: stored(name, value) for name, value in params.items()}


def _is_all_weights(param: SSAValue) -> bool:
    """Return whether a parameter is a matrix used only as rows in products, and as a table."""
    dims = dims_of(param)
    if dims is None or len(dims) != 2 or dims[1].constant is None:
        return False
    uses = [use.operation for use in param.uses]
    return bool(uses) and all(_is_table(op, param) or _is_transposed(op) for op in uses)


def _is_table(op: object, param: SSAValue) -> bool:
    return isinstance(op, Operator) and op.name == "relax.take" and _takes_rows(op) and op.operands[0] is param


def _takes_rows(op: Operator) -> bool:
    """Return whether an operator takes full rows of a matrix, with indices assumed to be in bounds."""
    return op.attr("axis") == 0 and op.attr("mode") == "fast"


def _is_transposed(op: object) -> bool:
    """Return whether an operator swaps the dimensions for products that use it as the right operand."""
    if not isinstance(op, Operator) or op.name != "relax.permute_dims" or op.attr("axes") not in (None, [1, 0]):
        return False
    uses = list(op.results[0].uses)
    return bool(uses) and all(use.operation.name == "relax.matmul" and use.index == 1 for use in uses)


@dataclass
class _Rules:
    """The rules, the parameters that become bytes, and the converted constants."""

    format: BlockFormat
    activation: str
    weights: set[SSAValue] = field(default_factory=set[SSAValue])
    known: dict[tuple[int, bool], tuple[TensorDataAttr, TensorDataAttr]] = field(default_factory=dict[Any, Any])

    def matmul(self, op: Operator, emit: Emit) -> SSAValue | None:
        """relax.matmul(x, w), where the columns are the rows of blocks, or w is a transposed matrix."""
        x, weights = op.operands
        transposed = producer(weights, "permute_dims")
        if transposed is not None and not _is_transposed(transposed):
            return None
        if not dims_of(x):
            return None
        rows = self._rows(weights, emit, columns=True) if transposed is None else None
        rows = self._rows(transposed.operands[0], emit) if transposed is not None else rows
        if rows is None:
            return None
        dtype = cast(TensorType, op.results[0].type).element
        attrs = {"format": self.format.name, "out_dtype": dtype, "activation": self.activation}
        return emit("matmul_blocks", x, rows, **attrs)

    def take(self, op: Operator, emit: Emit) -> SSAValue | None:
        """relax.take(w, indices) on rows."""
        table, indices = op.operands
        rows = self._rows(table, emit) if _takes_rows(op) and isinstance(indices.type, TensorType) else None
        if rows is None:
            return None
        dtype = cast(TensorType, op.results[0].type).element
        return emit("take_blocks", rows, indices, format=self.format.name, out_dtype=dtype)

    def _rows(self, weights: SSAValue, emit: Emit, columns: bool = False) -> SSAValue | None:
        """Return the block-quantized rows of a matrix, or of its columns; None if it is kept."""
        dims, constant = dims_of(weights), weights.owner
        if weights in self.weights:
            return None if columns else self._parameter(weights)
        if dims is None or len(dims) != 2 or not isinstance(constant, relax.ConstantOp):
            return None
        data = constant.value
        key = id(data), columns
        if key not in self.known:
            matrix: Array = data.numpy().T if columns else data.numpy()
            if matrix.shape[1] % self.format.size or not matrix.size or not np.isfinite(matrix).all():
                return None
            packed = self.format.quantize(np.asarray(matrix, np.float32))
            self.known[key] = data, TensorDataAttr.from_numpy(packed, ui8)
        return emit.put(relax.ConstantOp(self.known[key][1]))

    def _parameter(self, weights: SSAValue) -> SSAValue | None:
        """Convert the parameter to bytes and return it."""
        if cast(TensorType, weights.type).element != ui8:
            dims = dims_of(weights)
            k = None if dims is None else dims[1].constant
            if dims is None or k is None or k % self.format.size:
                return None
            set_type(weights, TensorType.of([dims[0], Const(self.format.row_bytes(k))], ui8))
        return weights
