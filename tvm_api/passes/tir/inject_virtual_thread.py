"""`inject-virtual-thread`: expand virtual threads, each with memory of its own.

    launch_thread "vthread" 2 {v: B = allocate [4]; B[i] = A[i * 2 + v]; C[i * 2 + v] = B[i]}
      ->  B = allocate [8]; B[i + 0 * 4] = A[i * 2 + 0]; B[i + 1 * 4] = A[i * 2 + 1]; C[i * 2 + 0] = B[i + 0 * 4]; …

Statements are repeated for each thread if they depend on the thread: on its index, or on memory that does.
Others run once. A statement that contains loops, or for 16 or more threads, becomes a loop over the threads
instead. Threads with the tag `vthread` share memory that is equal in all of them; those of `cthread` share
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....dialects.quick import operations
from ....dialects.relax.types import dims_attr
from ....dialects.sym.expr import Const, SymExpr, product
from ....handles.tir.prim_expr import PrimExpr
from ....ir.affine.values import Materializer, sym_expr_of
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import clone_expr, copied, is_expression
from ....ir.rewriting.edit import inline_before, inserter, set_type
from ....transforms.tir.walk import erase_with_tree, functions, remove_dead
from ...handles.arith.analyzer import Analyzer

_LONG = 16
"""The number of threads from which a loop is always used."""
_WRITES = 2
"""The bit in the mask of an access by address that marks a write."""


@dataclass(frozen=True)
class InjectVirtualThread(Pass):
    """Expand virtual threads. Run it after `flatten-buffer`.

    Raises `UnsupportedError` if their number is not constant, and for a buffer that covers only a part of its
    memory.
    """

    name = "inject-virtual-thread"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            launches = [o for o in operations(func) if isinstance(o, tir.LaunchThreadOp) and o.virtual]
            for launch in reversed(launches):
                _Threads(launch).write_out()
            if launches:
                remove_dead(func)


class _Threads:
    """The threads of one launch statement."""

    def __init__(self, launch: tir.LaunchThreadOp):
        count = sym_expr_of(launch.extent).constant
        if count is None:
            raise UnsupportedError("the number of virtual threads must be a constant", location=location_of(launch))
        for op in launch.body.walk():
            scalar = isinstance(op, tir.AllocBufferOp) and not op.result.type.dims
            if scalar or isinstance(op, tir.BlockOp):
                hint = "run lower-opaque-block and flatten-buffer first"
                raise UnsupportedError("virtual threads run over flat memory", location=location_of(op), hint=hint)
        self.launch, self.count = launch, int(count)
        self.shares = launch.tag.data.startswith("vthread")
        self.touched = _thread_dependent(launch)

    def write_out(self) -> None:
        """Replace the statement by the expanded threads."""
        body = self.launch.body.block
        for alloc in [op for op in operations(self.launch) if isinstance(op, tir.AllocateOp | tir.AllocBufferOp)]:
            if not self.shares or alloc.result in self.touched:
                self._multiply(alloc)
        self._number(body)
        self._block(body)
        inline_before(body, self.launch)
        erase_with_tree(self.launch)

    # Memory

    def _multiply(self, alloc: tir.AllocateOp | tir.AllocBufferOp) -> None:
        """Enlarge memory to hold the data of each thread, concatenated along the first dimension."""
        if isinstance(alloc, tir.AllocBufferOp):
            self._widen(alloc.result, alloc.result.type.dims)
            return
        size = product(alloc.extents)
        for use in list(alloc.result.uses):
            if isinstance(use.operation, tir.DeclBufferOp):
                self._widen(use.operation.result, _full_dims(use.operation, size))
            else:
                self._shift(use.operation, size)
        first, *rest = alloc.extents
        alloc.extents_attr = dims_attr([first * self.count, *rest])

    def _widen(self, buffer: SSAValue, dims: Sequence[SymExpr]) -> None:
        """Enlarge a buffer by the factor `count`, and redirect each access to the thread's part."""
        old = cast(tir.BufferType, buffer.type)
        set_type(buffer, old.with_shape([dims[0] * self.count, *dims[1:]]))
        for user in [use.operation for use in buffer.uses]:
            if isinstance(user, tir.LoadOp | tir.StoreOp):
                position = 1 if isinstance(user, tir.LoadOp) else 2
                user.operands[position] = self._thread_index(user.operands[position], dims[0], user)
            elif isinstance(user, tir.BufferDataOp):
                for address in [use.operation for use in user.result.uses]:
                    self._shift(address, product(dims))

    def _shift(self, access: Operation, size: SymExpr) -> None:
        """Offset an access by address to the thread's part of `size` elements."""
        if isinstance(access, tir.CallIntrinOp) and access.func.data == "tvm_access_ptr":
            access.operands[2] = self._thread_index(access.operands[2], size, access)

    def _thread_index(self, index: SSAValue, size: SymExpr, user: Operation) -> SSAValue:
        """Return `index + thread * size`, simplified, in front of its user."""
        ramp = index.owner if isinstance(index.owner, tir.RampOp) else None
        base = index if ramp is None else ramp.operands[0]
        dtype = cast(IntegerType, base.type)
        block = Block()
        part = tir.MulOp(self._thread(block, dtype), Materializer(block.add_op)(size, dtype))
        block.add_op(part)
        block.add_op(total := tir.AddOp(clone_expr(base, block, {}), part.result))
        short = Analyzer().simplify(PrimExpr(total.result))
        place = Block()
        new = clone_expr(short.ssa, place, {})
        if ramp is not None:
            moved = tir.RampOp.create(
                operands=[new, clone_expr(ramp.operands[1], place, {})], result_types=[index.type]
            )
            place.add_op(moved)
            new = moved.results[0]
        inline_before(place, user)
        return new

    def _thread(self, block: Block, dtype: IntegerType) -> SSAValue:
        index = self.launch.index
        if index.type == dtype:
            return index
        block.add_op(number := tir.CastOp(index, dtype))
        return number.result

    def _number(self, body: Block) -> None:
        """Replace the thread's index in a body; threads that share memory have none of their own."""
        for op in [] if self.shares else list(body.walk()):
            if isinstance(op, tir.DeviceCallOp) and op.func.data == "tvm_context_id":
                op.results[0].replace_all_uses_with(self.launch.index)
                erase_with_tree(op)

    # Statements

    def _block(self, block: Block) -> None:
        """Expand the statements of a block that depend on the thread."""
        statements = [op for op in block.ops if not is_expression(op)]
        for k, op in enumerate(statements):
            if not self._depends(op):
                for inner in (inner for region in op.regions for inner in region.blocks):
                    self._block(inner)
            elif isinstance(op, tir.LetOp):  # what follows may use it
                self._write(statements[k:])
                return
            else:
                self._write([op])

    def _depends(self, op: Operation) -> bool:
        """Return whether a statement, apart from nested ones, depends on the thread."""
        if isinstance(op, tir.StoreOp | tir.EvaluateOp) and not self.shares:
            return True
        if isinstance(op, tir.StoreOp) and _memory(op.buffer) in self.touched:
            return True
        return not isinstance(op, tir.DeclBufferOp | tir.YieldOp) and _mentions(op.operands, self.touched)

    def _write(self, ops: Sequence[Operation]) -> None:
        """Replace statements by copies for each thread."""
        if self.count < _LONG and not any(isinstance(o, tir.ForOp) for op in ops for o in op.walk()):
            body = Block()
            for number in range(self.count):
                constant = tir.ConstOp(number, self.launch.index.type)
                body.add_op(constant)
                copied(ops, body, {self.launch.index: constant.result})
            inline_before(body, ops[0])
        else:
            inserter(ops[0])(self._loop(ops))
        for op in reversed(ops):
            erase_with_tree(op)

    def _loop(self, ops: Sequence[Operation]) -> tir.ForOp:
        dtype = cast(IntegerType, self.launch.index.type)
        body = Block(arg_types=[dtype])
        set_name(body.args[0], f"{name_of(self.launch.index) or 'v'}_s")
        copied(ops, body, {self.launch.index: body.args[0]})
        return tir.ForOp(Const(0, dtype), Const(self.count, dtype), Region(body))


def _full_dims(declaration: tir.DeclBufferOp, size: SymExpr) -> Sequence[SymExpr]:
    """Return the dimensions of a buffer that covers its memory. Raises `UnsupportedError` if it covers only a part."""
    t = declaration.result.type
    if product(t.dims) != size or t.with_shape(t.dims).offset != t.offset or t.strides != t.with_shape(t.dims).strides:
        where = location_of(declaration)
        raise UnsupportedError("a buffer of virtual threads is a part of its memory", location=where, found=t)
    return t.dims


def _memory(value: SSAValue) -> SSAValue:
    """Return the allocation or parameter that a buffer or address is based on."""
    while isinstance(value.owner, tir.DeclBufferOp | tir.BufferDataOp):
        value = value.owner.operands[0]
    return value


def _mentions(values: Iterable[SSAValue], touched: set[SSAValue]) -> bool:
    """Return whether expressions depend on the thread."""
    todo = list(values)
    while todo:
        value = todo.pop()
        if value in touched or _memory(value) in touched:
            return True
        op = value.owner
        if isinstance(op, Operation) and is_expression(op):
            todo += op.operands
            todo += [v for region in op.regions for block in region.blocks for o in block.ops for v in o.operands]
    return False


def _thread_dependent(launch: tir.LaunchThreadOp) -> set[SSAValue]:
    """Return the values that depend on the thread: its index, variables, and memory with dependent contents."""
    touched: set[SSAValue] = {launch.index}
    statements = [op for op in operations(launch)[1:] if not is_expression(op)]
    known = 0
    while known < len(touched):
        known = len(touched)
        for op in statements:
            if _mentions(op.operands, touched):
                touched.update(_assigned_values(op))
    return touched


def _assigned_values(op: Operation) -> list[SSAValue]:
    """Return the values that a statement assigns."""
    if isinstance(op, tir.StoreOp):
        return [_memory(op.buffer)]
    if isinstance(op, tir.EvaluateOp):
        return [_memory(call.operands[1]) for call in _accesses(op) if _writes(call)]
    return [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]


def _accesses(op: tir.EvaluateOp) -> list[tir.CallIntrinOp]:
    """Return the accesses by address in a call."""
    todo, accesses = [op.value], list[tir.CallIntrinOp]()
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, Operation) and is_expression(owner):
            todo += owner.operands
            if isinstance(owner, tir.CallIntrinOp) and owner.func.data == "tvm_access_ptr":
                accesses.append(owner)
    return accesses


def _writes(access: tir.CallIntrinOp) -> bool:
    mask = sym_expr_of(access.operands[4]).constant
    return mask is None or bool(int(mask) & _WRITES)
