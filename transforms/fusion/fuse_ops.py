"""Group the bindings of dataflow blocks into functions, each of which will become one tensor function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects import relax, tir
from ...ir.names import make_unique
from ...ir.passes.limits import limit
from ...ir.passes.transform import Pass, PassContext
from .explain import log_unfused
from .graph import BindingGraph, binding_patterns, elementary_functions
from .groups import Groups
from .outline import Outliner, is_primitive

MAX_DEPTH = 256
"""The default maximum number of bindings in a group."""


@dataclass(frozen=True)
class FuseOps(Pass):
    """Fuse by post-dominators and the kinds from `annotate-tir-op-pattern` (rules in `fusion.groups`).

    A group of bindings becomes a private function with the attribute `Primitive`, and a call of it. `fuse_opt_level` 0
    disables fusion; -1 uses the level of the pass context. `max_depth` is the maximum number of bindings in a group
    (default: the context's `relax.FuseOps.max_depth`, or 256); the limit `fuse.functions` bounds the elementary
    functions that a group computes.
    """

    name: ClassVar[str] = "fuse-ops"
    fuse_opt_level: int = -1
    max_depth: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse in place."""
        where = PassContext.current()
        level = where.opt_level if self.fuse_opt_level < 0 else self.fuse_opt_level
        if level == 0:
            return
        configured = (where.config or {}).get("relax.FuseOps.max_depth", MAX_DEPTH)
        depth = int(configured) if self.max_depth is None else self.max_depth
        fuse_ops(op, depth)


def fuse_ops(module: ModuleOp, max_depth: int = MAX_DEPTH) -> None:
    """Fuse the bindings of every non-primitive function of a module, in order of the functions' names."""
    functions = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, tir.FuncOp)}
    callers = [f for f in module.body.block.ops if isinstance(f, relax.FuncOp) and not _is_done(f)]
    outliner = Outliner(module)
    for func in sorted(callers, key=lambda f: f.sym_name.data):
        changed = False
        for dataflow in [op for op in func.walk() if isinstance(op, relax.DataflowOp)]:
            graph = BindingGraph(dataflow.body.block)
            grown = Groups(
                graph,
                binding_patterns(graph, functions.get),
                max_depth,
                elementary_functions(graph, functions.get),
                limit("fuse.functions"),
            )
            log_unfused(graph, grown)
            groups = grown.members()
            if len(groups) < len(graph.ops):
                outliner.outline(dataflow, graph, [members for members in groups if len(members) > 1])
                changed = True
        if changed:
            make_unique(func)


def _is_done(func: relax.FuncOp) -> bool:
    """Return whether a function will already become one kernel, ours or that of another code generator."""
    foreign = func.func_attrs is not None and "Codegen" in func.func_attrs.data
    return foreign or is_primitive(func)
