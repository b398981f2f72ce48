"""Tuning as passes: tune the tensor functions of a module, and apply the results.

The default target is the current one (`with Target(…):`), or this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..diagnostics import TiraxError
from ..handles.module import IRModule
from ..ir.passes.transform import Pass
from ..target import Target
from .database import Database
from .relax_integration import tune_relax
from .tir_integration import apply_database, tunable_functions, tune_tir


@dataclass(frozen=True)
class MetaScheduleTuneTIR(Pass):
    """Tune every tensor function; records go to the database of `work_dir` and the module stays unchanged."""

    name: ClassVar[str] = "meta-schedule-tune-tir"
    work_dir: str = ""
    max_trials_global: int = 64
    target: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Tune without changing the module."""
        mod = IRModule(op)
        if not tunable_functions(mod):
            return
        tune_tir(
            mod,
            _target(self.target),
            _work_dir(self.work_dir),
            self.max_trials_global,
            database=_database(),
        )


@dataclass(frozen=True)
class MetaScheduleTuneIRMod(Pass):
    """Tune the tensor functions that Relax functions call; records go to the database of `work_dir`.

    `params` are bound to `main` for tuning; `op_names` selects functions by substrings of their names.
    """

    name: ClassVar[str] = "meta-schedule-tune-irmod"
    params: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)
    work_dir: str = ""
    max_trials_global: int = 64
    max_trials_per_task: int | None = None
    op_names: tuple[str, ...] = ()
    target: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Tune without changing the module."""
        tune_relax(
            IRModule(op),
            self.params,
            _target(self.target),
            _work_dir(self.work_dir),
            self.max_trials_global,
            max_trials_per_task=self.max_trials_per_task,
            op_names=self.op_names or None,
            database=_database(),
        )


@dataclass(frozen=True)
class MetaScheduleApplyDatabase(Pass):
    """Replace each tensor function by the fastest schedule that a database has for the target.

    The database is that of `work_dir`, or the current one (`with database:`). Functions without a record remain
    unchanged; `enable_warning` logs their names. Raises `TiraxError` if there is no database.
    """

    name: ClassVar[str] = "meta-schedule-apply-database"
    work_dir: str | None = None
    enable_warning: bool = False
    target: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Schedule in place."""
        database = Database.current() if self.work_dir is None else Database.open_existing(self.work_dir)
        if database is None:
            raise TiraxError("there is no database to apply", hint="give work_dir, or enter one: with database: …")
        apply_database(IRModule(op), database, _target(self.target), self.enable_warning)


def _database() -> Database | str:
    """Return the current database, or that of the folder."""
    entered = Database.current()
    return "sqlite" if entered is None else entered


def _target(target: str | Target | None) -> Target:
    """Return `target`, the current target, or this machine, in this order."""
    return Target(target) if isinstance(target, str) else target or Target.current() or Target.host()


def _work_dir(work_dir: str) -> str | None:
    return work_dir or None
