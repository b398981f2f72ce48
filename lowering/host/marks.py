"""Profiling marks that entry points execute: calls of `runtime/profiling/recorder.py`.

    before = enter(main, its row)
    …
    a kernel's row + 1
    if before ≠ not measured: lap(kernel matmul, operations, bytes, live bytes)
    kernel.matmul(…)
    main's row + 1
    if before ≠ not measured: lap(host code of main)
    …
    leave(before, main's row)

A module that is not profiled has none of this code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import host, relax
from ...dialects.names import name_of
from ...dialects.relax.memory import tensor_bytes
from ...dialects.sym.expr import Const, SymExpr
from ...ir.locations import location_of
from ...runtime.profiling.recorder import ENTER, LAP, LEAVE, NOT_MEASURED, ROW
from ...runtime.profiling.sites import Site
from ..tir_to_scf.symbolic import Symbolic
from .function import HostFunction, Profiled
from .native import I64

_ALIASES = (host.ViewOp, relax.TupleOp, relax.TupleGetItemOp, relax.MatchCastOp, relax.IfOp, relax.YieldOp)
"""Ops whose results may lie in the memory of their operands."""


def live_bytes(function: relax.FuncOp) -> dict[Operation, SymExpr]:
    """Return, for each op of a function in destination passing form, the bytes of its tensors that are live at the op.

    Parameters, constants, and tensors created by callees are not counted.
    """
    live: dict[Operation, SymExpr] = {}
    _block(function.body.block, Const(0), live)
    return live


def _block(block: Block, outside: SymExpr, live: dict[Operation, SymExpr]) -> None:
    ops = list(block.ops)
    ends: dict[int, SymExpr] = {}
    needed = outside
    last = _last_uses(ops)
    for i, op in enumerate(ops):
        size = _bytes(op)
        if size is not None:
            needed = needed + size
            end = last.get(op.results[0], i)
            ends[end] = ends.get(end, Const(0)) + size
        live[op] = needed
        for region in op.regions:
            for inner in region.blocks:
                _block(inner, needed, live)
        needed = needed - ends.pop(i, Const(0))


def _last_uses(ops: list[Operation]) -> dict[SSAValue, int]:
    """Return the index of the op after which a value, and everything that may share its memory, is dead."""
    last: dict[SSAValue, int] = {}
    for i in range(len(ops) - 1, -1, -1):
        end = i
        if isinstance(ops[i], _ALIASES):
            end = max((last.get(result, i) for result in ops[i].results), default=i)
        for inner in ops[i].walk():
            for value in inner.operands:
                last[value] = max(last.get(value, end), end)
    return last


def _bytes(op: Operation) -> SymExpr | None:
    """Return the bytes of the tensor that an op creates, or None if it creates none."""
    if isinstance(op, host.TensorOp):
        return tensor_bytes(op.tensor_type)
    t = op.results[0].type if isinstance(op, _CALLS) and op.results else None
    if not isinstance(t, relax.TensorType) or t.dims is None or t.element is None:
        return None
    return tensor_bytes(t)


_CALLS = (relax.CallPackedOp, relax.CallBuiltinWithCtxOp, relax.CallPurePackedOp, relax.CallOp)


_UNKNOWN = -1


@dataclass(frozen=True)
class Mark:
    """A site, with the operations, bytes and live bytes of one execution; None for those that are unknown."""

    site: int
    costs: Sequence[SymExpr | None]


def mark_function(f: HostFunction, op: Operation) -> None:
    """Mark the begin of a function; at its end, return to the site that ran before."""
    site = _site(f, "host", f.name, op)
    if site is None:
        return
    live = live_bytes(op) if isinstance(op, relax.FuncOp) else {}
    rows = f.slot_of("rows", None)
    row = _row(f, rows, site)
    before = f.call(ENTER, [f.integer(site), row], I64)
    f.profile = Profiled(site, rows, f.compare("ne", before, f.integer(NOT_MEASURED)), live)
    f.before_return = lambda: f.call(LEAVE, [before, row], None)


def mark_kernel(f: HostFunction, name: str, op: Operation | None, costs: Sequence[SymExpr | None]) -> Mark | None:
    """Return the mark of a call of a kernel."""
    site = _site(f, "kernel", name, op)
    return None if site is None else Mark(site, (*costs, _live(f, op)))


def mark_packed(f: HostFunction, name: str, op: Operation) -> Mark | None:
    """Return the mark of a call of a packed function."""
    site = _site(f, "packed", name, op)
    return None if site is None else Mark(site, (None, None, _live(f, op)))


def run(f: HostFunction, mark: Mark | None) -> None:
    """Record that the site of a mark runs from here on."""
    if mark is not None:
        _lap(f, mark.site, mark.costs)


def resume(f: HostFunction) -> None:
    """Record that the function's own code runs again."""
    if f.profile is not None:
        _lap(f, f.profile.site, [None] * 3)


def _site(f: HostFunction, kind: str, name: str, op: Operation | None) -> int | None:
    if f.module.sites is None:
        return None
    place = location_of(op)
    f.module.sites.append(Site(kind, name, f.name, _result(op), "" if place is None else str(place)))
    return len(f.module.sites) - 1


def _result(op: Operation | None) -> str:
    """Return the name of the result of a call: of the last value it writes, if that is an operand."""
    if op is None:
        return ""
    written = op.call_args[-1:] if isinstance(op, host.KernelOp | host.CallDPSOp) else op.results
    return (name_of(written[0]) or "") if written else ""


def _live(f: HostFunction, op: Operation | None) -> SymExpr | None:
    return None if op is None or f.profile is None else f.profile.live.get(op)


def _row(f: HostFunction, rows: SSAValue, site: int) -> SSAValue:
    return f.address(rows, ROW * site, I64)


def _lap(f: HostFunction, site: int, costs: Sequence[SymExpr | None]) -> None:
    """Count an execution of a site, and record it if the call is measured."""
    profile, scope = f.profile, f.scope
    assert profile is not None
    count = _row(f, profile.rows, site)
    f.store(f.binary(arith.AddiOp, f.read(count, I64), f.integer(1)), count)

    def record() -> SSAValue:
        numbers = Symbolic(f, scope.variable, scope.bounds, I64, scope.flags)  # no checks: the program stays as it is
        values = [f.integer(_UNKNOWN) if c is None else numbers.of(c) for c in costs]
        return f.call(LAP, [f.integer(site), *values], I64)

    f.choose(profile.measured, record)
