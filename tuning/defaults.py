"""What tuning does for a target where nothing else is asked for: rules, postprocessors and mutators by kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..diagnostics import UnsupportedError, unknown_name
from ..target import Target
from .context import TuneContext

_INTRINSICS: dict[str, tuple[str, ...]] = {
    "llvm": (),
    "avx512": ("dot_16x4_avx512",),
    "vnni": ("dot_16x4_vnni",),
    "bf16": ("dot_16x2_bf16",),
}
"""The tensor intrinsics that each kind of rules knows besides what all have in common."""
KINDS = tuple(_INTRINSICS)
_FEATURES = (("avx512vnni", "vnni"), ("avx512bw", "avx512"))
"""The kind by a feature of the processor, the best first."""
_FOREIGN = frozenset(("cuda", "cuda-tensorcore", "hexagon", "rocm", "adreno"))


@dataclass(frozen=True)
class Defaults:
    """Rules, postprocessors and mutators: given, a kind, `from-target`, or None for none."""

    sch_rules: Any
    postprocs: Any
    mutator_probs: Any


def default_rules(given: Defaults, context: TuneContext) -> tuple[list[Any], list[Any], dict[Any, float]]:
    """The rules, the postprocessors, and the mutators with their probabilities."""
    return (
        list(_chosen(given.sch_rules, lambda: _rules(intrinsics_for(context.target)), rules_of)),
        list(_chosen(given.postprocs, _postprocessors, postprocessors_of)),
        dict(_chosen(given.mutator_probs, _mutators, mutators_of)),
    )


def _chosen(given: Any, default: Callable[[], Any], of_kind: Callable[[str], Any]) -> Any:
    if given is None:
        return ()
    if not isinstance(given, str):
        return given
    return default() if given == "from-target" else of_kind(given)


def rules_of(kind: str) -> list[Any]:
    """The schedule rules of a kind: `llvm`, `avx512`, `vnni`, `bf16`. Raises `NameLookupError`, `UnsupportedError`."""
    _check("schedule rules", kind)
    return _rules(_INTRINSICS[kind])


def postprocessors_of(kind: str) -> list[Any]:
    """The postprocessors of a kind, as `rules_of`."""
    _check("postprocessors", kind)
    return _postprocessors()


def mutators_of(kind: str) -> dict[Any, float]:
    """The mutators of a kind and how probable each is, as `rules_of`."""
    _check("mutators", kind)
    return _mutators()


def _check(what: str, kind: str) -> None:
    if kind in _FOREIGN:
        raise UnsupportedError(f"{what} of kind '{kind}'", expected=", ".join(_INTRINSICS))
    if kind not in _INTRINSICS:
        raise unknown_name(f"kind of {what}", kind, [*_INTRINSICS, "from-target"])


def intrinsics_for(target: Any) -> tuple[str, ...]:
    """The tensor intrinsics that a target's processor has instructions for."""
    assert isinstance(target, Target)
    kind = next((kind for feature, kind in _FEATURES if feature in target.features), "llvm")
    return _INTRINSICS[kind] + (_INTRINSICS["bf16"] if "avx512bf16" in target.features else ())


def _rules(intrinsics: tuple[str, ...]) -> list[Any]:
    from .rules.add_rfactor import AddRFactor
    from .rules.apply_custom_rule import ApplyCustomRule
    from .rules.auto_inline import AutoInline, InlineConstantScalars
    from .rules.multi_level_tiling import MultiLevelTiling, ReuseType
    from .rules.multi_level_tiling_with_intrin import MultiLevelTilingWithIntrin
    from .rules.parallel_vectorize_unroll import ParallelizeVectorizeUnroll
    from .rules.random_compute_location import RandomComputeLocation

    tiling: dict[str, Any] = {"max_innermost_factor": 64, "reuse_write": ReuseType("may", (1, 2), "global")}
    return [
        ApplyCustomRule(),
        InlineConstantScalars(),
        AutoInline(),
        AddRFactor(max_jobs_per_core=16, max_innermost_factor=64),
        *(MultiLevelTilingWithIntrin(name, "SSRSRS", **tiling) for name in intrinsics),
        MultiLevelTiling("SSRSRS", **tiling),
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
