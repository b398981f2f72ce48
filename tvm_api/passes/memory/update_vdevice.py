"""Replace a virtual device of a module by another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, NoneAttr, StringAttr, TupleType
from xdsl.ir import Attribute, Operation

from ....diagnostics import TiraxError
from ....dialects.relax.base import ToVDevice
from ....dialects.relax.devices import GLOBAL_INFOS, VDEVICE, global_infos
from ....dialects.relax.operator import Operator
from ....dialects.relax.types import CallableType, TensorType, tuple_type
from ....ir.functions.lookup import relax_functions
from ....ir.passes.transform import Pass

Device = Callable[[StringAttr], StringAttr]


@dataclass(frozen=True)
class UpdateVDevice(Pass):
    """Replace the virtual device `index` of the module's list by `new_vdevice`, in the list and in all struct info.

    Raises `TiraxError` if the list has no such device.
    """

    name = "update-vdevice"
    new_vdevice: Any = "llvm:0"
    index: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        infos = global_infos(op.attributes)
        listed = infos.get(VDEVICE, [])
        if not 0 <= self.index < len(listed):
            raise TiraxError("no such virtual device", expected=f"an index below {len(listed)}", found=self.index)
        old, new = listed[self.index], str(self.new_vdevice)
        for func in relax_functions(op):
            move_devices(func, lambda device: StringAttr(new) if device.data == old else device)
        infos[VDEVICE] = [new if place == self.index else device for place, device in enumerate(listed)]
        rows = {kind: ArrayAttr([StringAttr(i) for i in listed]) for kind, listed in infos.items()}
        op.attributes[GLOBAL_INFOS] = DictionaryAttr(rows)


def move_devices(func: Operation, device: Device) -> None:
    """Apply a function to the virtual devices of all values, attributes and results of a function, in place."""
    for op in func.walk():
        for name, attr in op.properties.items():
            op.properties[name] = moved(attr, device)
        for block in (block for region in op.regions for block in region.blocks):
            for arg in block.args:
                arg._type = moved(arg.type, device)  # pyright: ignore[reportPrivateUsage]
        for result in op.results:
            result._type = moved(result.type, device)  # pyright: ignore[reportPrivateUsage]
        if isinstance(op, ToVDevice):
            op.properties["dst_vdevice"] = device(StringAttr(str(cast(Operator, op).attr("dst_vdevice"))))


def moved(attr: Attribute, device: Device) -> Attribute:
    """Return struct info with other virtual devices; other attributes unchanged."""
    if isinstance(attr, TensorType) and not isinstance(attr.vdevice, NoneAttr):
        return TensorType(attr.shape, attr.ndim, attr.dtype, device(attr.vdevice))
    if isinstance(attr, TupleType):
        return tuple_type([moved(t, device) for t in attr.types])
    if isinstance(attr, CallableType):
        params = (
            ArrayAttr([moved(t, device) for t in attr.params]) if isinstance(attr.params, ArrayAttr) else attr.params
        )
        return CallableType(params, moved(attr.ret, device), attr.impure)
    return attr
