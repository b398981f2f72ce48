"""`tvm.meta_schedule.tir_integration`."""

from ...tuning.tir_integration import compile_tir, tune_tir

__all__ = ["compile_tir", "tune_tir"]
