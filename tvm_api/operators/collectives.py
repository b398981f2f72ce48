"""Operators that exchange tensors between workers (`relax.ccl`), which become calls of packed functions, as in TVM.

No packed function of these names is registered here: a program runs in one process, unless it brings its own.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute

from ...diagnostics import unknown_name
from ...dialects.relax.operator import Operator, operator
from ...dialects.relax.registered import LEGALIZE
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import SymExpr, floordiv
from ...handles.relax.call import Call
from ...handles.relax.calls import call_dps_packed, call_operator
from ...handles.relax.expr import Expr, PrimValue, ShapeExpr
from ...handles.relax.registered import register_op_attr
from ...handles.struct_info import TensorStructInfo

_REDUCTIONS = ("sum", "prod", "min", "max", "avg")


class _Collective(Operator):
    def infer(self) -> Attribute:
        x = self.tensor(self.ARG_NAMES[0])
        return x if x.dims is None else TensorType.of(self.dims_of(list(x.dims)), x.element)

    def dims_of(self, dims: list[SymExpr]) -> list[SymExpr]:
        """Return the extents of the result."""
        return dims


@operator("relax.ccl.allreduce", "x", op_type="sum", in_group=True)
class AllReduce(_Collective):
    """The sum, product, least, greatest or average of the tensors of all workers, in each of them."""


@operator("relax.ccl.broadcast_from_worker0", "x")
class BroadcastFromWorker0(_Collective):
    """The tensor of the first worker, in each of them."""


@operator("relax.ccl.allgather", "x", num_workers=1, in_group=True)
class AllGather(_Collective):
    """The tensors of all workers, one after the other."""

    def dims_of(self, dims: list[SymExpr]) -> list[SymExpr]:
        return [dims[0] * self.attr("num_workers"), *dims[1:]]


@operator("relax.ccl.scatter_from_worker0", "x", num_workers=1, axis=0)
class ScatterFromWorker0(_Collective):
    """An equal part of the tensor of the first worker for each of them, along `axis`."""

    def infer(self) -> Attribute:
        if self.tensor("x").extents is None:
            self.fail_shape("argument x must have a known shape", "extents", self.tensor("x"))
        return super().infer()

    def dims_of(self, dims: list[SymExpr]) -> list[SymExpr]:
        axis, count = self.attr("axis"), self.attr("num_workers")
        if not 0 <= axis < len(dims):
            self.fail_shape("attribute axis is out of range", f"0 to {len(dims) - 1}", axis)
        known = dims[axis].constant
        if known is not None and known % count:
            self.fail_shape(
                f"the extent of axis {axis} must be divisible by num_workers", f"a multiple of {count}", known
            )
        return [*dims[:axis], floordiv(dims[axis], count), *dims[axis + 1 :]]


def _legalized(name: str, call: Call, args: list[Any], x: Expr | None = None) -> Expr:
    return call_dps_packed(f"runtime.disco.{name}", [x or call.args[0], *args], out_sinfo=call.struct_info)


def _allreduce(_bb: Any, call: Call) -> Expr:
    kind = call.attrs.op_type  # pyright: ignore[reportOptionalMemberAccess]
    if kind not in _REDUCTIONS:
        raise unknown_name("reduction", kind, _REDUCTIONS)
    args = [ShapeExpr([_REDUCTIONS.index(kind)]), PrimValue(bool(call.attrs["in_group"]))]  # pyright: ignore[reportOptionalSubscript]
    return _legalized("allreduce", call, args)


def _allgather(_bb: Any, call: Call) -> Expr:
    return _legalized("allgather", call, [PrimValue(bool(call.attrs["in_group"]))])  # pyright: ignore[reportOptionalSubscript]


def _broadcast(_bb: Any, call: Call) -> Expr:
    return _legalized("broadcast_from_worker0", call, [PrimValue(False)])


def _scatter(bb: Any, call: Call) -> Expr:
    """Bring the parts of the workers to the front: they are sent as contiguous memory."""
    axis, count = call.attrs["axis"], call.attrs["num_workers"]  # pyright: ignore[reportOptionalSubscript]
    info = call.struct_info
    part = list(info.shape.values) if isinstance(info, TensorStructInfo) else []
    split = [*part[:axis], count, *part[axis:]]
    x = bb.emit(call_operator("relax.reshape", call.args[0], ShapeExpr(split)))
    if axis:
        order = [axis, *(a for a in range(len(split)) if a != axis)]
        x = bb.emit(call_operator("relax.permute_dims", x, axes=order))
    return _legalized("scatter_from_worker0", call, [PrimValue(False)], x)


for _name, _rule in (
    ("allreduce", _allreduce),
    ("allgather", _allgather),
    ("broadcast_from_worker0", _broadcast),
    ("scatter_from_worker0", _scatter),
):
    register_op_attr(f"relax.ccl.{_name}", LEGALIZE, _rule)

__all__ = ["AllGather", "AllReduce", "BroadcastFromWorker0", "ScatterFromWorker0"]
