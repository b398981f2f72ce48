"""`make-unpacked-api`: functions that take addresses of data, as functions of C do, and return a status.

main(A: buffer, n)   ->   main(A: address, n) -> int32
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Attribute, Block, SSAValue

from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....handles.target import Target
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import copied
from ....ir.rewriting.edit import insert_before
from ....transforms.tir.walk import functions, with_attr
from .abi_writer import Writer
from .make_packed_api import has_convention, replace_addresses, target_of


@dataclass(frozen=True)
class MakeUnpackedAPI(Pass):
    """Make the buffers among the arguments of public functions addresses.

    Functions whose target has no host, and those that were lowered before, remain; calls of public functions return a
    status. Raises `TiraxError` for a function without a target.
    """

    name = "make-unpacked-api"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        public = {f.sym_name.data for f in functions(op) if not f.private}
        by_name = {f.sym_name.data: f for f in functions(op)}
        for func in functions(op):
            if func.sym_name.data not in public or has_convention(func):
                continue
            if host := target_of(func, "MakeUnpackedAPI").config.get("host"):
                _unpack(func)
                with_attr(func, "target", tir.TargetAttr.of(host))
        for func in functions(op):
            for call in [o for o in func.walk() if isinstance(o, tir.CallOp) and o.func.data in public]:
                _pass_data(call, by_name[call.func.data].ret_type)


def _pass_data(call: tir.CallOp, result: Attribute | None) -> None:
    arguments = [_data(a) for a in call.call_args]
    new = tir.CallOp(call.func.data, arguments, tir.VOID if result is None else result)
    insert_before(call, new)
    call.result.replace_all_uses_with(new.result)
    call.detach()
    call.erase()


def _data(value: SSAValue) -> SSAValue:
    """Return the data of an array on the stack, other arguments as they are."""
    made = value.owner
    is_array = isinstance(made, tir.DeviceCallOp) and made.func.data == "tvm_stack_make_array"
    return made.call_args[0] if isinstance(made, tir.DeviceCallOp) and is_array else value


def _unpack(func: tir.FuncOp) -> None:
    device = Target(target_of(func, "MakeUnpackedAPI").config).get_target_device_type()
    old = func.body.block
    buffers = [(p, p.type) for p in old.args if isinstance(p.type, tir.BufferType)]
    block = Block(arg_types=[tir.address_type(p) if isinstance(p.type, tir.BufferType) else p.type for p in old.args])
    writer = Writer(block)
    values: dict[SSAValue, SSAValue] = {}
    for param, arg in zip(old.args, block.args, strict=True):
        set_name(arg, name_of(param))
        values[param] = arg
    if buffers:
        writer.attribute("device_id", 0, "default")
        writer.attribute("device_type", device, "default")
    for param, t in buffers:
        values[param] = writer.declare_op(name_of(param) or "buffer", values[param], t, alias=True)
    copied(old.ops, writer.block, values)
    replace_addresses(writer.block)
    writer.end()
    func.body.add_block(block)
    func.body.detach_block(old)
    old.erase(safe_erase=False)
    func.ret_type = i32
    func.handle_names = None


__all__ = ["MakeUnpackedAPI"]
