"""`lower-device-kernel-launch`: calls of functions for another device become launches of kernels.

kernel(A, n)   ->   call_packed("kernel", A, n, extents of the kernel's threads, …)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerType, ModuleOp, StringAttr, i32
from xdsl.ir import Block, SSAValue

from ....diagnostics import TiraxError
from ....dialects import tir
from ....dialects.dtypes import byte_size
from ....dialects.names import name_of
from ....dialects.sym import ValueOp
from ....dialects.sym.expr import Var
from ....handles.target import Target
from ....handles.tir import prim_expr as tx
from ....handles.tir.expr_kinds import expr_node
from ....handles.tir.prim_expr import PrimExpr, const
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import clone_expr
from ....ir.rewriting.edit import insert_before
from ....transforms.tir.walk import functions, with_attr
from .device_regions import without_host
from .make_packed_api import CALLING_CONV, target_of

_LAUNCH = 2
"""The convention of kernels that a host launches."""
_PARAMS = "tir.kernel_launch_params"
_GLOBAL = "tir.is_global_func"
_DYNAMIC = "tir.use_dyn_shared_memory"


@dataclass
class _Kernel:
    """What launches of a function need: its target, and the values that they pass after the arguments, by name."""

    func: tir.FuncOp
    target: Target
    launch: dict[str, PrimExpr] = field(default_factory=dict[str, PrimExpr])


@dataclass(frozen=True)
class LowerDeviceKernelLaunch(Pass):
    """Launch functions for devices of another kind as kernels, and call those for another target as functions of C.

    A kernel gets the attributes `calling_conv`, `tir.kernel_launch_params` and `tir.is_global_func`, and returns
    nothing. Raises `TiraxError` for functions without a target, and for one that is called in both ways.
    """

    name = "lower-device-kernel-launch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {f.sym_name.data: _collected(f) for f in functions(op)}
        launched, external = dict[str, None](), dict[str, None]()
        for func in functions(op):
            caller = kernels[func.sym_name.data].target
            for call in [o for o in func.walk() if isinstance(o, tir.CallOp)]:
                kernel = kernels.get(call.func.data)
                if kernel is None:
                    raise TiraxError(f"{call.func.data} did not appear within the IRModule", location=location_of(call))
                if str(caller) == str(kernel.target):
                    continue
                same = caller.get_target_device_type() == kernel.target.get_target_device_type()
                (external if same else launched)[call.func.data] = None
                _call_extern(call) if same else _launch(call, kernel)
        _update(kernels, launched, external)


def _update(kernels: dict[str, _Kernel], launched: dict[str, None], external: dict[str, None]) -> None:
    for name, kernel in kernels.items():
        func = kernel.func
        if name in launched and name in external:
            raise TiraxError(
                f"Function {name} has multiple callees, and would need to be lowered into a call_extern at some call "
                "sites, and a device kernel launch at others.",
                location=location_of(func),
            )
        if name in launched:
            func.sym_visibility = None
            _return_nothing(func)
            with_attr(func, _GLOBAL, True)
            with_attr(func, CALLING_CONV, _LAUNCH)
            with_attr(func, _PARAMS, ArrayAttr(StringAttr(p) for p in kernel.launch))
        elif name in external:
            func.sym_visibility = None
            with_attr(func, _GLOBAL, True)


def _collected(func: tir.FuncOp) -> _Kernel:
    """Return what launches of a function need."""
    target = Target(without_host(target_of(func, "LowerDeviceKernelLaunch")).config)
    kernel = _Kernel(func, target)
    numbers = [(p, p.type) for p in func.params]
    named = {Var(name_of(p) or "", t): tx.as_sym(expr_node(p)) for p, t in numbers if isinstance(t, IntegerType)}
    shared: PrimExpr | None = None
    for op in func.walk():
        if isinstance(op, tir.LaunchThreadOp) and not op.virtual:
            extent = op.extent.owner
            value = tx.from_sym(extent.expr.data.substitute(named)) if isinstance(extent, ValueOp) else None
            kernel.launch.setdefault(op.tag.data, expr_node(op.extent) if value is None else value)
        elif isinstance(op, tir.AllocateOp) and op.scope.data == "shared.dyn":
            if shared is not None:
                raise TiraxError("Only one dynamic shared memory allocation is allowed.", location=location_of(op))
            shared = const(byte_size(op.dtype), "int32")
            total: PrimExpr = const(1, "int32")
            for extent in op.extents:
                total = total * tx.from_sym(extent.substitute(named))
            shared = total * shared
    if shared is not None:
        kernel.launch[_DYNAMIC] = shared
    return kernel


def _replace(call: tir.CallOp, new: tir.CallExpr) -> None:
    insert_before(call, new)
    call.result.replace_all_uses_with(new.result)
    call.detach()
    call.erase()


def _call_extern(call: tir.CallOp) -> None:
    _replace(call, tir.CallExternOp(call.func.data, list(call.call_args), call.result.type))


def _launch(call: tir.CallOp, kernel: _Kernel) -> None:
    params = kernel.func.params
    if len(params) != len(call.call_args):
        raise TiraxError(
            f"Function {call.func.data} accepts {len(params)} arguments as input, but is called using "
            f"{len(call.call_args)} arguments",
            location=location_of(call),
        )
    mapping = dict(zip(params, call.call_args, strict=True))
    passed = [_copied_before(call, value.ssa, mapping) for value in kernel.launch.values()]
    result = i32 if call.result.type == tir.VOID else call.result.type
    _replace(call, tir.CallPackedOp(call.func.data, [*call.call_args, *passed], result))


def _copied_before(call: tir.CallOp, value: SSAValue, mapping: dict[SSAValue, SSAValue]) -> SSAValue:
    """Return a copy of an expression before a call, in terms of its arguments."""
    inside = Block()
    new = clone_expr(value, inside, dict(mapping))
    for op in list(inside.ops):
        op.detach()
        insert_before(call, op)
    return new


def _return_nothing(func: tir.FuncOp) -> None:
    """Remove the status that a function returns. Raises `TiraxError` for another result."""
    for op in [o for o in func.walk() if isinstance(o, tir.ReturnOp)]:
        owner = op.value.owner
        if not isinstance(owner, tir.ConstOp) or owner.py_value != 0:
            raise TiraxError("Device kernel may only contain successful return, T.ret(0)", location=location_of(op))
        insert_before(op, zero := tir.ConstOp(0, i32), tir.EvaluateOp(zero.result))
        op.detach()
        op.erase()
    func.ret_type = None


__all__ = ["LowerDeviceKernelLaunch"]
