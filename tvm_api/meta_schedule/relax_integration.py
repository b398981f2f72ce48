"""`tvm.meta_schedule.relax_integration`."""

from ...tuning.relax_integration import ExtractedTask, compile_relax, extract_tasks, tune_relax

__all__ = ["ExtractedTask", "compile_relax", "extract_tasks", "tune_relax"]
