"""The `host` dialect: Relax functions in destination passing form, for memory planning and code generation.

    relax.func @main(%x: !relax.tensor<[n, 64], f32>) -> !relax.tensor<[n, 10], f32> {
      host.arena n * 256
      %lv = host.tensor arena 0 : !relax.tensor<[n, 64], f32>
      host.kernel @relu(%x, %lv)
      %gv = host.tensor : !relax.tensor<[n, 10], f32>
      host.call_dps "env.linear"(%lv, %gv)
      relax.return %gv : !relax.tensor<[n, 10], f32>
    }

A `host.tensor` without an arena offset is an array of its own, which may outlive the call. Sizes are symbolic
expressions, and operands have the types of their definitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from . import assembly as asm
from .relax.calls import TIR_VARS
from .relax.types import Dims, TensorType, dims_attr
from .sym import SymAttr
from .sym.expr import ExprLike, SymExpr
from .sym.text import expr_part


@irdl_op_definition
class ArenaOp(asm.FormattedOp):
    """`host.arena n * 512 + 64`: the size in bytes of the memory that the function's tensors share while it runs."""

    name = "host.arena"
    size = prop_def(SymAttr)
    FORMAT: ClassVar = (expr_part("size"),)

    def __init__(self, size: ExprLike):
        super().__init__(properties={"size": SymAttr.of(size)})


class _Placed(asm.FormattedOp):
    """A tensor at the byte `offset` of some memory."""

    offset = opt_prop_def(SymAttr)
    result = result_def(TensorType)

    @property
    def tensor_type(self) -> TensorType:
        """The type of the tensor; its extents and its dtype are known."""
        return self.result.type

    def verify_(self) -> None:
        if self.tensor_type.dims is None or self.tensor_type.element is None:
            raise VerifyException(f"{self.name} of unknown extents or dtype: {self.result.type}")


@irdl_op_definition
class TensorOp(_Placed):
    """`%t = host.tensor arena 64 : T`: a tensor at byte 64 of the arena; without `arena`, one with memory of its
    own.
    """

    name = "host.tensor"
    FORMAT: ClassVar = (asm.optional(" arena", expr_part("offset")), asm.typed("type", "result.type"))

    def __init__(self, type: Attribute, offset: ExprLike | None = None):
        attr = None if offset is None else SymAttr.of(offset)
        super().__init__(properties={"offset": attr}, result_types=[type])


@irdl_op_definition
class ViewOp(_Placed):
    """`%t = host.view %s at 64 : T`: a tensor in the memory of another, 64 bytes from its start.

    Without `at`, it is the entire other tensor with another shape.
    """

    name = "host.view"
    source = operand_def(TensorType)
    FORMAT: ClassVar = (
        asm.value("source"),
        asm.optional(" at", expr_part("offset")),
        asm.typed("type", "result.type"),
    )

    def __init__(self, source: SSAValue, type: Attribute, offset: ExprLike | None = None):
        attr = None if offset is None else SymAttr.of(offset)
        super().__init__(operands=[source], properties={"offset": attr}, result_types=[type])


@irdl_op_definition
class KernelOp(asm.FormattedOp):
    """`host.kernel @relu(%x, %y) tir_vars [n]`: run a tir function on inputs, outputs and trailing scalars."""

    name = "host.kernel"
    callee = prop_def(SymbolRefAttr)
    call_args = var_operand_def()
    tir_vars = opt_prop_def(Dims)
    FORMAT: ClassVar = (asm.symbol("callee"), asm.values("args", "call_args"), TIR_VARS)

    def __init__(self, callee: str, args: Sequence[SSAValue], tir_vars: Sequence[ExprLike] | Dims | None = None):
        dims = tir_vars if tir_vars is None or isinstance(tir_vars, ArrayAttr) else dims_attr(tir_vars)
        super().__init__(operands=[args], properties={"callee": SymbolRefAttr(callee), "tir_vars": dims})

    @property
    def callee_name(self) -> str:
        """The name of the tir function."""
        return self.callee.root_reference.data

    @property
    def scalars(self) -> list[SymExpr]:
        """The trailing scalar arguments."""
        return [] if self.tir_vars is None else [d.data for d in self.tir_vars]


@irdl_op_definition
class CallDPSOp(asm.FormattedOp):
    """`host.call_dps "env.linear"(%x, %y)`: call a packed function on inputs and outputs and discard its result."""

    name = "host.call_dps"
    func = prop_def(StringAttr)
    call_args = var_operand_def()
    FORMAT: ClassVar = (asm.string("func"), asm.values("args", "call_args"))

    def __init__(self, func: str, args: Sequence[SSAValue]):
        super().__init__(operands=[args], properties={"func": StringAttr(func)})


Host = Dialect("host", [ArenaOp, TensorOp, ViewOp, KernelOp, CallDPSOp])
