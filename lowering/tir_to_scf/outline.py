"""`outline-parallel`: outline the body of a parallel loop into a function `(context, begin, end)` for the thread pool.

    scf.parallel (%i) = (%a) to (%b) {S(%i, captured)}
      -> context[…] = captured;  call @tirax_parallel_for(@f_parallel_0, context, %a, %b, grain, cores)

`@f_parallel_0(%context: memref<?xi64>, %begin: i64, %end: i64)` reads the captured values from the context, one in
each 64-bit slot (a buffer as its address, a vector as the address of its memory), and calls
`@f_parallel_0_body(captured…, %begin, %end)`, which contains the loop; so the aliasing information of the buffers is
kept. If the loop body can fail, it returns a status (`tir_to_scf`): the function stores it in an extra slot of the
context, and the kernel returns it after the loop. `runtime.thread_pool` documents `tirax_parallel_for`; the grain is
the number of iterations worth waking a thread for, by an estimate of their work (`work`), `cores` the target's
`-num-cores`, 0 if not set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func, llvm, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    IndexType,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import bit_width, is_float, lanes_of, scalar_of
from ...dialects.quick import operations
from ...dialects.xdsl_extras import func_extras
from ...ir.passes.transform import Pass
from ...target import Target
from ...transforms.tir.walk import copied
from ..convert_to_llvm.failures import MAY_FAIL, RETURNS_STATUS
from .emitter import INDEX
from .signature import POINTER, STATUS_TYPE
from .work import WorkEstimate

CONTEXT = MemRefType(i64, [DYNAMIC_INDEX])
RANGE_FUNCTION = FunctionType.from_lists([CONTEXT, i64, i64], [])
"""The type of the function that a parallel loop is outlined to: (context, begin, end)."""
PARALLEL_FOR = "tirax_parallel_for"
_PARALLEL_FOR_TYPES = [RANGE_FUNCTION, CONTEXT, i64, i64, i64, i64]
_WORK_WORTH_A_THREAD = 16384
"""In operations: some microseconds, several times the cost of waking a spinning thread."""


@dataclass(frozen=True)
class OutlineParallel(Pass):
    """Outline `scf.parallel` of one dimension without results; nested ones stay in the body and run sequentially."""

    name = "outline-parallel"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        module = op.body.block
        limit = Target(self.target).core_limit
        outlined = False
        for function in [f for f in module.ops if isinstance(f, func.FuncOp)]:
            loops = [inner for inner in operations(function) if type(inner) is scf.ParallelOp]
            outer = [loop for loop in loops if not _inside_parallel(loop)]
            for number, loop in enumerate(outer):
                _outline(module, function, loop, f"{function.sym_name.data}_parallel_{number}", limit)
            outlined = outlined or bool(outer)
        if outlined:
            module.add_op(func.FuncOp.external(PARALLEL_FOR, _PARALLEL_FOR_TYPES, []))


def _inside_parallel(loop: scf.ParallelOp) -> bool:
    parent = loop.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ParallelOp):
            return True
        parent = parent.parent_op()
    return False


Copied = arith.ConstantOp | vector.BroadcastOp
"""Operations that are duplicated in the loop body instead of being captured."""


@dataclass
class _Captured:
    """The values that a loop body uses from outside: operations to duplicate, in order, other values, and
    their uses.
    """

    copied: dict[Copied, None] = field(default_factory=dict[Copied, None])
    values: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    places: list[tuple[Operation, int]] = field(default_factory=list[tuple[Operation, int]])

    def add(self, value: SSAValue) -> None:
        """Record a value defined outside."""
        if isinstance(value.owner, vector.BroadcastOp):
            self.add(value.owner.source)
        if isinstance(value.owner, Copied):
            self.copied[value.owner] = None
        else:
            self.values[value] = None


def _captured(loop: scf.ParallelOp) -> _Captured:
    ops = operations(loop)[1:]
    inside: set[SSAValue] = set(loop.body.block.args)
    for op in ops:
        inside.update(op.results)
        for region in op.regions:
            for block in region.blocks:
                inside.update(block.args)
    captured = _Captured()
    for op in ops:
        for i, operand in enumerate(op.operands):
            if operand not in inside:
                captured.add(operand)
                captured.places.append((op, i))
    return captured


def _outline(module: Block, kernel: func.FuncOp, loop: scf.ParallelOp, name: str, limit: int) -> None:
    if len(loop.lowerBound) != 1 or loop.results:
        raise UnsupportedError("scf.parallel with several dimensions or results", expected="one loop")
    captured = _captured(loop)
    values = list(captured.values)
    fails = any(isinstance(op, memref.AllocOp) or MAY_FAIL in op.attributes for op in operations(loop))
    parent = cast(Block, loop.parent)
    for op in _call(name, loop, values, _grain(loop), limit, fails):
        parent.insert_op_before(op, loop)
    body = _body_function(kernel, loop, f"{name}_body", captured, fails)
    module.insert_ops_before([body, _thunk(name, f"{name}_body", values, fails)], kernel)
    parent.erase_op(loop)


def _body_function(
    kernel: func.FuncOp, loop: scf.ParallelOp, name: str, captured: _Captured, fails: bool
) -> func.FuncOp:
    """Return the function of the loop from `begin` to `end`, with its body moved and the captured values as parameters.

    It returns a status if it may fail.
    """
    types = [*(v.type for v in captured.values), INDEX, INDEX]
    entry = Block(arg_types=types)
    mapping: dict[SSAValue, SSAValue] = dict(zip(captured.values, entry.args, strict=False))
    for value, arg in mapping.items():
        arg.name_hint = value.name_hint
    for op in captured.copied:
        copy = copied(op, [mapping.get(v, v) for v in op.operands])
        entry.add_op(copy)
        mapping[op.results[0]] = copy.results[0]
    step = mapping.get(loop.step[0])
    if step is None:
        entry.add_op(one := arith.ConstantOp.from_int_and_width(1, INDEX))
        step = one.result
    for op, i in captured.places:
        op.operands[i] = mapping[op.operands[i]]
    body = loop.body.detach_block(loop.body.block)
    body.erase_op(cast(Operation, body.last_op))
    body.add_op(scf.YieldOp())
    entry.add_op(scf.ForOp(entry.args[-2], entry.args[-1], step, [], Region(body)))
    returned = [_add(entry, arith.ConstantOp.from_int_and_width(0, STATUS_TYPE))] if fails else []
    entry.add_op(func.ReturnOp(*returned))
    results = [STATUS_TYPE] if fails else []
    function = func.FuncOp(name, FunctionType.from_lists(types, results), Region(entry), StringAttr("private"))
    function.attributes.update(kernel.attributes)
    if not fails:
        function.attributes.pop(RETURNS_STATUS, None)
    function.attributes["no_inline"] = UnitAttr()  # LLVM would work on it twice: by itself, and again in its thunk
    return function


def _thunk(name: str, callee: str, values: list[SSAValue], fails: bool) -> func.FuncOp:
    """Return a function that reads the context, calls the body, and stores the status on failure."""
    entry = Block(arg_types=[CONTEXT, i64, i64])
    args: list[SSAValue] = []
    for slot, value in enumerate(values):
        word = memref.LoadOp.get(entry.args[0], [_index(entry, slot)])
        entry.add_op(word)
        args.append(_from_word(entry, word.res, value.type))
    for bound in entry.args[1:]:
        args.append(_add(entry, arith.IndexCastOp(bound, INDEX)))
    if fails:
        status = _add(entry, func.CallOp(callee, args, [STATUS_TYPE]))
        zero, place = arith.ConstantOp.from_int_and_width(0, STATUS_TYPE), _index(entry, len(values))
        failed = arith.CmpiOp(status, zero, "slt")
        word = arith.ExtSIOp(status, i64)
        then = [word, memref.StoreOp.get(word, entry.args[0], [place]), scf.YieldOp()]
        entry.add_ops([zero, failed, scf.IfOp(failed, [], then, None)])
    else:
        entry.add_op(func.CallOp(callee, args, []))
    entry.add_op(func.ReturnOp())
    return func.FuncOp(name, RANGE_FUNCTION, Region(entry), StringAttr("private"))


def _index(block: Block, value: int) -> SSAValue:
    return _add(block, arith.ConstantOp.from_int_and_width(value, INDEX))


def _add(block: Block, op: Operation) -> SSAValue:
    block.add_op(op)
    return op.results[0]


def _from_word(block: Block, word: SSAValue, type: Attribute) -> SSAValue:
    """Convert the content of a 64-bit slot to `type`."""
    if isinstance(type, MemRefType):
        pointer = _add(block, llvm.IntToPtrOp(word))
        return _add(block, UnrealizedConversionCastOp.get([pointer], [cast(Attribute, type)]))
    if type == POINTER:
        return _add(block, llvm.IntToPtrOp(word))
    if isinstance(type, IndexType):
        return _add(block, arith.IndexCastOp(word, INDEX))
    if isinstance(type, VectorType):
        return _add(block, llvm.LoadOp(_add(block, llvm.IntToPtrOp(word)), cast(Attribute, type)))
    width = bit_width(type)
    integer = IntegerType(width)
    bits = word if width == 64 else _add(block, arith.TruncIOp(word, integer))
    return _add(block, arith.BitcastOp(bits, type)) if is_float(type) else bits


def _to_word(ops: list[Operation], value: SSAValue) -> SSAValue:
    """Convert a value to 64 bits."""

    def add(op: Operation) -> SSAValue:
        ops.append(op)
        return op.results[0]

    if isinstance(value.type, MemRefType):
        index = add(memref.ExtractAlignedPointerAsIndexOp.build(operands=[value], result_types=[INDEX]))
        return add(arith.IndexCastOp(index, i64))
    if value.type == POINTER:
        return add(llvm.PtrToIntOp(value))
    if isinstance(value.type, IndexType):
        return add(arith.IndexCastOp(value, i64))
    if isinstance(value.type, VectorType):
        kind = cast(Attribute, value.type)  # pyright: ignore[reportUnknownMemberType]
        size = 1 << (lanes_of(kind) * bit_width(scalar_of(kind)) - 1).bit_length()
        word = _to_word(ops, add(memref.AllocaOp.get(i64, max(8, size // 8), [max(1, size // 64)])))
        ops.append(llvm.StoreOp(value, add(llvm.IntToPtrOp(word))))
        return word
    width = bit_width(value.type)
    bits = add(arith.BitcastOp(value, IntegerType(width))) if is_float(value.type) else value
    return bits if width == 64 else add(arith.ExtUIOp(bits, i64))


def _grain(loop: scf.ParallelOp) -> SSAValue:
    """Return the number of iterations worth a thread, as an index value before the loop."""
    estimate = WorkEstimate(loop)
    work = estimate.of_iteration()
    if isinstance(work, int):
        return estimate.value(_WORK_WORTH_A_THREAD // max(1, work) + 1)
    iterations = estimate.binary(arith.DivUIOp, _WORK_WORTH_A_THREAD, estimate.binary(arith.AddiOp, work, 1))
    return estimate.binary(arith.AddiOp, iterations, 1)


def _call(
    name: str, loop: scf.ParallelOp, values: list[SSAValue], grain: SSAValue, limit: int, fails: bool
) -> list[Operation]:
    """Fill the context and run the full range."""
    context = memref.AllocaOp.get(i64, 8, [max(1, len(values) + fails)])
    ops: list[Operation] = [context]
    success = arith.ConstantOp.from_int_and_width(0, i64)
    ops += [success] if fails else []
    for slot, value in enumerate([*values, success.result] if fails else values):
        word = _to_word(ops, value)
        index = arith.ConstantOp.from_int_and_width(slot, INDEX)
        ops += [index, memref.StoreOp.get(word, context, [index])]
    numbers: list[SSAValue] = []
    for number in (loop.lowerBound[0], loop.upperBound[0], grain):
        ops.append(cast_op := arith.IndexCastOp(number, i64))
        numbers.append(cast_op.result)
    body, context_memref = func_extras.ConstantOp(name, RANGE_FUNCTION), memref.CastOp.get(context, CONTEXT)
    cores = arith.ConstantOp.from_int_and_width(limit, i64)
    arguments = [body.result, context_memref.results[0], *numbers, cores.result]
    ops += [body, context_memref, cores, func.CallOp(PARALLEL_FOR, arguments, [])]
    if fails:
        ops.append(index := arith.ConstantOp.from_int_and_width(len(values), INDEX))
        ops.append(word := memref.LoadOp.get(context, [index]))
        ops.append(status := arith.TruncIOp(word, STATUS_TYPE))
        status.attributes[MAY_FAIL] = UnitAttr()
    return ops
