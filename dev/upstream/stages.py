"""The stages of a program that consist of upstream dialects, and those above them."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp

from ...driver.pipelines import pipeline_passes
from ...ir.passes.transform import new_context
from ...ir.upstream_text import upstream_text

UPSTREAM = ("convert-tir-to-scf", "isolate-kernels", "expand-math", "convert-to-llvm")
"""The passes after which a module has only dialects of MLIR."""
OWN = ("legalize-ops", "fuse-tir", "plan-memory", "convert-host-to-func", "vectorize-for-target")
"""Passes after which it has ours as well."""


def stages(module: ModuleOp, after: tuple[str, ...] = UPSTREAM, generic: bool = False) -> Iterator[tuple[str, str]]:
    """Compile a copy of a module, and yield (pass, text) after each of these passes. Raises `TiraxError`."""
    module = module.clone()
    context = new_context()
    for p in pipeline_passes("default-cpu"):
        p.apply(context, module)
        if p.name in after:
            yield p.name, upstream_text(module, generic)
