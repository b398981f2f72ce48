"""`default-gpu-schedule`: the spatial loops of each block run on threads.

for i, j {B[i, j] = A[i, j]}  ->  for b in blockIdx.x {for t in threadIdx.x {B[…] = A[…]}}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.quick import operations
from ....dialects.tir import ForKind, IterKind
from ....handles.target import Target
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....schedule import BlockRV, LoopRV, Schedule
from ....schedule import state as st
from ....transforms.tir.walk import functions, is_scheduled, with_attr

_MOST_BLOCKS = 256
_GPUS = frozenset(("cuda", "nvptx", "metal", "rocm", "vulkan", "opencl", "webgpu"))


@dataclass(frozen=True)
class DefaultGPUSchedule(Pass):
    """Bind the fused spatial loops of each block of a function for a GPU to blocks of threads, unless it has a
    schedule.

    The target is the attribute of the function, or that of the context. Raises `UnsupportedError` without one.
    """

    name = "default-gpu-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sch = Schedule.on(op)
        for func in functions(op):
            target = _target(func)
            if is_scheduled(func) or (target is not None and target.kind.name not in _GPUS):
                continue
            name = func.sym_name.data
            most = _threads(func, target)
            sch.work_on(name)
            for block in _leaves(sch.function(name)):
                _bind(sch, sch.get_block(block, name), most)
        for func in functions(op):
            with_attr(func, "tir.is_scheduled", True)


def _target(func: tir.FuncOp) -> Target | None:
    attr = None if func.func_attrs is None else func.func_attrs.data.get("target")
    chosen: Any = attr if isinstance(attr, tir.TargetAttr) else Target.current()
    return None if chosen is None else Target(chosen)


def _threads(func: tir.FuncOp, target: Target | None) -> int:
    if target is None:
        raise UnsupportedError(
            "The target is missing either in the current context or in the prim_func's attribute",
            location=location_of(func),
            hint="with Target(…): or run BindTarget before",
        )
    most = target.get_attr("max_num_threads")
    if most is None:
        raise UnsupportedError(f"max_num_threads is not set for target {target}", location=location_of(func))
    return int(most)


def _leaves(func: tir.FuncOp) -> list[str]:
    """Return the names of the blocks that contain no other one."""
    blocks = [op for op in operations(func) if isinstance(op, tir.BlockOp) and not st.blocks_below(op)]
    return [block.block_name.data for block in blocks]


def _bind(sch: Schedule, block: BlockRV, most: int) -> None:
    loops: list[LoopRV] = sch.get_loops(block)
    if any(cast(tir.ForOp, sch.operation(loop)).kind is ForKind.THREAD_BINDING for loop in loops):
        return
    kinds = cast(tir.BlockOp, sch.operation(block)).kinds
    if loops and len(loops) != len(kinds):
        raise UnsupportedError(
            "a block whose iterators are not its loops",
            location=location_of(sch.operation(block)),
            expected=f"{len(loops)} iterators",
            found=str(len(kinds)),
        )
    spatial = [loop for loop, kind in zip(loops, kinds, strict=False) if kind is IterKind.SPATIAL]
    if not spatial:
        spatial = [sch.add_unit_loop(loops[0] if loops else block)]
    fused = sch.fuse(*spatial, preserve_unit_iters=False)
    extent = st.constant_extent(cast(tir.ForOp, sch.operation(fused)))
    if extent is None or extent > most * _MOST_BLOCKS:
        rest, outer, inner = sch.split(fused, [None, _MOST_BLOCKS, most])
        sch.reorder(outer, inner, rest)
    else:
        outer, inner = sch.split(fused, [None, min(extent, most)])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
