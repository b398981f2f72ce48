"""Tuning of tensor functions: `tune_tir`, and `compile_tir` to use the results."""

from __future__ import annotations

import copy
import logging
import os
from typing import Any, Unpack

from xdsl.dialects.builtin import ModuleOp, StringAttr

from ..diagnostics import TiraxError
from ..dialects import tir
from ..handles.module import IRModule
from ..handles.tir.prim_func import PrimFunc
from ..schedule import Schedule
from ..schedule.random import Random
from ..target import Target
from .builder import SCHEDULED, mark_scheduled
from .context import TuneContext
from .database import Database
from .space import SpaceGenerator
from .tune import TuneOptions, strategy_of, tune_tasks

logger = logging.getLogger("tirax.tuning")
MAIN = "main"


def workload_of(func: tir.FuncOp) -> IRModule:
    """Return the workload of a function: a module with the function alone, public and named `main`.

    So equal functions are the same workload, whatever their names are.
    """
    alone = func.clone()
    alone.properties["sym_name"] = StringAttr(MAIN)
    alone.properties.pop("sym_visibility", None)
    return IRModule(ModuleOp([alone]))


def tunable_functions(mod: Any) -> list[tir.FuncOp]:
    """Return the tensor functions of a module that can be tuned; a function is returned itself.

    They take only buffers of static shape, and are not scheduled yet. Raises `TiraxError` for other objects.
    """
    if isinstance(mod, PrimFunc):
        return [mod.op] if _is_tunable(mod.op) else []
    if not isinstance(mod, IRModule):
        raise TiraxError("what is tuned is a module or a tensor function", found=type(mod).__name__)
    return [op for op in mod.op.body.block.ops if isinstance(op, tir.FuncOp) and _is_tunable(op)]


def _is_tunable(func: tir.FuncOp) -> bool:
    if func.func_attrs is not None and SCHEDULED in func.func_attrs.data:
        return False
    types = [p.type for p in func.params]
    return all(isinstance(t, tir.BufferType) and all(d.constant is not None for d in t.dims) for t in types)


def space_of(space: Any) -> SpaceGenerator:
    """Return a space generator for one task: a copy of `space`, or a new one from `SpaceGenerator.create`."""
    return copy.copy(SpaceGenerator.create(space))


def tune_tir(
    mod: IRModule | PrimFunc,
    target: Target | str,
    work_dir: str | os.PathLike[str] | None = None,
    max_trials_global: int = 64,
    *,
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    num_tuning_cores: int | str = "physical",
    seed: int | None = None,
    module_equality: str = "structural",
    special_space: dict[str, SpaceGenerator] | None = None,
    task_name: str = MAIN,
    **options: Unpack[TuneOptions],
) -> Database:
    """Tune each tensor function of a module, and return the database with the results.

    `special_space` maps function names to design spaces. `num_tuning_cores` and `module_equality` are accepted
    for compatibility with TVM. `options` are those of `tune_tasks`. Raises `TiraxError`.
    """
    machine = Target(target) if isinstance(target, str) else target
    seeds = Random(seed)
    funcs = tunable_functions(mod)
    if not funcs:
        raise TiraxError("nothing to tune", expected="a tensor function of known shapes that is not scheduled")
    tasks = [
        TuneContext(
            workload_of(func),
            machine,
            space_of((special_space or {}).get(func.sym_name.data, space)),
            strategy_of(strategy),
            task_name if len(funcs) == 1 else func.sym_name.data,
            seeds.fork(),
        )
        for func in funcs
    ]
    return tune_tasks(
        tasks=tasks,
        work_dir=work_dir,
        max_trials_global=max_trials_global,
        **options,
    )


def compile_tir(database: Database, mod: IRModule | PrimFunc, target: Target | str) -> Schedule | None:
    """Return the fastest schedule of a module that the database has for a target, or None if it has none.

    A module with a single function `main` is scheduled by its trace; in other modules each function with a
    record is replaced.
    """
    module = mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)
    funcs = tunable_functions(module)
    if len(funcs) == 1 and module.names == [MAIN]:
        return database.query_schedule(workload_of(funcs[0]), target)
    out = module.clone()
    return Schedule(out) if apply_database(out, database, target) else None


def apply_database(mod: IRModule, database: Database, target: Target | str, warn: bool = False) -> int:
    """Schedule the functions of `mod` that have records, in place, mark them, and return their number.

    `warn` logs the names of functions without a record.
    """
    count = 0
    for func in tunable_functions(mod):
        sch = database.query_schedule(workload_of(func), target)
        if sch is None:
            if warn:
                logger.warning("no tuning record for %s: it gets the default schedule", func.sym_name.data)
            continue
        _replace(func, sch.mod[MAIN].op.clone())
        count += 1
    return count


def _replace(func: tir.FuncOp, new: tir.FuncOp) -> None:
    """Replace a function by a scheduled one, under the same name."""
    for key in ("sym_name", "sym_visibility"):
        if key in func.properties:
            new.properties[key] = func.properties[key]
        else:
            new.properties.pop(key, None)
    mark_scheduled(new)
    block = func.parent
    assert block is not None
    block.insert_op_before(new, func)
    func.detach()
