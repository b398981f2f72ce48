"""Put constant rows of blocks into the order in which products read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.dtypes import ui8
from ...dialects.relax.block_quantization import BlockOperator
from ...dialects.relax.data import TensorDataAttr
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules
from ...ir.rewriting.walk import operations
from ...target import Target


@dataclass(frozen=True)
class InterleaveBlocks(Pass):
    """Rows of blocks that are constant stand in memory as kernels for `target` read them: words of r rows side by side.

    matmul_blocks(x, p)  ->  matmul_blocks(x, q) {interleaved = r}      take_blocks, dequantize_blocks of p: of q, too

    r is how many numbers of 32 bits a vector has. Where it does not divide the rows there are some of zeros more, and
    what they give is cut off; only products read those.
    """

    name = "interleave-blocks"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        state = _Interleaved(Target(self.target).vector_bits // 32)
        products = [
            product
            for func in relax_functions(op)
            for product in operations(func)
            if isinstance(product, BlockOperator) and product.name == "relax.matmul_blocks"
        ]
        state.multiplied |= {id(data) for product in products if (data := _rows(product)) is not None}
        apply_rules(
            op,
            {
                "relax.matmul_blocks": state.matmul,
                "relax.take_blocks": state.read,
                "relax.dequantize_blocks": state.read,
            },
        )


def _rows(op: BlockOperator) -> TensorDataAttr | None:
    """The constant rows that an operator reads, None where they are interleaved or not known."""
    constant = cast(SSAValue, cast(Any, op).packed).owner
    if not isinstance(constant, relax.ConstantOp) or op.attr("interleaved") != 1:
        return None
    return constant.value if len(constant.value.data.shape) == 2 else None


@dataclass
class _Interleaved:
    """Rules, and the constants that there are already."""

    lanes: int
    multiplied: set[int] = field(default_factory=set[int])
    known: dict[int, tuple[TensorDataAttr, TensorDataAttr]] = field(default_factory=dict[int, Any])

    def matmul(self, op: BlockOperator, emit: Emit) -> SSAValue | None:
        """relax.matmul_blocks(x, p)"""
        data = _rows(op)
        if data is None:
            return None
        rows = int(data.numpy().shape[0])
        attrs = {name: op.attr(name) for name in ("format", "out_dtype", "activation")}
        packed = emit.put(relax.ConstantOp(self._wide(op, data)))
        y = emit("matmul_blocks", op.operands[0], packed, interleaved=self.lanes, **attrs)
        if rows % self.lanes == 0:
            return y
        axis = len(cast(relax.TensorType, y.type).dims or ()) - 1
        ends = [[emit.integer(n)] for n in (axis, 0, rows)]
        return emit("strided_slice", y, *ends)

    def read(self, op: BlockOperator, emit: Emit) -> SSAValue | None:
        """relax.take_blocks(p, indices), relax.dequantize_blocks(p)"""
        data = _rows(op)
        if data is None or id(data) not in self.multiplied or data.numpy().shape[0] % self.lanes:
            return None
        packed = emit.put(relax.ConstantOp(self._wide(op, data)))
        attrs = {name: op.attr(name) for name in ("format", "out_dtype")}
        return emit(op.name.removeprefix("relax."), packed, *op.operands[1:], interleaved=self.lanes, **attrs)

    def _wide(self, op: BlockOperator, data: TensorDataAttr) -> TensorDataAttr:
        """The interleaved rows, with rows of zeros at the end."""
        if id(data) not in self.known:
            array = data.numpy()
            missing = -len(array) % self.lanes
            whole = np.pad(array, ((0, missing), (0, 0))) if missing else array
            self.known[id(data)] = data, TensorDataAttr.from_numpy(op.layout.interleave(whole, self.lanes), ui8)
        return self.known[id(data)][1]
