"""Tuning of Relax programs: each tensor function that they call is tuned once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from ..diagnostics import TiraxError
from ..dialects import relax
from ..driver.build import build
from ..driver.pipelines import OPTIMIZE, make_passes
from ..handles.module import IRModule
from ..ir.equality import structural_equal
from ..ir.passes.transform import Sequential
from ..runtime.executable import Executable
from ..schedule.random import Random
from ..target import Target
from ..transforms.params.bind_params import BindParams
from .context import TuneContext
from .database import Database
from .tir_integration import apply_database, space_of, tunable_functions, workload_of
from .tune import TuneOptions, strategy_of, tune_tasks
from .types import stable_hash


@dataclass
class ExtractedTask:
    """A tensor function of a Relax program; `weight` is the number of its calls."""

    task_name: str
    mod: IRModule
    target: Target
    dispatched: list[IRModule] = field(default_factory=list)
    weight: int = 1


def extract_tasks(
    mod: IRModule,
    target: Target | str,
    params: Mapping[str, Any] | None = None,
    module_equality: str = "structural",
) -> list[ExtractedTask]:
    """Return the tensor functions of static shape that the Relax functions of a module call, without duplicates.

    `params` are bound to `main` first. Relax operators are legalized and fused as in a build. `module_equality`
    is accepted for compatibility with TVM.
    """
    machine = Target(target) if isinstance(target, str) else target
    lowered_mod = lowered(mod, params)
    calls = _calls(lowered_mod)
    by_hash: dict[str, list[ExtractedTask]] = {}
    for func in tunable_functions(lowered_mod):
        name = func.sym_name.data
        if not calls.get(name):
            continue
        alone = workload_of(func)
        same = by_hash.setdefault(stable_hash(alone), [])
        task = next((t for t in same if structural_equal(t.mod.op, alone.op)), None)
        if task is None:
            same.append(ExtractedTask(name, alone, machine, [alone], calls[name]))
        else:
            task.weight += calls[name]
    return [task for same in by_hash.values() for task in same]


def lowered(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """Return a copy with `params` bound and its Relax operators lowered to calls of fused tensor functions."""
    if not isinstance(mod, IRModule):
        raise TiraxError("what is tuned is a module", expected="IRModule", found=type(mod).__name__)
    result = BindParams("main", dict(params))(mod) if params else mod.clone()
    if any(isinstance(op, relax.Operator) for op in result.op.walk()):
        result = Sequential(make_passes(OPTIMIZE))(result)
    return result


def _calls(mod: IRModule) -> dict[str, int]:
    """Count the calls of each tensor function."""
    counts: dict[str, int] = {}
    for op in mod.op.walk():
        name = _callee(op)
        if name is not None:
            counts[name] = counts.get(name, 0) + 1
    return counts


def _callee(op: Any) -> str | None:
    if isinstance(op, relax.CallTIROp | relax.CallTIRInplaceOp):
        return op.callee_name
    return op.func.data if isinstance(op, relax.CallDPSPackedOp) else None


def tune_relax(
    mod: IRModule,
    params: Mapping[str, Any] | None,
    target: Target | str,
    work_dir: str | os.PathLike[str] | None = None,
    max_trials_global: int = 64,
    *,
    op_names: Sequence[str] | None = None,
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    seed: int | None = None,
    module_equality: str = "structural",
    **options: Unpack[TuneOptions],
) -> Database:
    """Tune the tensor functions that a Relax program calls (`extract_tasks`), and return the database.

    `op_names` restricts tuning to functions whose name contains one of these. `options` are those of
    `tune_tasks`.
    """
    extracted = extract_tasks(mod, target, params)
    if op_names is not None:
        extracted = [task for task in extracted if any(name in task.task_name for name in op_names)]
    seeds = Random(seed)
    contexts = [
        TuneContext(t.mod, t.target, space_of(space), strategy_of(strategy), t.task_name, seeds.fork())
        for t in extracted
    ]
    return tune_tasks(
        tasks=contexts,
        task_weights=[float(task.weight) for task in extracted],
        work_dir=work_dir,
        max_trials_global=max_trials_global,
        **options,
    )


def compile_relax(
    database: Database,
    mod: IRModule,
    target: Target | str,
    params: Mapping[str, Any] | None = None,
    enable_warning: bool = False,
) -> Executable:
    """Build a program with the schedules of the database; functions without a record get the default schedule.

    `enable_warning` logs their names. The errors are those of `driver.build.build`.
    """
    machine = Target(target) if isinstance(target, str) else target
    lowered_mod = lowered(mod, params)
    apply_database(lowered_mod, database, machine, enable_warning)
    return build(lowered_mod, machine, pipeline="lower-cpu")
