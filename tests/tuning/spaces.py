"""Workloads of the tests of the search, and what is made of them."""

from __future__ import annotations

import json
from pathlib import Path

from tirax.handles.module import IRModule
from tirax.schedule import Schedule, Trace
from tirax.tuning.context import TuneContext
from tirax.tuning.search import SearchStrategy
from tirax.tuning.space import PostOrderApply
from tirax.tvm_api.script import from_source

DATA = Path(__file__).parent / "data"
SPACES = json.loads((DATA / "spaces.json").read_text())
"""Sources of workloads by name, and the traces that TVM 0.27 makes of them for one core, decisions left out."""

SMALL = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4, 12), "float32"), B: T.Buffer((12, 16), "float32"), C: T.Buffer((4, 16), "float32")):
        for i, j, k in T.grid(4, 16, 12):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
CHAIN = """
@I.ir_module
class Module:
    @T.prim_func
    def main(X: T.Buffer((4, 12), "float32"), Y: T.Buffer((4,), "float32")):
        A = T.alloc_buffer((4, 12))
        B = T.alloc_buffer((4, 12))
        for i, j in T.grid(4, 12):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = X[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 12):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.exp(A[vi, vj])
        for i, k in T.grid(4, 12):
            with T.block("Y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    Y[vi] = T.float32(0)
                Y[vi] = Y[vi] + B[vi, vk]
"""


def module_of(source: str) -> IRModule:
    return from_source("from tvm.script import ir as I, tir as T\n" + source)


def context_of(source: str, strategy: SearchStrategy | None = None, seed: int = 1, space=None) -> TuneContext:
    """A task for one core."""
    return TuneContext(module_of(source), "llvm -num-cores=1", space or PostOrderApply(), strategy, rand_state=seed)


def candidates_of(source: str, count: int, seed: int = 1, kind: str = "replay-trace"):
    """A task, and candidates for it."""
    strategy = SearchStrategy.create(kind)
    context = context_of(source, strategy, seed)
    strategy.pre_tuning(count, count, context.generate_design_space())
    return context, strategy.generate_measure_candidates()


def finished(context: TuneContext, trace: Trace) -> Schedule:
    """The task's module with a trace and the postprocessors applied."""
    sch = Schedule(context.mod)
    trace.apply_to_schedule(sch, remove_postproc=True)
    sch.enter_postproc()
    assert all(post.apply(sch) for post in context.space_generator.postprocs)
    return sch
