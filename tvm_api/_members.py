"""Members of classes that only programs of TVM read: rows of tables, which `attach` gives to the classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..diagnostics import unknown_name
from ..dialects import tir
from ..dialects.sched import InstructionKind
from ..dialects.tir.targets import KINDS, TargetKind
from ..frontend.nn.exporter import Exporter
from ..frontend.training import trainer
from ..handles.relax.call import Attrs
from ..handles.target import Target
from ..handles.tir.domains import IterVar
from ..handles.tir.ir_builder import IRBuilder
from ..handles.tir.storage import AllocateConst
from ..handles.tir.variables import Var
from ..ir.affine.iter_map import IterMapLevel
from ..schedule.block_scope import ScheduleState
from ..schedule.schedule import Schedule
from ..schedule.state import ScheduleError
from ..schedule.trace import StmtSRef, Trace
from ..te.tensor import ScanOp, Tensor, TensorSlice
from ..transforms.dpl.patterns import DFPattern
from ..tuning.schedule_rules import ReuseType
from .handles.traces import append, kind_of
from .handles.type_pattern import has_type


def _option(name: str, default: Any) -> property:
    """Return a property for an option of a target; minus signs in its name are underscores."""
    return property(lambda self: self.attrs.get(name, self.attrs.get(name.replace("_", "-"), default)))


_OPTIONS: dict[str, Any] = {
    "arch": "", "libs": [], "mattr": [], "mcpu": "", "model": "unknown", "max_num_threads": -1,
    "thread_warp_size": -1, "max_block_size_x": -1, "max_block_size_y": -1, "max_shared_memory_per_block": -1,
    "max_function_args": -1, "vtcm_capacity": 0, "l2_cache_size_bytes": 0, "supports_integer_dot_product": False,
    "supports_cooperative_matrix": False,
}  # fmt: skip
"""Options of targets, and what they are where none is set."""


def _target_or_current(target: Any) -> Any:
    return Target.current() if target is None else Target(target)


def _level_from_str(name: str) -> IterMapLevel:
    """Return the level of a name. Raises `NameLookupError`."""
    names = {level.name.replace("_", "").lower(): level for level in IterMapLevel}
    if name.lower() not in names:
        raise unknown_name("level", name, names)
    return names[name.lower()]


def _seq_index(self: StmtSRef) -> int:
    """Return the place among the statements around it, -1 if it stands alone."""
    block = self.op.parent
    siblings: list[object] = [
        op for op in (() if block is None else block.ops) if isinstance(op, tir.BlockOp | tir.ForOp)
    ]
    return siblings.index(self.op) if len(siblings) > 1 else -1


def _can_decompose_padding(self: Schedule, block: Any, loop: Any) -> bool:
    """Return whether `decompose_padding` of a block at a loop succeeds."""
    try:
        self.copy().decompose_padding(block, loop)
    except ScheduleError:
        return False
    return True


@contextmanager
def _new_scope(self: IRBuilder) -> Iterator[None]:
    """Open a scope of statements."""
    yield


def _stored(kind: Callable[[Any], Any]) -> Callable[[Attrs, str], Any]:
    def get(self: Attrs, key: str) -> Any:
        return kind(self[key])

    return get


def _constants(self: AllocateConst) -> Any:
    return self.op.results[0].type


def _reuse(self: ReuseType) -> dict[str, Any]:
    return {"req": self.req, "levels": list(self.levels), "scope": self.scope}


_MEMBERS: Mapping[type, Mapping[str, Any]] = {
    Target: {
        **{name: _option(name, default) for name, default in _OPTIONS.items()},
        "get_kind_attr": lambda self, attr_name: getattr(self.kind, attr_name, None),
        "target_or_current": staticmethod(_target_or_current),
    },
    TargetKind: {
        "options": property(lambda self: list(self.options_from_name(self.name))),
        "options_from_name": staticmethod(lambda kind_name: dict.fromkeys(_OPTIONS, "") if kind_name in KINDS else {}),
    },
    IterMapLevel: {
        "Bijective": IterMapLevel.BIJECTIVE,
        "Surjective": IterMapLevel.SURJECTIVE,
        "NoCheck": IterMapLevel.NO_CHECK,
        "from_str": staticmethod(_level_from_str),
    },
    Attrs: {
        "get_int": _stored(int),
        "get_str": _stored(str),
        "get_int_tuple": _stored(lambda values: tuple(int(v) for v in values)),
        "list_field_info": lambda self: list(self),
    },
    IterVar: {"Unrolled": 5, "Vectorized": 6, "Parallelized": 7, "Tensorized": 8},
    Var: {"name_hint": property(lambda self: self.name)},
    IRBuilder: {"new_scope": _new_scope},
    AllocateConst: {
        "annotations": property(lambda self: {}),
        "dtype": property(lambda self: self.buffer_var.dtype),
        "extents": property(lambda self: list(self.buffer_var.shape)),
        "irmod_storage_idx": property(lambda self: None),
    },
    Trace: {"append": append},
    InstructionKind: {"get": staticmethod(kind_of)},
    DFPattern: {"has_type": has_type},
    StmtSRef: {"seq_index": property(_seq_index)},
    Schedule: {"can_decompose_padding": _can_decompose_padding},
    ScheduleState: {"debug_mask": property(lambda self: 0)},
    ReuseType: {"as_dict": _reuse},
    Tensor: {"axis": property(lambda self: self.op.axis)},
    TensorSlice: {
        "dtype": property(lambda self: self.tensor.dtype),
        "asobject": lambda self: self.tensor(*self.indices),
    },
    ScanOp: {"scan_axis": property(lambda self: self.axis[0])},
    Exporter: {
        "add_external_module": lambda self, mod: self.add_extern(mod),
        "__enter__": lambda self: self,
        "__exit__": lambda self, exc_type, exc, traceback: None,
    },
    trainer.SetupTrainer: {
        "BACKBONE_FUNC": trainer.BACKBONE,
        "BACKBONE_LOSS_FUNC": trainer.LOSS,
        "ADJOINT_FUNC": trainer.ADJOINT,
        "OPTIMIZER_FUNC": trainer.OPTIMIZER,
        "PARAM_NUM_ATTR_KEY": "param_num",
        "STATE_NUM_ATTR_KEY": "state_num",
    },
}


def attach() -> None:
    """Give the classes their members, where they have none of the name."""
    for cls, members in _MEMBERS.items():
        for name, value in members.items():
            if name not in vars(cls):
                setattr(cls, name, value)


__all__ = ["attach"]
