"""What tuning does for a target where nothing else is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..diagnostics import TiraxError
from .context import TuneContext


@dataclass(frozen=True)
class Defaults:
    """Rules, postprocessors and mutators: given, `from-target`, or None for none."""

    sch_rules: Any
    postprocs: Any
    mutator_probs: Any


def default_rules(given: Defaults, context: TuneContext) -> tuple[list[Any], list[Any], dict[Any, float]]:
    """The rules, the postprocessors, and the mutators with their probabilities."""
    return (
        list(_chosen(given.sch_rules, _rules)),
        list(_chosen(given.postprocs, _postprocessors)),
        dict(_chosen(given.mutator_probs, _mutators)),
    )


def _chosen(given: Any, default: Any) -> Any:
    if given is None:
        return ()
    if isinstance(given, str):
        if given != "from-target":
            raise TiraxError("the rules are given one by one, or by the target", expected="from-target", found=given)
        return default()
    return given


def _rules() -> list[Any]:
    from .rules.add_rfactor import AddRFactor
    from .rules.apply_custom_rule import ApplyCustomRule
    from .rules.auto_inline import AutoInline, InlineConstantScalars
    from .rules.multi_level_tiling import MultiLevelTiling, ReuseType
    from .rules.parallel_vectorize_unroll import ParallelizeVectorizeUnroll
    from .rules.random_compute_location import RandomComputeLocation

    return [
        ApplyCustomRule(),
        InlineConstantScalars(),
        AutoInline(),
        AddRFactor(max_jobs_per_core=16, max_innermost_factor=64),
        MultiLevelTiling("SSRSRS", max_innermost_factor=64, reuse_write=ReuseType("may", (1, 2), "global")),
        ParallelizeVectorizeUnroll(16, 64, (0, 16, 64, 512), True),
        RandomComputeLocation(),
    ]


def _postprocessors() -> list[Any]:
    from .postprocessors.disallow_dynamic_loop import DisallowDynamicLoop
    from .postprocessors.rewrite_layout import RewriteLayout
    from .postprocessors.rewrite_parallel_vectorize_unroll import RewriteParallelVectorizeUnroll
    from .postprocessors.rewrite_reduction_block import RewriteReductionBlock
    from .postprocessors.rewrite_tensorize import RewriteTensorize
    from .postprocessors.verify_on_cpu import VerifyOnCPU

    return [
        DisallowDynamicLoop(),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        RewriteTensorize(vectorize_init_loop=True),
        RewriteLayout(),
        VerifyOnCPU(),
    ]


def _mutators() -> dict[Any, float]:
    from .mutators.compute_location import MutateComputeLocation
    from .mutators.parallel import MutateParallel
    from .mutators.tile_size import MutateTileSize
    from .mutators.unroll import MutateUnroll

    return {MutateTileSize(): 0.9, MutateComputeLocation(): 0.05, MutateUnroll(): 0.03, MutateParallel(16): 0.02}
