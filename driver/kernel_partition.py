"""Partitioning of a module's kernels: known, and sent to workers, before they are lowered."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from ..dialects import tir
from ..dialects.quick import operations

KERNELS_IN_A_PART = 3
"""Number of kernels compiled together: each further module costs LLVM some milliseconds."""
FEWEST_PARTS = 3
"""A module with fewer parts is not divided: then LLVM sees the kernels at their calls, and may inline small ones."""

_CALLS = (tir.CallOp, tir.CallExternOp, tir.CallPureExternOp)
_KNOWN = frozenset(("llvm.func", "llvm.mlir.global", "func.func", "tir.func", "relax.func"))


def kernels_by_part(op: ModuleOp, fewest: int = FEWEST_PARTS * KERNELS_IN_A_PART) -> list[list[tir.FuncOp]]:
    """Return the kernels of all parts but the first, into which `divide` puts everything else.

    The result is the same before and after `convert-host-to-func`, once the kernels have their names (`name_kernels`).
    """
    if not all(inner.name in _KNOWN for inner in op.ops):
        return []
    alone = _independent([f for f in op.ops if isinstance(f, tir.FuncOp)])
    if len(alone) < fewest:
        return []
    return [alone[first : first + KERNELS_IN_A_PART] for first in range(0, len(alone), KERNELS_IN_A_PART)]


def _independent(kernels: Sequence[tir.FuncOp]) -> list[tir.FuncOp]:
    """Return the kernels that call no other function of the module and are not called by one."""
    symbols = {f.sym_name.data for f in kernels}
    tied: set[str] = set()
    for f in kernels:
        called = {call.func.data for call in operations(f) if isinstance(call, _CALLS)} & symbols
        if called or any(isinstance(call, tir.CallPackedOp) for call in operations(f)):
            tied |= {f.sym_name.data, *called}
    return [f for f in kernels if f.sym_name.data not in tied]
