"""`tvm.meta_schedule`: tuning."""

from __future__ import annotations

from . import (
    arg_info,
    builder,
    cost_model,
    database,
    measure_callback,
    mutator,
    postproc,
    profiler,
    relax_integration,
    runner,
    schedule_rule,
    search_strategy,
    space_generator,
    task_scheduler,
    tir_integration,
    tune,
    tune_context,
)
from .builder import Builder
from .cost_model import CostModel
from .database import Database, TuningRecord
from .measure_callback import MeasureCallback
from .mutator import Mutator
from .postproc import Postproc
from .profiler import Profiler
from .relax_integration import ExtractedTask, compile_relax, extract_tasks, tune_relax
from .runner import Runner
from .schedule_rule import ScheduleRule
from .search_strategy import MeasureCandidate, SearchStrategy
from .space_generator import SpaceGenerator
from .task_scheduler import TaskScheduler
from .tir_integration import compile_tir, tune_tir
from .tune import tune_tasks
from .tune_context import TuneContext

__all__ = [
    "Builder",
    "CostModel",
    "Database",
    "ExtractedTask",
    "MeasureCallback",
    "MeasureCandidate",
    "Mutator",
    "Postproc",
    "Profiler",
    "Runner",
    "ScheduleRule",
    "SearchStrategy",
    "SpaceGenerator",
    "TaskScheduler",
    "TuneContext",
    "TuningRecord",
    "arg_info",
    "builder",
    "compile_relax",
    "compile_tir",
    "cost_model",
    "database",
    "extract_tasks",
    "measure_callback",
    "mutator",
    "postproc",
    "profiler",
    "relax_integration",
    "runner",
    "schedule_rule",
    "search_strategy",
    "space_generator",
    "task_scheduler",
    "tir_integration",
    "tune",
    "tune_context",
    "tune_relax",
    "tune_tasks",
    "tune_tir",
]
