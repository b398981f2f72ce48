"""Instructions and traces of schedules that programs write by hand, with TVM's constructors.

    block = BlockRV()
    Trace([Instruction(InstructionKind.get("GetBlock"), [], ["matmul", "main"], [block])], {})

The classes stand for those of `schedule`, whose objects are their instances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block

from ...diagnostics import TiraxError, unknown_name
from ...dialects import sched, tir
from ...schedule import trace as _trace
from ...schedule.schedule import Schedule
from ...schedule.state import ScheduleError
from ...schedule.trace import map_leaves


class _StandsFor(type):
    """The class of classes whose instances are those of another one, `of`."""

    of: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.of)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.of, name)


if TYPE_CHECKING:
    from ...schedule.trace import BlockRV, LoopRV
else:

    class BlockRV(metaclass=_StandsFor):
        """A handle to a block; a new one, for an instruction that has it as its output."""

        of = _trace.BlockRV

        def __new__(cls) -> Any:
            return _trace.BlockRV(_fresh("block"))

    class LoopRV(metaclass=_StandsFor):
        """A handle to a loop; a new one, for an instruction that has it as its output."""

        of = _trace.LoopRV

        def __new__(cls) -> Any:
            return _trace.LoopRV(_fresh("loop"))


def _fresh(kind: str) -> Any:
    return Block(arg_types=[sched.TYPES[kind]]).args[0]


def kind_of(name: str) -> sched.InstructionKind:
    """Return the kind of an instruction by TVM's name. Raises `NameLookupError`."""
    spec = _by_kind().get(name)
    if spec is None:
        raise unknown_name("instruction", name, _by_kind())
    return sched.InstructionKind(spec.kind, spec.only_names)


def _by_kind() -> dict[str, sched.Spec]:
    return {spec.kind: spec for spec in sched.INSTRUCTIONS.values()}


class Instruction(metaclass=_StandsFor):
    """A step of a schedule: its kind, its inputs, its attributes, and handles that become its outputs."""

    of = sched.Instruction

    def __new__(
        cls, kind: sched.InstructionKind | str, inputs: Sequence[Any], attrs: Sequence[Any], outputs: Sequence[Any]
    ) -> Any:
        name = kind if isinstance(kind, str) else kind.name
        spec = _by_kind()[kind_of(name).name]
        if len(inputs) > len(spec.inputs) or len(attrs) > len(spec.attrs):
            raise TiraxError(f"{name} has too many arguments", expected=", ".join(spec.params))
        given = dict(zip(spec.inputs, inputs, strict=False)) | dict(zip(spec.attrs, attrs, strict=False))
        made = sched.OPS[spec.name].of({k: map_leaves(v, _value) for k, v in given.items()}, len(outputs))
        for handle, value in zip(outputs, made.outputs, strict=True):
            handle.ssa = value
        return made


def _value(leaf: Any) -> Any:
    return leaf.ssa if isinstance(leaf, _trace.RV) else leaf


class Trace(metaclass=_StandsFor):
    """The instructions of a schedule in order, with decisions for those that sample."""

    of = _trace.Trace
    apply_json_to_schedule = staticmethod(_trace.Trace.apply_json_to_schedule)
    from_json = staticmethod(_trace.Trace.from_json)
    from_mlir = staticmethod(_trace.Trace.from_mlir)

    def __new__(cls, insts: Sequence[Any] = (), decisions: Mapping[Any, Any] | None = None) -> Any:
        new = _trace.Trace()
        for inst in insts:
            append(new, inst, (decisions or {}).get(inst))
        return new


def append(self: _trace.Trace, inst: Any, decision: Any = None) -> None:
    """Append an instruction, one of another trace as a copy."""
    placed = inst if inst.parent is None else inst.clone()
    if decision is not None:
        placed.properties["decision"] = sched.encode(decision, [])
    self.add(placed)


class ScheduleDebugMask(IntEnum):
    """What a schedule of TVM checks after each step; here the state is always checked by its verifiers."""

    VERIFY_SREF_TREE = 1
    VERIFY_CACHED_FLAGS = 2


def has_block(sch: Schedule, block_name: str) -> bool:
    """Return whether the function that the schedule works on has a block of a name."""
    try:
        sch.get_block(block_name)
    except ScheduleError:
        return False
    return True


def is_output_block(sch: Schedule, block: Any) -> bool:
    """Return whether a block writes a buffer that is a parameter of its function."""
    inside = sch.get_sref(block).op.walk()
    return any(isinstance(op.buffer.owner, Block) for op in inside if isinstance(op, tir.WritesOp))


__all__ = [
    "BlockRV", "Instruction", "LoopRV", "ScheduleDebugMask", "Trace", "append", "has_block",
    "is_output_block", "kind_of",
]  # fmt: skip
