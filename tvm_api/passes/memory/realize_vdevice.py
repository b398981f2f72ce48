"""Propagate virtual devices from hints to the values around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NoneAttr, StringAttr, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ....diagnostics import TiraxError
from ....dialects import relax
from ....dialects.names import name_of, set_name
from ....dialects.relax.base import HintOnDevice, ToVDevice
from ....dialects.relax.devices import device_text, vdevices
from ....dialects.relax.types import TensorType
from ....ir.functions.lookup import relax_functions
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import erase, insert_before
from ....ir.rewriting.infer import refine_struct_info

Devices = dict[SSAValue, StringAttr]


class MissingDeviceError(TiraxError, ValueError):
    """A hint names a device that is not in the module's list."""


@dataclass(frozen=True)
class RealizeVDevice(Pass):
    """Write virtual devices into the struct info of all tensors that share one, and turn hints into copies.

    y = hint_on_device(x, cpu); z = add(y, w)  ->  x, y, z, w : … on llvm:0

    Values in one binding are on one device, except across `hint_on_device` and `to_vdevice`. A hint is a
    `to_vdevice` if its operand is on another device, otherwise the operand. Raises `MissingDeviceError` if the
    module does not list a hint's device.
    """

    name = "realize-vdevice"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        listed = vdevices(op.attributes)
        for func in relax_functions(op):
            graph = _Graph(listed)
            graph.collect(func)
            devices = graph.spread()
            _write(devices)
            _realize(func, listed)
            if devices:
                refine_struct_info(func)
                result = func.return_op.value.type
                func.ret_type = relax.erase_unbound(result, set(relax.free_symbolic_vars(p.type for p in func.params)))


@dataclass
class _Graph:
    """Values that share a device, with the devices that are known and those that are only hints."""

    listed: list[str]
    together: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    known: Devices = field(default_factory=Devices)
    hinted: Devices = field(default_factory=Devices)

    def collect(self, func: relax.FuncOp) -> None:
        for param in func.params:
            self._declare(param, param.type)
        for op in func.walk():
            for result in op.results if not relax.is_inline(op) else ():
                self._declare(result, result.type)
            self._connect(op)
        self._declare_result(func.return_op.value, func.ret_type)

    def _declare(self, value: SSAValue, t: Attribute) -> None:
        if isinstance(t, TensorType) and isinstance(t.vdevice, StringAttr):
            self.known.setdefault(value, t.vdevice)

    def _declare_result(self, value: SSAValue, declared: Attribute) -> None:
        """Use the devices that a function declares for its result, also for the fields of a tuple."""
        self._declare(value, declared)
        while isinstance(value.owner, relax.BindOp | relax.DataflowOp):
            value = _source(value)
        if isinstance(declared, TupleType) and isinstance(value.owner, relax.TupleOp):
            for part, t in zip(value.owner.fields_, declared.types, strict=False):
                self._declare_result(part, t)

    def _connect(self, op: Operation) -> None:
        if isinstance(op, HintOnDevice):
            device = StringAttr(device_of_hint(op, self.listed))
            self.known[op.results[0]] = device
            self.hinted[op.operands[0]] = device
        elif isinstance(op, relax.DataflowOp):
            for value, result in zip(op.output_op.values_, op.outputs, strict=True):
                self._join(result, [value])
        elif isinstance(op, relax.IfOp):
            ends = (region.block.last_op for region in op.regions)
            self._join(op.result, [op.cond, *(v for end in ends if end is not None for v in end.operands)])
        elif op.results and not relax.is_inline(op) and not isinstance(op, ToVDevice):
            self._join(op.results[0], _variables(op.operands))

    def _join(self, value: SSAValue, others: Iterable[SSAValue]) -> None:
        for other in others:
            self.together.setdefault(value, []).append(other)
            self.together.setdefault(other, []).append(value)

    def spread(self) -> Devices:
        """Return the device of each value: that of the values it is with, or else one that a hint expects."""
        out: Devices = {}
        for start in (self.known, self.hinted):
            waiting = [value for value in start if value not in out]
            out |= {value: start[value] for value in waiting}
            while waiting:
                value = waiting.pop()
                for other in self.together.get(value, ()):
                    if other not in out:
                        out[other] = out[value]
                        waiting.append(other)
        return out


def _source(value: SSAValue) -> SSAValue:
    owner = value.owner
    if isinstance(owner, relax.DataflowOp):
        return owner.output_op.values_[list(owner.outputs).index(value)]  # pyright: ignore[reportArgumentType]
    assert isinstance(owner, relax.BindOp)
    return owner.value


def _variables(values: Iterable[SSAValue]) -> Iterator[SSAValue]:
    """Yield values, and instead of leaves and tuples without a name what they are made of."""
    for value in values:
        if isinstance(value.owner, Operation) and relax.is_inline(value.owner):
            yield from _variables(value.owner.operands)
        else:
            yield value


def device_of_hint(op: HintOnDevice, listed: list[str]) -> str:
    """Return the listed virtual device that a hint names. Raises `MissingDeviceError`."""
    wanted = device_text(str(op.attr("dst_vdevice")))
    for device in listed:
        if device_text(":".join(device.split(":")[:2])) == wanted:
            return device
    raise MissingDeviceError(
        "the module has no virtual device for the hint",
        location=location_of(op),
        expected=", ".join(listed) or 'a list: I.module_global_infos({"vdevice": [I.vdevice("llvm")]})',
        found=wanted,
    )


def _write(devices: Mapping[SSAValue, StringAttr]) -> None:
    for value, device in devices.items():
        t = value.type
        if isinstance(t, TensorType) and isinstance(t.vdevice, NoneAttr):
            value._type = TensorType(t.shape, t.ndim, t.dtype, device)  # pyright: ignore[reportPrivateUsage]


def _realize(func: relax.FuncOp, listed: list[str]) -> None:
    for op in [op for op in func.walk() if isinstance(op, HintOnDevice)]:
        data, device = op.operands[0], device_of_hint(op, listed)
        here = data.type.vdevice if isinstance(data.type, TensorType) else None
        same = isinstance(here, StringAttr) and here.data == device
        new = relax.BindOp(data) if same else ToVDevice.make(data, dst_vdevice=device)
        insert_before(op, new)
        set_name(new.results[0], name_of(op.results[0]))
        op.results[0].replace_all_uses_with(new.results[0])
        erase(op)
