"""Operators on memory in destination passing form, and views at run time.

%t = relax.builtin.alloc_tensor …         ->  %t = host.tensor : T
%s = relax.memory.alloc_storage %n, …     ->  %s = host.tensor : !relax.tensor<[n], ui8>
%t = relax.memory.alloc_tensor %s, 64, …  ->  %t = host.view %s at 64 : T; host.tensor, if that is all in %s
%t = relax.reshape %x, %shape             ->  %t = host.view %x : T
relax.memory.kill_tensor %t               ->  nothing: memory planning and the code that follows know last uses

The same for `relax.vm.…`. A view of a constant that somebody may keep is a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import llvm
from xdsl.ir import Block, Operation

from ...diagnostics import UnsupportedError
from ...dialects import host, relax
from ...dialects.dtypes import byte_size, dtype_name, dtype_of
from ...dialects.names import name_of, set_name
from ...dialects.relax import memory
from ...dialects.relax.memory import tensor_bytes
from ...dialects.sym.expr import SymExpr, floormod, product
from ...ir.verification.verify import location_of
from ...runtime import abi
from ...runtime.abi import ArrayLayout, Slot, dtype_slot
from ..memory.plan import escapes
from .arena import check_extents
from .builder import I32
from .function import HostFunction
from .values import Tensor, Value, new_array

_BYTE = dtype_of("uint8")


# Rules of `lower-relax-calls`


def _put(op: Operation, block: Block, new: Any) -> None:
    """`new`, which has one result, in the place of `op`."""
    new.location = op.location
    block.insert_op_before(new, op)
    set_name(new.result, name_of(op.results[0]))
    op.results[0].replace_all_uses_with(new.result)
    _erase(op, block)


def _erase(op: Operation, block: Block) -> None:
    """Erase an op, and the leaves that only it used: sizes, data types, devices."""
    operands = dict.fromkeys(op.operands)
    block.erase_op(op)
    for value in operands:
        leaf = value.owner
        if isinstance(leaf, relax.LEAVES) and value.first_use is None and leaf.parent is not None:
            leaf.parent.erase_op(leaf)


def replace_by_nothing(op: Operation, block: Block) -> None:
    """Remove an op that gives `tuple<>`; where the result is used, it is an empty tuple."""
    if op.results[0].first_use is not None:
        _put(op, block, relax.TupleOp([]))
    else:
        _erase(op, block)


def _known(op: Any) -> relax.TensorType:
    """The tensor that an operator gives. Raises `UnsupportedError` where its extents or its dtype are not known."""
    t = op.new_tensor() if isinstance(op, memory.Allocation) else op.infer()
    if not isinstance(t, relax.TensorType) or t.dims is None or t.element is None:
        raise UnsupportedError(
            f"{op.name} of a tensor of unknown extents or dtype",
            location=location_of(op),
            found=t,
            hint="say what they are by a match_cast before",
        )
    return t


def _alloc_tensor(op: memory.AllocTensor, block: Block, kernels: set[str]) -> None:
    _put(op, block, host.TensorOp(_known(op)))


def _alloc_storage(op: memory.Storage, block: Block, kernels: set[str]) -> None:
    size = op.bytes
    if size is None:
        raise UnsupportedError(f"{op.name} of unknown size", location=location_of(op), expected="R.shape([n])")
    _put(op, block, host.TensorOp(relax.TensorType.of([size], _BYTE)))


def _storage_tensor(op: memory.StorageTensor, block: Block, kernels: set[str]) -> None:
    storage, offset, t = op.storage_value, op.offset_expr, _known(op)
    made = storage.owner
    if offset is None or not isinstance(made, host.TensorOp):
        raise UnsupportedError(
            f"{op.name} of a storage that is not made in the function, or of an unknown offset",
            location=location_of(op),
            expected="a storage of alloc_storage, an integer offset",
        )
    inside = [use.operation for use in storage.uses if not isinstance(use.operation, memory.Kill)]
    if inside == [op] and offset.constant == 0 and made.tensor_type.dims == (tensor_bytes(t),):
        _put(op, block, host.TensorOp(t))
        return
    _put(op, block, host.ViewOp(storage, t, offset))


def _reshape(op: Any, block: Block, kernels: set[str]) -> None:
    _put(op, block, host.ViewOp(op.x, _known(op)))


def reshape_call(op: relax.CallPackedOp, block: Block) -> bool:
    """`call_packed "vm.builtin.reshape"(x, shape)` as a view, where the shape is known; whether it was one."""
    t = op.result.type
    is_reshape = op.func.data == "vm.builtin.reshape" and len(op.args) == 2
    known = isinstance(t, relax.TensorType) and t.dims is not None and t.element is not None
    if not (is_reshape and known and isinstance(op.args[0].type, relax.TensorType)):
        return False
    _put(op, block, host.ViewOp(op.args[0], t))
    return True


def _kill(op: memory.Kill, block: Block, kernels: set[str]) -> None:
    replace_by_nothing(op, block)


RULES: dict[type[Operation], Callable[[Any, Block, set[str]], None]] = {
    memory.AllocTensor: _alloc_tensor,
    memory.AllocStorage: _alloc_storage,
    memory.VMAllocStorage: _alloc_storage,
    memory.MemoryAllocTensor: _storage_tensor,
    memory.VMAllocTensor: _storage_tensor,
    relax.OPERATORS["relax.reshape"]: _reshape,
    memory.KillStorage: _kill,
    memory.KillTensor: _kill,
    memory.KillObject: _kill,
}
"""As in `calls.py`, op by op."""


# At run time


def make_view(f: HostFunction, op: host.ViewOp, source: Value) -> Tensor:
    """A tensor in the memory of another, with an array of its own where somebody may keep it."""
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
        data = f.code.address(source.data, f.scope.emit(offset) if known is None else known)
    view = Tensor(data, t.dims, t.element)
    return _with_object(f, view, source) if escapes(op.result) else view


def _check_fits(f: HostFunction, t: relax.TensorType, source: Tensor, offset: SymExpr | None) -> None:
    """End the function where the view is not within its source, or, without an offset, not all of it."""
    code, scope = f.code, f.scope
    assert t.element is not None and source.element is not None
    size, given = tensor_bytes(t), product(source.dims) * byte_size(source.element)
    end = size if offset is None else size + offset
    rest = (given - end).constant
    if rest is None or rest < 0 or (offset is None and rest):
        values = [scope.emit(end), scope.emit(given)]
        holds = code.compare("eq" if offset is None else "sle", *values)
        message = f"'{f.name}': a tensor of shape ({', '.join(map(str, t.dims or ()))}) does not fit its memory"
        f.require(holds, "shape", message, values, expected="{1} bytes", found="{0} bytes")
    if offset is None or offset.constant == 0:
        return
    if offset.constant is None:
        f.require(code.compare("sle", code.integer(0), scope.emit(offset)), "shape", f"'{f.name}': a negative offset")
    odd = floormod(offset, byte_size(t.element))
    if odd.constant != 0:
        aligned = code.compare("eq", scope.emit(odd), code.integer(0))
        f.require(aligned, "shape", f"'{f.name}': the offset of a tensor is no multiple of its elements' size")


def _copy(f: HostFunction, t: relax.TensorType, source: Tensor) -> Tensor:
    assert t.dims is not None and t.element is not None
    copy = new_array(f, t.dims, t.element)
    f.code.call("memcpy", [copy.data, source.data, f.scope.emit(tensor_bytes(t))])
    return copy


def _with_object(f: HostFunction, view: Tensor, source: Tensor) -> Tensor:
    """The view with an array over its memory, which keeps the source's array and may be written if that may be."""
    assert source.obj is not None and view.element is not None
    code = f.code
    descr = code.slot(dtype_slot(dtype_name(view.element)))
    extents = f.array([f.scope.emit(d) for d in view.dims])
    code.call("Py_IncRef", [descr], None)
    writeable = code.binary(
        llvm.AndOp, code.field(source.obj, ArrayLayout.FLAGS, I32), code.integer(abi.WRITEABLE, I32)
    )
    flags = code.binary(llvm.OrOp, writeable, code.integer(abi.INPUT_FLAGS, I32))
    rank = code.integer(len(view.dims), I32)
    args = [code.slot(Slot.TIRAX_NDARRAY_TYPE), descr, rank, extents, code.null, view.data, flags, code.null]
    array = f.own(code.call_pointer(code.slot(Slot.NEW_FROM_DESCR), args))
    code.call("Py_IncRef", [source.obj], None)
    status = code.call_pointer(code.slot(Slot.SET_BASE_OBJECT), [array, source.obj], I32)
    code.unless(code.compare("sle", code.integer(0, I32), status), f.cleanup, code.null)
    return Tensor(view.data, view.dims, view.element, array)
