"""What a type checker, and so an editor, knows of names that come from tables.

`make types` reads this, and nothing runs it. Imports are relative: a type checker does not follow an editable install.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from typing import Any, assert_type

from ...handles.tir.prim_expr import PrimExpr
from ...schedule import BlockRV, ExprRV, LoopRV, Schedule
from ...tvm_api import tir
from ...tvm_api.script import tir as T


def schedules(sch: Schedule, by_tvms_name: tir.Schedule, block: tir.BlockRV) -> None:
    assert_type(sch.get_block("B"), BlockRV)
    (loop, *_) = sch.get_loops(block)
    assert_type(sch.split(loop, [None, 4]), list[LoopRV])
    assert_type(by_tvms_name.fuse(loop, loop), LoopRV)
    assert_type(sch.sample_perfect_tile(loop, n=2), list[ExprRV])
    sch.split(loop, factor=[None, 4])  # pyright: ignore[reportCallIssue]
    sch.splitt(loop, [None, 4])  # pyright: ignore[reportAttributeAccessIssue]
    by_tvms_name.splitt(loop, [None, 4])  # pyright: ignore[reportAttributeAccessIssue]


def scripts(a: T.handle, n: T.int64, x: T.float32) -> Any:
    assert_type(T.float32(1), T.float32)
    sums: list[PrimExpr] = [n + 1, T.exp(x), T.Add(n, n), T.call_extern("float32", "f", x)]
    T.grid(4, 4, extent=4)  # pyright: ignore[reportCallIssue]
    T.block("B", of=sums)  # pyright: ignore[reportCallIssue]
    T.axis.remap("SR")  # pyright: ignore[reportCallIssue]
    T.match_buffer(a, (4,), types="float32")  # pyright: ignore[reportCallIssue]
    T.Buffer((4,), "float32", of=sums)  # pyright: ignore[reportCallIssue]
    return T.float32x4(0)
