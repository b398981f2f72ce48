"""The quality of a memory plan: the bytes of the arena compared with the peak of the bytes that are live at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import host, relax
from .plan import ALIGNMENT, last_uses, linear_ops, tensor_bytes


@dataclass(frozen=True)
class MemoryUse:
    """The `planned` bytes of an arena, and the lower `bound` of every plan with the same lifetimes."""

    planned: int
    bound: int

    @property
    def ratio(self) -> float:
        """Planned bytes divided by the bound; 1 if nothing is planned."""
        return self.planned / self.bound if self.bound else 1.0


def memory_use(function: relax.FuncOp, sizes: Mapping[str, int]) -> MemoryUse:
    """Return the memory of a function after `plan-memory`, for given values of its symbolic variables.

    Tensors outside the arena, such as results, count for neither. Raises `KeyError` for a variable without a value.
    """
    ops = linear_ops(function)
    arenas = [op.size.data.evaluate(sizes) for op in ops if isinstance(op, host.ArenaOp)]
    planned: dict[SSAValue, host.TensorOp] = {
        op.result: op for op in ops if isinstance(op, host.TensorOp) and op.offset is not None
    }
    last = last_uses(ops, planned)
    changes = [0] * (len(ops) + 1)
    for i, op in enumerate(ops):
        if isinstance(op, host.TensorOp) and op.result in planned:
            size = -(-tensor_bytes(op.tensor_type).evaluate(sizes) // ALIGNMENT) * ALIGNMENT
            changes[i] += size
            changes[last.get(op.result, i) + 1] -= size
    return MemoryUse(sum(arenas), max(accumulate(changes), default=0))


def memory_uses(module: ModuleOp, sizes: Mapping[str, int]) -> dict[str, MemoryUse]:
    """Return the `memory_use` of all Relax functions of a planned module by name."""
    return {op.sym_name.data: memory_use(op, sizes) for op in module.ops if isinstance(op, relax.FuncOp)}
