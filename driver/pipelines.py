"""Named pipelines: lists of passes by name, as `tirax-opt --pipeline` and `build` run them.

`default-cpu` is the whole way from relax to the llvm dialect, the sum of its parts, which may be run by themselves.
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
"""relax -> relax: what is constant is packed or computed, operators become tir functions, which are fused.

Products of dequantized bytes are found first: constant weights are not dequantized then. Where one factor alone is
bytes the product is scaled, and its weights are packed as bytes. Elementary functions between bytes become tables once
their scales are merged.

Products are split into parts, as queries, keys and values are, before their weights are packed.

Weights are packed before constants are folded: as they were given, they need not be transposed first. Kernels of
convolutions are, when they have been multiplied by the factors of norms; constants that are broadcast to what has its
channels last then are folded once more. Transposed convolutions without overlaps are convolutions of 1 x 1. Norms and
Gelu that are written out are operators: they are looked for before weights are packed, which brings reshapes, and once
more when their constants are computed. Products with a softmax between them are attention. What would be transposed
when the program runs is multiplied as it stands. Bytes are handed on as bytes from kernel to kernel. Reshapes are no
functions in the end, but views.
"""
SCHEDULE = ("lower-narrow-types", "default-schedule", "parallelize-loops")
"""tir -> tir: every function gets a schedule for the target, and loops that run on several threads."""
HOST = ("lift-closures", "report-indices", "merge-kernels", "lower-relax-calls", "plan-memory", "convert-host-to-func")
"""relax functions -> entry points."""
TO_HOST = HOST[-1]
"""After this pass a module has all that its executable needs but code."""
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
"""-> the llvm dialect, with polynomials in place of calls of the C library."""

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
"""TVM's `relax.get_pipeline("default_build")`, without what is particular to its virtual machine and to other devices:
memory is planned in Relax. `lower-cpu` goes on from there."""

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
    """The pipelines that a pass is in: none for those that are for users alone."""
    return [pipeline for pipeline, passes in PIPELINES.items() if name in passes]


def pipeline_passes(name: str, target: str = "llvm") -> list[Any]:
    """The passes of a named pipeline for a target. Raises `NameLookupError` for an unknown name."""
    if name not in PIPELINES:
        raise unknown_name("pipeline", name, PIPELINES)
    return make_passes(PIPELINES[name], target)


def make_passes(names: Sequence[str], target: str = "llvm") -> list[Any]:
    """Passes by their names, also xDSL's and those of plug-ins; those that have an option `target` get it.

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
