"""Named pipelines: lists of pass names, as run by `tirax-opt --pipeline` and `build`.

`default-cpu` lowers relax to the llvm dialect; it is the concatenation of its stages, which can be run separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from ..diagnostics import unknown_name

OPTIMIZE = (
    "normalize",
    "sink-loop-constants",
    "simplify-inference",
    "unsigned-activations",
    "quantized-to-integer",
    "requantize",
    "tabulate-bytes",
    "flush-denormal-weights",
    "fuse-layers",
    "scale-after-product",
    "split-einsums",
    "split-products",
    "pack-weights",
    "interleave-blocks",
    "sink-reshape",
    "remove-redundant-reshape",
    "fold-constant",
    "channels-last",
    "expand-transposed-convolutions",
    "pack-convolutions",
    "fold-constant",
    "fuse-layers",
    "fuse-attention",
    "fuse-transpose-attention",
    "fuse-transpose-matmul",
    "legalize-ops",
    "widen-at-use",
    "annotate-tir-op-pattern",
    "fuse-ops",
    "fuse-tir",
    "rewrite-dataflow-reshape",
    "dead-code-elimination",
    "attach-variable-bounds",
)
"""relax -> relax: pack or fold constants, legalize operators to tir functions, and fuse these.

Quantized products come first, so that their constant weights are not dequantized. If only one factor is quantized, the
product is scaled and its weights are packed as bytes. Elementary functions between quantized values become lookup
tables once their scales are merged.

Einstein sums of several tensors become products of two. Products are split, such as those of queries, keys and values,
before their weights are packed.

Weights are packed before constants are folded: in their original form they need no transpose. Convolution kernels are
packed after they have been multiplied by the scales of norms; constants that are broadcast to channels-last tensors are
folded once more after that. Transposed convolutions without overlaps become 1 x 1 convolutions. Norms and Gelu that are
written as primitive operators are matched before weights are packed, which inserts reshapes, and again when their
constants are folded. Products with a softmax between them become attention. A product absorbs the transpose of its
operand. Quantized values stay bytes between kernels. Reshapes finally become views instead of functions.
"""
SCHEDULE = ("lower-narrow-types", "simplify-divisions", "default-schedule", "parallelize-loops")
"""tir -> tir: give every function a schedule for the target, and parallelize loops."""
HOST = ("lift-closures", "report-indices", "merge-kernels", "lower-relax-calls", "plan-memory", "convert-host-to-func")
"""relax functions -> entry points."""
TO_HOST = HOST[-1]
"""After this pass, a module has everything its executable needs except code."""
KERNELS = (
    "lower-narrow-types",
    "lower-init-block",
    "plan-and-update-buffer-allocation-location",
    "convert-blocks-to-opaque",
    "compact-buffer-allocation",
    "lower-match-buffer",
    "lower-opaque-block",
    "guard-indices",
    "flatten-buffer",
    "simplify-scheduled",
    "share-buffers",
    "mark-unrolled-loops",
    "tir-simplify",
    "lower-asserts",
    "vectorize-for-target",
    "unroll-marked-loops",
    "promote-buffers-to-stack",
    "convert-tir-to-scf",
    "outline-parallel",
    "promote-tiles",
    "isolate-kernels",
)
"""tir functions -> func, scf, memref, arith, math, vector."""
BACKEND = ("expand-math", "convert-to-llvm")
"""-> the llvm dialect, with calls of the C library expanded to polynomials."""

LOWERING = (*HOST, *SCHEDULE, *KERNELS, *BACKEND)
"""From relax and tir down to the llvm dialect."""

TVM_ZERO = ("legalize-ops", "annotate-tir-op-pattern", "fold-constant", "fuse-ops", "fuse-tir")
"""TVM's `relax.get_pipeline("zero")`."""
TVM_BUILD = (
    "legalize-ops",
    "rewrite-dataflow-reshape",
    "to-non-dataflow",
    "remove-purity-checking",
    "call-tir-rewrite",
    "static-plan-block-memory",
    "lower-alloc-tensor",
    "kill-after-last-use",
    "lower-runtime-builtin",
    "compute-prim-value",
    "attach-global-symbol",
)
"""TVM's `relax.get_pipeline("default_build")`, without the passes for its virtual machine and for other devices:
memory is planned in Relax. `lower-cpu` continues from there.
"""

PIPELINES: dict[str, tuple[str, ...]] = {
    "default-cpu": (*OPTIMIZE, *LOWERING),
    "optimize": OPTIMIZE,
    "lower-cpu": LOWERING,
    "lower-cpu-unscheduled": (*HOST, *KERNELS, *BACKEND),
    "host": HOST,
    "kernels": (*SCHEDULE, *KERNELS),
    "tvm-zero": TVM_ZERO,
    "tvm-build": TVM_BUILD,
}


def pipelines_of(name: str) -> list[str]:
    """Return the pipelines that contain a pass, none if only users run it."""
    return [pipeline for pipeline, passes in PIPELINES.items() if name in passes]


def pipeline_passes(name: str, target: str = "llvm") -> list[Any]:
    """Return the passes of a named pipeline for a target. Raises `NameLookupError` for an unknown name."""
    if name not in PIPELINES:
        raise unknown_name("pipeline", name, PIPELINES)
    return make_passes(PIPELINES[name], target)


def make_passes(names: Sequence[str], target: str = "llvm") -> list[Any]:
    """Return passes by name, including those of xDSL and of plug-ins; a pass with an option `target` gets it.

    Raises `NameLookupError`.
    """
    from ..universe import TIRAX_UNIVERSE, full_universe

    passes: list[Any] = []
    for name in names:
        factory = TIRAX_UNIVERSE.all_passes.get(name) or full_universe().all_passes.get(name)
        if factory is None:
            raise unknown_name("pass", name, TIRAX_UNIVERSE.all_passes)
        kind: Any = factory()
        takes_target = any(f.name == "target" for f in fields(kind))
        passes.append(kind(target=target) if takes_target else kind())
    return passes
