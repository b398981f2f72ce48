"""Memory analyses: how much a program allocates, which tensors share bytes, which tensor functions only reshape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax, tir
from ...dialects.names import name_of
from ...dialects.relax.memory import Allocation, AllocTensor, Kill, MemoryAllocTensor, Storage, StorageTensor
from ...dialects.relax.memory import tensor_bytes as bytes_of
from ..functions.lookup import relax_functions
from .reshape_pattern import copies_in_order

GIGABYTE = 2**30


_TENSORS = (AllocTensor, MemoryAllocTensor)

# Amount of memory


@dataclass
class MemoryUsage:
    """The allocations of a function: tensors, and the storages that contain them after memory planning.

    A tensor from `builtin.alloc_tensor` has its own storage. `bytes` and `planned_bytes` count constant sizes only.
    """

    tensors: int = 0
    dynamic_tensors: int = 0
    bytes: int = 0
    storages: int = 0
    planned_bytes: int = 0

    def add(self, op: Operation) -> None:
        """Count an op if it is an allocation."""
        if isinstance(op, Allocation) and isinstance(op, _TENSORS):
            size = _constant_bytes(op.new_tensor())
            if size is None:
                self.dynamic_tensors += 1
                return
            self.tensors += 1
            self.bytes += size
            if isinstance(op, AllocTensor):
                self._add_storage(size)
        elif isinstance(op, Storage) and op.bytes is not None and op.bytes.constant is not None:
            self._add_storage(op.bytes.constant)

    def _add_storage(self, size: int) -> None:
        self.storages += 1
        self.planned_bytes += size

    def text(self, name: str) -> str:
        """Return TVM's summary text for a function."""
        dynamic = f", and {self.dynamic_tensors} dynamic-size allocation(s)" if self.dynamic_tensors else ""
        lines = [
            f"- Function {name}:",
            f" * Without memory planning, there are {self.tensors} constant-size memory allocation(s) with total size "
            f"{self.bytes / GIGABYTE:.4} GB{dynamic}.",
            f" * With memory planning, there are {self.storages} constant-size memory allocation(s) with total size "
            f"{self.planned_bytes / GIGABYTE:.4} GB.",
        ]
        share = f"{self.planned_bytes / self.bytes:.1%}" if self.bytes else ""
        return "\n".join([*lines, f" * Memory planning reduces constant memory size to {share}." if share else ""])


def _constant_bytes(t: relax.TensorType) -> int | None:
    return None if t.dims is None or t.element is None else bytes_of(t).constant


def memory_usage(func: relax.FuncOp) -> MemoryUsage:
    """Return the allocations of a function, summed over all branches."""
    usage = MemoryUsage()
    for op in func.walk():
        usage.add(op)
    return usage


def estimate_memory_usage(mod: Any) -> str:
    """Return a text on the memory that the functions of a module need with and without planning.

    `mod` is an `IRModule`, or a `Function`, which is named `foo` in the text. Branches and calls are ignored: all
    allocations are summed.
    """
    op = getattr(mod, "op", mod)
    if not isinstance(op, ModuleOp | relax.FuncOp):
        raise TiraxError("memory is estimated of a module or a Relax function", found=type(mod).__name__)
    named = [("foo", op)] if isinstance(op, relax.FuncOp) else [(f.sym_name.data, f) for f in relax_functions(op)]
    parts = [memory_usage(f).text(name) + "\n" for name, f in named]
    return "Memory usage estimation:\n" + "".join(parts) if parts else ""


# Sharing of memory


@dataclass(eq=False)
class _Tensor:
    """A tensor in a storage: its bytes, and the range of ops (by position) in which it is live."""

    op: StorageTensor
    first: int
    last: int

    def range(self, sizes: Mapping[str, int]) -> range:
        """Return the bytes of the storage that the tensor occupies."""
        offset, t = self.op.offset_expr, self.op.new_tensor()
        if offset is None or t.dims is None:
            raise TiraxError("a tensor of unknown place", found=name_of(self.op.results[0]))
        start = offset.evaluate(sizes)
        return range(start, start + bytes_of(t).evaluate(sizes))


_SAME_MEMORY = (relax.BindOp, relax.MatchCastOp)
_NAMES = (*_SAME_MEMORY, relax.TupleOp, relax.TupleGetItemOp)
"""Operations that create an alias of a tensor without accessing its memory."""
_VIEWS = frozenset(("relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"))


def plan_problems(func: relax.FuncOp, sizes: Mapping[str, int] | None = None) -> list[str]:
    """Return the errors in a function's memory plan, for values of its symbolic variables; empty if there are none.

    Tensors that are live at the same time must not share bytes of a storage, and none may extend beyond it. A tensor is
    live until the last use of any possible alias. Variables without a value count as 3.
    """
    values = _Sizes(sizes or {})
    ops = list(func.body.block.walk())
    position = {op: i for i, op in enumerate(ops)}
    by_storage: dict[SSAValue, list[_Tensor]] = {}
    for op in ops:
        if isinstance(op, StorageTensor):
            last = max(_needed(op.results[0], position, len(ops)), default=position[op])
            by_storage.setdefault(op.storage_value, []).append(_Tensor(op, position[op], last))
    problems = [p for storage, tensors in by_storage.items() for p in _beyond(storage, tensors, values)]
    return problems + [p for tensors in by_storage.values() for p in _overlaps(tensors, values)]


class _Sizes(dict[str, int]):
    """Values of variables; those that only a match_cast determines are unknown."""

    def __missing__(self, name: str) -> int:
        return 3


def _needed(tensor: SSAValue, position: Mapping[Operation, int], end: int) -> Iterator[int]:
    """Yield the positions of the ops that use a tensor or its possible aliases; `end` if it escapes the function.

    In a tuple, the tensor is the field at the path of indices.
    """
    pending: list[tuple[SSAValue, tuple[int, ...]]] = [(tensor, ())]
    seen = set(pending)
    while pending:
        value, path = pending.pop()
        for use in value.uses:
            op = use.operation
            if isinstance(op, relax.ReturnOp):
                yield end
            if not isinstance(op, (Kill, *_NAMES)) and not _is_view(op):
                yield position[op]
            for alias in _aliases(op, use.index, path):
                if alias not in seen:
                    seen.add(alias)
                    pending.append(alias)


def _aliases(op: Operation, operand: int, path: tuple[int, ...]) -> list[tuple[SSAValue, tuple[int, ...]]]:
    """Return the possible aliases of an op's operand, or of the operand's field at this path."""
    if isinstance(op, relax.YieldOp):
        return [(r, path) for r in cast(Operation, op.parent_op()).results]
    if isinstance(op, relax.OutputOp):
        return [(cast(Operation, op.parent_op()).results[operand], path)]
    if isinstance(op, relax.TupleOp):
        return [(op.result, (operand, *path))]
    if isinstance(op, relax.TupleGetItemOp):
        return [(op.result, path[1:])] if path[:1] == (op.index.data,) else []
    return [(r, path) for r in op.results] if isinstance(op, _SAME_MEMORY) or _is_view(op) else []


def _is_view(op: Operation) -> bool:
    """Return whether the result of an op may alias its operand, with another shape."""
    return op.name in _VIEWS or (isinstance(op, relax.CallPackedOp) and op.func.data == "vm.builtin.reshape")


def _beyond(storage: SSAValue, tensors: list[_Tensor], values: Mapping[str, int]) -> Iterator[str]:
    owner = storage.owner
    size = owner.bytes if isinstance(owner, Storage) else None
    if size is None:
        return
    room = size.evaluate(values)
    for tensor in tensors:
        taken = tensor.range(values)
        if taken.start < 0 or (len(taken) and taken.stop > room):
            yield f"{_name(tensor)} takes the bytes {taken.start} to {taken.stop} of {room}"


def _overlaps(tensors: list[_Tensor], values: Mapping[str, int]) -> Iterator[str]:
    live: list[_Tensor] = []
    for tensor in tensors:  # in order of creation
        live = [t for t in live if t.last >= tensor.first and not _exclusive(t.op, tensor.op)]
        mine = tensor.range(values)
        for other in live:
            theirs = other.range(values)
            if max(mine.start, theirs.start) < min(mine.stop, theirs.stop):
                yield f"{_name(tensor)} shares bytes with {_name(other)}, which is still needed"
        live.append(tensor)


def _exclusive(a: Operation, b: Operation) -> bool:
    """Return whether two ops are in different branches of the same `if`, so that at most one of them runs."""
    mine = dict(_branches(a))
    return any(branch in mine and mine[branch] is not block for branch, block in _branches(b))


def _branches(op: Operation) -> Iterator[tuple[Operation, Block]]:
    block, parent = op.parent, op.parent_op()
    while block is not None and parent is not None:
        if isinstance(parent, relax.IfOp):
            yield parent, block
        block, parent = parent.parent, parent.parent_op()


def _name(tensor: _Tensor) -> str:
    return f"'{name_of(tensor.op.results[0])}'"


# Tensor functions


def has_reshape_pattern(func: Any) -> bool:
    """Return whether a tensor function fills its last buffer with the elements of its first, in row-major order.

    `func` is a `PrimFunc` that uses no other buffers. Returns False also if this cannot be proved.
    """
    op = getattr(func, "op", func)
    if not isinstance(op, tir.FuncOp):
        raise TiraxError("a tensor function is expected", found=type(func).__name__)
    return copies_in_order(op)
