"""Default rules of kinds of devices: `cuda`, `cuda-tensorcore`, `hexagon`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import dtype_name
from ...ir.locations import location_of
from ...schedule import BlockRV, Schedule
from ...tuning import analysis
from ...tuning import mutators as mu
from ...tuning import postprocessors as po
from ...tuning import schedule_rules as ru
from ...tuning.defaults import DEVICE_KINDS, KINDS, DeviceKind, intrinsics_of
from .device_postprocs import MutateThreadBinding, RewriteCooperativeFetch, RewriteUnboundBlock, VerifyGPUCode
from .threads import AutoBind, CrossThreadReduction
from .tiling import MultiLevelTiling, MultiLevelTilingWideVector

_MATRICES = frozenset(("float16", "int8"))
"""The dtypes of operands of matrix units."""


class MultiLevelTilingTensorCore(MultiLevelTiling):
    """Tiling around instructions of matrix units.

    Raises `UnsupportedError` for a block that these may compute: the instructions are not among tirax's.
    """

    def __init__(self, intrin_groups: Sequence[Mapping[str, str]], structure: str, *args: Any, **options: Any):
        self.use_software_pipeline = bool(options.pop("use_software_pipeline", False))
        super().__init__(structure, *args, **options)
        self.intrin_groups = intrin_groups

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.operation(block)
        if not isinstance(op, tir.BlockOp) or not analysis.needs_multi_level_tiling(op):
            return [sch]
        dtypes = {dtype_name(r.buffer.type.dtype) for r in op.reads if isinstance(r.buffer.type, tir.BufferType)}
        if dtypes & _MATRICES:
            raise UnsupportedError(
                "tiling around instructions of matrix units",
                location=location_of(op),
                found=", ".join(sorted(dtypes)),
                hint='use the rules of the kind "cuda"',
            )
        return [sch]


def _cuda_rules() -> list[ru.ScheduleRule]:
    return [
        ru.ApplyCustomRule(),
        MultiLevelTiling(
            "SSSRRSRS",
            ["blockIdx.x", "vthread.x", "threadIdx.x"],
            64,
            [1, 2, 3, 4, 8, 16],
            ru.ReuseType("must", (4,), "shared"),
            ru.ReuseType("must", (3,), "local"),
        ),
        ru.InlineConstantScalars(),
        ru.AutoInline(True, True, True, False, False, False, []),
        CrossThreadReduction([4, 8, 16, 32, 64, 128, 256, 512]),
        ru.ParallelizeVectorizeUnroll(-1, -1, [0, 16, 64, 512, 1024], True),
        AutoBind(256, [32, 64, 128, 256, 512, 1024]),
    ]


def _matrix_rules() -> list[ru.ScheduleRule]:
    first, *others = _cuda_rules()
    return [first, MultiLevelTilingTensorCore([], "SSSRRSRS"), *others]


def _hexagon_rules() -> list[ru.ScheduleRule]:
    return [
        ru.ApplyCustomRule(),
        ru.InlineConstantScalars(),
        ru.AutoInline(),
        MultiLevelTilingWideVector("SRSRS", 1024, 128, None, ru.ReuseType("may", (1, 2), "global")),
        ru.ParallelizeVectorizeUnroll(16, 128, [0, 16, 64, 512], True),
    ]


def _cuda_postprocs() -> list[po.Postproc]:
    return [
        po.DisallowDynamicLoop(),
        RewriteCooperativeFetch(),
        RewriteUnboundBlock(256),
        po.RewriteParallelVectorizeUnroll(),
        po.RewriteReductionBlock(),
        VerifyGPUCode(),
    ]


def _matrix_postprocs() -> list[po.Postproc]:
    return [*_cuda_postprocs(), po.RewriteTensorize(vectorize_init_loop=False)]


def _hexagon_postprocs() -> list[po.Postproc]:
    return [
        po.DisallowDynamicLoop(),
        po.RewriteParallelVectorizeUnroll(),
        po.RewriteReductionBlock(),
        po.RewriteLayout(),
    ]


def _cuda_mutators() -> dict[Any, float]:
    return {mu.MutateTileSize(): 0.9, mu.MutateUnroll(): 0.08, MutateThreadBinding(): 0.02}


def _matrix_mutators() -> dict[Any, float]:
    return {mu.MutateTileSize(): 0.9, mu.MutateUnroll(): 0.1}


def _hexagon_mutators() -> dict[Any, float]:
    return {
        mu.MutateTileSize(): 0.9,
        mu.MutateComputeLocation(): 0.05,
        mu.MutateUnroll(): 0.03,
        mu.MutateParallel(max_jobs_per_core=16): 0.02,
    }


def _cpu_rules(kind: str) -> list[ru.ScheduleRule]:
    """Return the default rules for CPUs, with the class of tilings that TVM's programs name."""
    rules = ru.default_rules(intrinsics_of("schedule rules", kind))
    return [_of_this_class(rule) if type(rule) is ru.MultiLevelTiling else rule for rule in rules]


def _of_this_class(rule: ru.MultiLevelTiling) -> MultiLevelTiling:
    return MultiLevelTiling(**{f.name: getattr(rule, f.name) for f in fields(rule)})


def attach() -> None:
    """Let the kinds of devices be known to tirax.tuning."""
    for kind in KINDS:
        rules = partial(_cpu_rules, kind)
        DEVICE_KINDS[kind] = DeviceKind(rules, po.default_postprocessors, mu.default_mutators)
    DEVICE_KINDS["cuda"] = DeviceKind(_cuda_rules, _cuda_postprocs, _cuda_mutators)
    DEVICE_KINDS["cuda-tensorcore"] = DeviceKind(_matrix_rules, _matrix_postprocs, _matrix_mutators)
    DEVICE_KINDS["hexagon"] = DeviceKind(_hexagon_rules, _hexagon_postprocs, _hexagon_mutators)


__all__ = ["MultiLevelTilingTensorCore", "attach"]
