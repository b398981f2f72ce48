"""The arena at run time: on the stack where it is small, else memory of the pool, taken for each call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects import llvm
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import host
from ...dialects.dtypes import byte_size
from ...dialects.sym.expr import SymExpr
from ...runtime import result_pool
from ..memory.plan import ALIGNMENT
from .builder import I8, PTR
from .function import HostFunction

STACK_ARENA = 16 * 1024
"""Bytes up to which an arena lies on the stack (functions that call themselves never use it)."""
_LARGEST = 2.0**46


def make_arena(f: HostFunction, op: host.ArenaOp) -> None:
    """Allocate the arena of a function, after a check that no extent in it is negative or beyond all measure."""
    size = op.size.data
    check_extents(f, [(t.tensor_type.dims or (), t.tensor_type.element) for t in _tensors(op)])
    limit = 0 if f.name in f.module.recursive else STACK_ARENA
    known = size.constant
    if known is not None and known <= limit:
        f.arena = f.code.alloca(max(known, 1), I8, ALIGNMENT)
    elif known is not None or not limit:
        f.arena = _allocate(f, f.scope.emit_wrapping(size))
    else:
        f.arena = _by_size(f, f.scope.emit_wrapping(size), limit)


def _by_size(f: HostFunction, size: SSAValue, limit: int) -> SSAValue:
    code = f.code
    stack = code.alloca(limit, I8, ALIGNMENT)
    large, ready = code.new_block(), code.new_block(PTR)
    code.branch(code.compare("sle", size, code.integer(limit)), ready, large, (stack,))
    code.at(large)
    code.jump(ready, _allocate(f, size))
    code.at(ready)
    return ready.args[0]


def _allocate(f: HostFunction, size: SSAValue) -> SSAValue:
    code = f.code
    f.heap = f.variable()
    memory = code.call(result_pool.TAKE, [size])
    following, failing = code.new_block(), code.new_block()
    code.branch(code.compare("eq", memory, code.null), failing, following)
    code.at(failing)
    code.jump(f.cleanup, code.call("PyErr_NoMemory", []))
    code.at(following)
    code.store(memory, f.heap)
    return memory


def _tensors(op: Operation) -> Iterator[host.TensorOp]:
    function = op.parent_op()
    assert function is not None
    for inner in function.walk():
        if isinstance(inner, host.TensorOp) and inner.offset is not None:
            yield inner


def check_extents(f: HostFunction, tensors: Iterable[tuple[Sequence[SymExpr], Attribute | None]]) -> None:
    """End the function where an extent of a tensor that it is to make is negative, or its size beyond all measure.

    Sizes are computed in 64 bits, which must not overflow: they are computed in floating point, too.
    """
    code = f.code
    shapes = dict.fromkeys((tuple(dims), element) for dims, element in tensors)
    for dim in dict.fromkeys(d for dims, _ in shapes for d in dims if not f.scope.is_non_negative(d)):
        value = f.scope.emit(dim)
        holds = code.compare("sle", code.integer(0), value)
        f.require(holds, "shape", f"'{f.name}': the extent {dim} is negative", [value], expected=">= 0", found="{0}")
    for dims, element in shapes:
        if all(d.constant is not None for d in dims) or element is None:
            continue
        size = code.real(byte_size(element))
        for d in dims:
            size = code.binary(llvm.FMulOp, size, f.scope.real(d))
        holds = code.value(llvm.FCmpOp(size, code.real(_LARGEST), "olt"))
        f.require(holds, "shape", f"'{f.name}': a tensor of shape ({', '.join(map(str, dims))}) is too large")
