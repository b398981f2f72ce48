"""The arena at run time: on the stack where it is small, else one aligned allocation for each call."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import llvm
from xdsl.ir import Operation, SSAValue

from ...dialects import host
from ...dialects.dtypes import byte_size
from ...dialects.sym.expr import Const, Product, Sum, SymExpr
from ..memory.plan import ALIGNMENT
from .builder import I8, PTR, f64
from .function import HostFunction
from .symbolic import is_non_negative

STACK_ARENA = 16 * 1024
"""Bytes up to which an arena lies on the stack (functions that call themselves never use it)."""
_LARGEST = 2.0**46


def make_arena(f: HostFunction, op: host.ArenaOp) -> None:
    """Allocate the arena of a function, after a check that no extent in it is negative or beyond all measure."""
    size = op.size.data
    _check_extents(f, op)
    limit = 0 if f.name in f.module.recursive else STACK_ARENA
    known = size.constant
    if known is not None and known <= limit:
        f.arena = f.code.alloca(max(known, 1), I8, ALIGNMENT)
    elif known is not None or not limit:
        f.arena = _allocate(f, f.scope.emit(size))
    else:
        f.arena = _by_size(f, f.scope.emit(size), limit)


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
    memory = code.call("aligned_alloc", [code.integer(ALIGNMENT), size])
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


def _check_extents(f: HostFunction, op: host.ArenaOp) -> None:
    """Sizes are computed in 64 bits, which must not overflow: they are computed in floating point, too."""
    code = f.code
    shapes = dict.fromkeys((t.tensor_type.dims or (), t.tensor_type.element) for t in _tensors(op))
    for dim in dict.fromkeys(d for dims, _ in shapes for d in dims if not is_non_negative(d)):
        value = f.scope.emit(dim)
        holds = code.compare("sle", code.integer(0), value)
        f.require(holds, "shape", f"'{f.name}': the extent {dim} is negative", [value], expected=">= 0", found="{0}")
    for dims, element in shapes:
        if all(d.constant is not None for d in dims) or element is None:
            continue
        size = code.real(byte_size(element))
        for d in dims:
            size = code.binary(llvm.FMulOp, size, _real(f, d))
        holds = code.value(llvm.FCmpOp(size, code.real(_LARGEST), "olt"))
        f.require(holds, "shape", f"'{f.name}': a tensor of shape ({', '.join(map(str, dims))}) is too large")


def _real(f: HostFunction, expr: SymExpr) -> SSAValue:
    """The value as a double, computed as one where it is a polynomial."""
    code = f.code
    if isinstance(expr, Const):
        return code.real(expr.value)
    if isinstance(expr, Product):
        value = _real(f, expr.atoms[0])
        for atom in expr.atoms[1:]:
            value = code.binary(llvm.FMulOp, value, _real(f, atom))
        return value
    if isinstance(expr, Sum):
        total = code.real(expr.offset)
        for term, factor in expr.terms:
            total = code.binary(llvm.FAddOp, total, code.binary(llvm.FMulOp, _real(f, term), code.real(factor)))
        return total
    return code.cast(llvm.SIToFPOp, f.scope.emit(expr), f64)
