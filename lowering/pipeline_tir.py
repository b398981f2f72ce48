"""The way of a tir function from its schedule to loops and vectors: a list of passes, applied function by
function."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..dialects import tir
from ..dialects.quick import clone
from ..ir.passes.transform import new_context, no_gc
from ..ir.verification.verify import verify_module
from ..target import Target
from ..transforms.tir.asserts import LowerAsserts
from ..transforms.tir.compact_buffer_allocation import CompactBufferAllocation
from ..transforms.tir.convert_blocks_to_opaque import ConvertBlocksToOpaque
from ..transforms.tir.flatten_buffer import FlattenBuffer
from ..transforms.tir.guard_indices import GuardIndices
from ..transforms.tir.lower_init_block import LowerInitBlock
from ..transforms.tir.lower_match_buffer import LowerMatchBuffer
from ..transforms.tir.lower_opaque_block import LowerOpaqueBlock
from ..transforms.tir.mark_unrolled_loops import MarkUnrolledLoops
from ..transforms.tir.parallelize_loops import ParallelizeLoops
from ..transforms.tir.plan_and_update_buffer_allocation_location import PlanAndUpdateBufferAllocationLocation
from ..transforms.tir.promote_buffers_to_stack import PromoteBuffersToStack
from ..transforms.tir.simplify import SimplifyScheduled, TirSimplify
from ..transforms.tir.storage_rewrite import ShareBuffers
from ..transforms.tir.unroll_marked_loops import UnrollMarkedLoops
from ..transforms.tir.vectorize_loop import VectorizeForTarget
from .tir_to_scf import ConvertTirToScf, OutlineParallel, PromoteTiles


def tir_passes(target: Target, *, schedule: bool = True) -> list[ModulePass]:
    """The passes of `lower_tir` in order; without the default schedule where `schedule` is false."""
    first: list[ModulePass] = []
    if schedule:
        from ..schedule.cpu.default_schedule import DefaultSchedule

        first += [DefaultSchedule(target.text), ParallelizeLoops(target.text)]
    to_loops: list[ModulePass] = [
        LowerInitBlock(),
        PlanAndUpdateBufferAllocationLocation(),
        ConvertBlocksToOpaque(),
        CompactBufferAllocation(),
        LowerMatchBuffer(),
        LowerOpaqueBlock(),
        GuardIndices(),
        FlattenBuffer(),
        SimplifyScheduled(),
        ShareBuffers(),
        MarkUnrolledLoops(),
        TirSimplify(),
        LowerAsserts(),
        VectorizeForTarget(target.text),
        UnrollMarkedLoops(),
        PromoteBuffersToStack(),
    ]
    return [*first, *to_loops, ConvertTirToScf(), OutlineParallel(target.text), PromoteTiles()]


def lower_tir(module: ModuleOp, target: Target | None = None, *, schedule: bool = True) -> ModuleOp:
    """A module of kernels (func, scf, memref, arith, math, vector) of the tir functions of `module`.

    `module` stays as it is; its other functions are left out. How a kernel is called: see `lowering.tir_to_scf`.
    """
    out = ModuleOp([clone(op) for op in module.body.block.ops if isinstance(op, tir.FuncOp)])
    context = new_context()
    with no_gc():
        for p in tir_passes(target or Target.host(), schedule=schedule):
            p.apply(context, out)
        verify_module(out, after="convert-tir-to-scf")
    return out
