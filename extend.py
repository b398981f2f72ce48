"""All extension points of tirax, from one module: `from tirax.extend import Pass, operator, parse_source`.

Each name is loaded at its first use. docs/extending has a page on each kind of extension.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

NAMES: dict[str, str] = {
    # operators of Relax
    "operator": "dialects.relax",
    "OPERATORS": "dialects.relax",
    "Operator": "dialects.relax.operator",
    "Attr": "dialects.relax.operator",
    "FloatUnaryOp": "dialects.relax.elementwise",
    "TensorType": "dialects.relax.types",
    "LegalizeOps": "transforms.legalize",
    "call_te": "te.emit",
    # passes
    "Pass": "ir.passes.transform",
    "PassContext": "ir.passes.transform",
    "Sequential": "ir.passes.transform",
    "PIPELINES": "driver.pipelines",
    "OPTIMIZE": "driver.pipelines",
    "make_passes": "driver.pipelines",
    "full_universe": "universe",
    # rewriting
    "apply_rules": "ir.rewriting.driver",
    "erase": "ir.rewriting.edit",
    "inline_before": "ir.rewriting.edit",
    "insert_before": "ir.rewriting.edit",
    "inserter": "ir.rewriting.edit",
    "Materializer": "ir.affine.values",
    "NameSupply": "ir.names",
    "function_names": "ir.names",
    "functions": "transforms.tir.walk",
    "remove_dead": "transforms.tir.walk",
    "bound_expr": "transforms.tir.walk",
    "producer": "transforms.operators.rules",
    "constant_array": "transforms.operators.rules",
    # schedules: primitives, intrinsics, rules of the default schedule
    "Schedule": "schedule",
    "ScheduleError": "schedule",
    "TensorIntrin": "schedule",
    "Trace": "schedule",
    "new_primitive": "schedule.registry",
    "State": "schedule.state",
    "blocks_below": "schedule.state",
    "extent_of": "schedule.state",
    "fail": "schedule.state",
    "loop_expr": "schedule.state",
    "Iter": "schedule.loop_builder",
    "StageRule": "schedule.cpu.policy.rules",
    "register_rule": "schedule.cpu.policy.rules",
    "rules": "schedule.cpu.policy.rules",
    "rule_of_function": "schedule.cpu.policy.primitive_rules",
    "RowTile": "schedule.cpu.library.microkernel",
    "SumPlan": "schedule.cpu.library.microkernel",
    "element_bits": "schedule.cpu.library.microkernel",
    "in_blocks": "schedule.cpu.library.microkernel",
    "row_tiles": "schedule.cpu.library.microkernel",
    "strips": "schedule.cpu.library.microkernel",
    "constant_slope": "schedule.cpu.analysis.stages",
    "update_of": "schedule.cpu.analysis.stages",
    # importers
    "converter": "frontend.onnx",
    "op": "frontend.onnx",
    "from_onnx": "frontend.onnx",
    # tuning
    "EvolutionarySearch": "tuning.search",
    "PostOrderApply": "tuning.space",
    "ScheduleRule": "tuning.schedule_rules",
    "TuneContext": "tuning.context",
    "needs_multi_level_tiling": "tuning.analysis",
    # packed functions
    "register_func": "runtime.registry",
    # programs: reading, printing, running
    "parse_mlir": "script",
    "parse_source": "script",
    "print_script": "script",
    "interpret": "interpreter",
    "assert_same_meaning": "interpreter",
    "assert_proved": "proof",
    "Proofs": "proof",
    "build": "driver.build",
}
"""The module of each name."""

MODULES: dict[str, str] = {
    "checks": "schedule.checks",
    "relax": "dialects.relax",
    "te": "te",
    "tir": "dialects.tir",
    "topi": "topi",
}

__all__ = sorted((*NAMES, *MODULES))


def __getattr__(name: str) -> Any:
    """Load a name at its first use."""
    if name in MODULES:
        return import_module(f".{MODULES[name]}", __package__)
    if name in NAMES:
        return getattr(import_module(f".{NAMES[name]}", __package__), name)
    raise AttributeError(f"module 'tirax.extend' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
