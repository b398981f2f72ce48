"""Memory at run time: the arena, on the stack if it is small, otherwise taken from the pool for each call; and
views.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import host, relax
from ...dialects.dtypes import byte_size
from ...dialects.quick import operations
from ...dialects.relax.memory import tensor_bytes
from ...dialects.sym.expr import SymExpr, floormod, product
from ...runtime import abi, result_pool
from ...runtime.abi import ArrayLayout, Slot
from ..memory.plan import ALIGNMENT, escapes
from .function import HostFunction
from .native import I8, I32
from .values import Tensor, Value, array_over, check_extents, new_array, new_descr

STACK_ARENA = 16 * 1024
"""Bytes up to which an arena is placed on the stack (never in recursive functions)."""


def make_arena(f: HostFunction, op: host.ArenaOp) -> None:
    """Allocate the arena of a function, after checking that no extent in it is negative or absurdly large."""
    size = op.size.data
    check_extents(f, [(t.tensor_type.dims or (), t.tensor_type.element) for t in _tensors(op)])
    limit = 0 if f.name in f.module.recursive else STACK_ARENA
    known = size.constant
    if known is not None and known <= limit:
        f.arena = f.alloca(max(known, 1), I8, ALIGNMENT)
        return
    bytes_ = f.scope.unchecked(size)
    heap = f.heap = f.variable()

    def take() -> SSAValue:
        memory = f.call(result_pool.TAKE, [bytes_])
        f.store(memory, heap)
        return memory

    if known is not None or not limit:
        f.arena = take()
    else:
        stack = f.alloca(limit, I8, ALIGNMENT)
        f.arena = f.choose(f.compare("sle", bytes_, f.integer(limit)), lambda: stack, take)
    holds = f.compare("ne", f.arena, f.null)
    message = f"'{f.name}': {{0}} bytes of memory cannot be allocated"
    f.unless(holds, lambda: f.fail("memory", message, [bytes_], hint="call it with smaller tensors"))


def _tensors(op: Operation) -> Iterator[host.TensorOp]:
    function = op.parent_op()
    assert function is not None
    for inner in operations(function):
        if isinstance(inner, host.TensorOp) and inner.offset is not None:
            yield inner


def make_view(f: HostFunction, op: host.ViewOp, source: Value) -> Tensor:
    """Return a tensor in the memory of another, with an array of its own if the value may escape."""
    t = op.tensor_type
    assert t.dims is not None and t.element is not None
    if not isinstance(source, Tensor) or source.element is None:
        raise UnsupportedError("a view of a tensor of unknown extents or dtype", found=op.source.type)
    check_extents(f, [(t.dims, t.element)])
    offset = None if op.offset is None else op.offset.data
    _check_fits(f, t, source, offset)
    if source.constant is not None and escapes(op.result):
        return _copy(f, t, source)
    if offset is None:
        data = source.data
    else:
        known = offset.constant
        data = f.address(source.data, f.scope.of(offset) if known is None else known)
    view = Tensor(data, t.dims, t.element)
    return _with_object(f, view, source) if escapes(op.result) else view


def _check_fits(f: HostFunction, t: relax.TensorType, source: Tensor, offset: SymExpr | None) -> None:
    """Exit the function if the view is not within its source or, without an offset, does not cover all of it."""
    scope = f.scope
    assert t.element is not None and source.element is not None
    size, available = tensor_bytes(t), product(source.dims) * byte_size(source.element)
    end = size if offset is None else size + offset
    rest = (available - end).constant
    if rest is None or rest < 0 or (offset is None and rest):
        values = [scope.of(end), scope.of(available)]
        holds = f.compare("eq" if offset is None else "sle", *values)
        message = f"'{f.name}': a tensor of shape ({', '.join(map(str, t.dims or ()))}) does not fit its memory"
        f.require(holds, "shape", message, values, expected="{1} bytes", found="{0} bytes")
    if offset is None or offset.constant == 0:
        return
    if offset.constant is None:
        f.require(f.compare("sle", f.integer(0), scope.of(offset)), "shape", f"'{f.name}': a negative offset")
    odd = floormod(offset, byte_size(t.element))
    if odd.constant != 0:
        aligned = f.compare("eq", scope.of(odd), f.integer(0))
        f.require(aligned, "shape", f"'{f.name}': the offset of a tensor is no multiple of its elements' size")


def _copy(f: HostFunction, t: relax.TensorType, source: Tensor) -> Tensor:
    assert t.dims is not None and t.element is not None
    copy = new_array(f, t.dims, t.element)
    f.call("memcpy", [copy.data, source.data, f.scope.of(tensor_bytes(t))])
    return copy


def _with_object(f: HostFunction, view: Tensor, source: Tensor) -> Tensor:
    """Return the view with an array over its memory, which keeps the source's array alive and is writable if
    that is.
    """
    assert source.obj is not None and view.element is not None
    descr = new_descr(f, view.element)
    extents = f.array([f.scope.of(d) for d in view.dims])
    writeable = f.binary(arith.AndIOp, f.field(source.obj, ArrayLayout.FLAGS, I32), f.integer(abi.WRITEABLE, I32))
    flags = f.binary(arith.OrIOp, writeable, f.integer(abi.INPUT_FLAGS, I32))
    array = f.own(array_over(f, descr, len(view.dims), extents, view.data, flags))
    f.call("Py_IncRef", [source.obj], None)
    status = f.call_pointer(f.slot(Slot.SET_BASE_OBJECT), [array, source.obj], I32)
    f.when(f.compare("slt", status, f.integer(0, I32)), f.cleanup, f.null)
    return Tensor(view.data, view.dims, view.element, array)
