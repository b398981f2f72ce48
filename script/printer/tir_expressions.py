"""TIR expressions as Python source, one function for each op.

Each op is printed once, when its block is walked, and users reuse the texts of their operands. Shared values
therefore cost nothing, and deep trees need no recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from xdsl.dialects.builtin import VectorType, i1, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.dtypes import dtype_name, is_dtype, is_float, is_scalable, lanes_of, scalar_of, ui32
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const
from ..metadata import STRING_IMM_KEY
from .document import Document, Expr, Level, atom, infix, prefix
from .literals import string, text_or_metadata, tir_float
from .symbolic import CALLS, INFIX, SymbolicPrinter, call, symbolic


class ExpressionPrinter(SymbolicPrinter, Protocol):
    """The interface that expressions require of a function's printer."""

    doc: Document
    is_read_back: bool
    """True if the text is a program that will be parsed again."""

    def value(self, value: SSAValue) -> Expr:
        """Return the text of an operand."""
        ...

    def declare(self, value: SSAValue, fallback: str) -> str:
        """Name a value and declare it as a variable of its type on a separate line."""
        ...

    def name(self, value: SSAValue, text: str) -> None:
        """Set the text of a value to `text`, which is already defined or comes from the context."""
        ...

    def expression_block(self, block: Block) -> Expr:
        """Return the text of the value that a block of expressions yields."""
        ...


_UNITS: dict[str, tuple[frozenset[float], frozenset[float]]] = {
    "add": (frozenset({0}), frozenset({0})),
    "sub": (frozenset(), frozenset({0})),
    "mul": (frozenset({0, 1}), frozenset({0, 1})),
    "div": (frozenset({0}), frozenset({1})),
    "floordiv": (frozenset({0}), frozenset({1})),
    "floormod": (frozenset({0}), frozenset({1})),
    "and": (frozenset({0, 1}), frozenset({0, 1})),
    "or": (frozenset({0, 1}), frozenset({0, 1})),
}
"""Operations with a constant on the left or right that Python operators on TIR expressions fold during parsing."""


def constant_of(value: SSAValue) -> int | float | bool | None:
    """Return the value of a constant, or None if the value is not constant."""
    op = value.owner
    if isinstance(op, ValueOp):
        return op.expr.data.constant
    return op.py_value if isinstance(op, tir.ConstOp) else None


def _folds(name: str, left: SSAValue, right: SSAValue) -> bool:
    a, b = constant_of(left), constant_of(right)
    if a is not None and b is not None:
        return True
    lefts, rights = _UNITS.get(name, ((), ()))
    return (a is not None and a in lefts) or (b is not None and b in rights)


def _binary(p: ExpressionPrinter, op: Any) -> Expr:
    name = op.name.removeprefix("tir.")
    left, right = p.value(op.lhs), p.value(op.rhs)
    if name in CALLS and not (constant_of(op.lhs) is not None and constant_of(op.rhs) is not None):
        return call(p.doc.tir(CALLS[name]), left, right)
    lane_by_lane = p.is_read_back and name in ("and", "or") and isinstance(op.lhs.type, VectorType)
    if lane_by_lane or _folds(name, op.lhs, op.rhs) or (name == "div" and not is_float(op.lhs.type)):
        return call(p.doc.tir(tir.NODE_NAMES[name]), left, right)
    return infix(*INFIX[name], left, right)


def _const(p: ExpressionPrinter, op: tir.ConstOp) -> Expr:
    dtype = op.result.type
    return tir_float(p.doc, float(op.py_value), dtype) if is_float(dtype) else p.literal(int(op.py_value), dtype)


def _if_then_else(p: ExpressionPrinter, op: tir.IfThenElseOp) -> Expr:
    sides = [p.expression_block(r.block) for r in (op.then_region, op.else_region)]
    return call(p.doc.tir("if_then_else"), p.value(op.cond), *sides)


def _select(p: ExpressionPrinter, op: tir.SelectOp) -> Expr:
    return call(p.doc.tir("Select"), *(p.value(v) for v in op.operands))


def _cast(p: ExpressionPrinter, op: Any) -> Expr:
    name = "Cast" if isinstance(op, tir.CastOp) else "reinterpret"
    return call(p.doc.tir(name), atom(string(type_name(op.result.type))), p.value(op.value))


def _let_in(p: ExpressionPrinter, op: tir.LetInOp) -> Expr:
    """Return `T.Let(body, where={x: value})`; the variable is declared on a line before."""
    value = p.value(op.value)
    name = p.declare(op.var, "x")
    body = p.expression_block(op.body.block)
    return atom(f"{p.doc.tir('Let')}({body.text}, where={{{name}: {value.text}}})")


def _reduce(p: ExpressionPrinter, op: tir.ReduceOp) -> Expr:
    """Return `T.reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), source=[…], …)`; axes are declared
    before.
    """
    init = ", ".join(p.value(v).text for v in op.init)
    axes: list[str] = []
    for i, (least, extent) in enumerate(zip(op.mins, op.extents, strict=True)):
        first, *others = op.axis_values(i)
        name = p.declare(first, "k")
        for other in others:
            p.name(other, name)
        low = least if least.constant is None else Const(least.constant, extent.dtype)
        range_ = call(p.doc.tir("Range"), symbolic(p, low), symbolic(p, low + extent))
        axes.append(call(p.doc.tir("iter_var"), atom(name), range_, atom('"CommReduce"'), atom('""')).text)
    sources = ", ".join(p.expression_block(r.block).text for r in op.sources)
    condition = p.expression_block(op.condition.block).text
    combiner = _comm_reducer(p, op)
    parts = f"source=[{sources}], init=[{init}], axis=[{', '.join(axes)}], condition={condition}"
    return atom(f"{p.doc.tir('reduce')}({combiner.text}, {parts}, value_index={op.value_index.data})")


def _comm_reducer(p: ExpressionPrinter, op: tir.ReduceOp | tir.CommReducerOp) -> Expr:
    """Return `T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`."""
    identity = ", ".join(p.value(v).text for v in op.identity)
    return call(p.doc.tir("comm_reducer"), _reducer(p, op), atom(f"[{identity}]"))


def _reducer(p: ExpressionPrinter, op: tir.ReduceOp | tir.CommReducerOp) -> Expr:
    """Return `lambda x, y: x + y`, or for tuples `lambda x_0, x_1, y_0, y_1: (…)`."""
    count = len(op.identity)
    names = ["x", "y"] if count == 1 else [f"{v}_{i}" for v in "xy" for i in range(count)]
    for region in op.combine:
        for value, name in zip(region.block.args, names, strict=True):
            p.name(value, name)
    results = ", ".join(p.expression_block(r.block).text for r in op.combine)
    return atom(f"lambda {', '.join(names)}: {results if count == 1 else f'({results})'}")


def _shuffle(p: ExpressionPrinter, op: tir.ShuffleOp) -> Expr:
    vectors = ", ".join(p.value(v).text for v in op.vectors)
    lanes = ", ".join(str(i.data) for i in op.lanes)
    return atom(f"{p.doc.tir('Shuffle')}([{vectors}], [{lanes}])")


def _lanes(p: ExpressionPrinter, op: Any) -> Expr:
    number = lanes_of(op.result.type)
    return atom(f"{p.doc.tir('vscale')}() * {number}" if is_scalable(op.result.type) else str(number))


def _ramp(p: ExpressionPrinter, op: tir.RampOp) -> Expr:
    return call(p.doc.tir("Ramp"), p.value(op.base), p.value(op.stride), _lanes(p, op))


def _broadcast(p: ExpressionPrinter, op: tir.BroadcastOp) -> Expr:
    return call(p.doc.tir("Broadcast"), p.value(op.value), _lanes(p, op))


def _intrinsic(p: ExpressionPrinter, op: tir.CallIntrinOp) -> Expr:
    """Print an intrinsic by its own name if that determines the call, otherwise by `T.call_intrin`."""
    name = op.func.data
    args = [p.value(a) for a in op.call_args]
    dtype = atom(string(type_name(op.result.type)))
    if op.address() is not None:
        return call(p.doc.tir(name), *args)
    row = tir.INTRINSICS.get(name)
    if row is None or not _determines_result(row, op):
        return call(p.doc.tir("call_intrin"), dtype, atom(string(f"tir.{name}")), *args)
    return call(p.doc.tir(name), *([dtype] if row.result in _PRINTED_DTYPES else []), *args)


_PRINTED_DTYPES = frozenset({tir.HALF, tir.DOUBLE, tir.EXPLICIT})


def _determines_result(row: tir.Intrinsic, op: tir.CallIntrinOp) -> bool:
    """Return whether parsing a call with the intrinsic's name and these arguments yields the same result type."""
    types = [a.type for a in op.call_args]
    if len(types) != row.count or any(isinstance(t, tir.BufferType) for t in types):
        return False
    gives = op.result.type
    if row.result not in _RULES:
        return type_name(gives) == row.result
    if not all(map(is_dtype, {*types, gives})) or len(set(types)) > 1:
        return False
    if row.floats and not is_float(types[0]):
        return False
    return gives == _RULES[row.result](types[0] if types else gives, gives)


def _lanes_times(dtype: Attribute, numerator: int, denominator: int = 1) -> Attribute | None:
    """Return the vector type with its lanes scaled by a ratio, or None if the result is not an integer."""
    lanes, rest = divmod(lanes_of(dtype) * numerator, denominator)
    return None if rest or is_scalable(dtype) else tir.with_lanes_of(scalar_of(dtype), lanes)


_RULES: dict[str, Callable[[Attribute, Attribute], Attribute | None]] = {
    tir.SAME: lambda operand, _: operand,
    tir.TRUTH: lambda operand, _: tir.with_lanes(i1, operand),
    tir.COUNT: lambda operand, _: tir.with_lanes(i32, operand),
    tir.HALF: lambda operand, _: _lanes_times(operand, 1, 2),
    tir.DOUBLE: lambda operand, _: _lanes_times(operand, 2),
    tir.EXPLICIT: lambda _, gives: gives,
}
"""The result type of an intrinsic, from the type of its operands and its declared result."""


def _typed_call(name: str) -> Callable[[ExpressionPrinter, Any], Expr]:
    """Return a printer of calls whose first argument is the result type: `T.call_extern("float32", "f", x)`."""

    def printed(p: ExpressionPrinter, op: Any) -> Expr:
        dtype = op.result.type
        arguments = [atom(string(type_name(dtype))), atom(string(op.func.data))]
        first = op.call_args[0] if op.call_args else None
        if isinstance(op, tir.LLVMCall):
            looks_counted = first is not None and first.type == ui32 and constant_of(first) is not None
            counted = len(op.call_args) if op.counted is None and looks_counted else op.counted
            arguments += [] if counted is None else [p.literal(counted, ui32)]
        return call(p.doc.tir(name), *arguments, *map(p.value, op.call_args))

    return printed


def type_name(dtype: Attribute) -> str:
    """Return the name of a type, including handles and void."""
    return "handle" if isinstance(dtype, tir.HandleType) else "void" if dtype == tir.VOID else dtype_name(dtype)


def _device_call(p: ExpressionPrinter, op: tir.DeviceCallOp) -> Expr:
    """Print a device intrinsic with its dtype at the intrinsic's position for it, or omitted."""
    name, dtype = op.func.data, op.result.type
    args = [p.value(a) for a in op.call_args]
    named = type_name(dtype)
    if tir.DEVICE_INTRINSICS[name].result == tir.FIRST:
        args.insert(0, atom(string(named)))
    elif tir.DEVICE_INTRINSICS[name].result == tir.LAST:
        args.append(atom(string(named)))
    return call(p.doc.tir(name.removeprefix("tvm_") if name in _SHORT_NAMES else name), *args)


_SHORT_NAMES = frozenset(("tvm_call_cpacked", "tvm_call_packed_lowered", "tvm_call_cpacked_lowered"))
"""Intrinsics that TVM prints without its prefix."""


def _call_packed(p: ExpressionPrinter, op: tir.CallPackedOp) -> Expr:
    return call(p.doc.tir("call_packed"), atom(string(op.func.data)), *map(p.value, op.call_args))


def _call(p: ExpressionPrinter, op: tir.CallOp) -> Expr:
    """Print a call of a function of the module by its name in the module."""
    name = op.func.data
    return call(f"{p.doc.config.module_name}.{name}" if p.doc.in_module else name, *map(p.value, op.call_args))


def _buffer_data(p: ExpressionPrinter, op: tir.BufferDataOp) -> Expr:
    """Print the address of a buffer: by the address itself for a constant or an alias."""
    owner = op.buffer.owner
    if isinstance(owner, tir.DeclBufferOp) and owner.alias:
        return p.value(owner.data)
    text = p.value(op.buffer).text
    return atom(text if isinstance(op.buffer.owner, tir.AllocConstOp) else f"{text}.data")


def _not(p: ExpressionPrinter, op: tir.NotOp) -> Expr:
    return prefix("not ", Level.NOT, p.value(op.value))


def _load(p: ExpressionPrinter, op: tir.LoadOp) -> Expr:
    return access(p, op.buffer, op.indices)


def _masked_load(p: ExpressionPrinter, op: tir.MaskedLoadOp) -> Expr:
    mask = p.value(op.mask).text
    return atom(f"{p.value(op.buffer).text}.vload([{p.value(op.index).text}], predicate={mask})")


EXPRESSIONS: dict[type[Operation], Callable[[Any, Any], Expr]] = {
    **dict.fromkeys(tir.BINARY.values(), _binary),
    tir.ConstOp: _const,
    tir.NotOp: _not,
    tir.CastOp: _cast,
    tir.ReinterpretOp: _cast,
    tir.SelectOp: _select,
    tir.IfThenElseOp: _if_then_else,
    tir.LetInOp: _let_in,
    tir.ReduceOp: _reduce,
    tir.CommReducerOp: _comm_reducer,
    tir.ShuffleOp: _shuffle,
    tir.LoadOp: _load,
    tir.MaskedLoadOp: _masked_load,
    tir.RampOp: _ramp,
    tir.BroadcastOp: _broadcast,
    tir.CallIntrinOp: _intrinsic,
    tir.CallExternOp: _typed_call("call_extern"),
    tir.CallPureExternOp: _typed_call("call_pure_extern"),
    tir.CallLLVMIntrinOp: _typed_call("call_llvm_pure_intrin"),
    tir.CallLLVMEffectOp: _typed_call("call_llvm_intrin"),
    tir.CallOp: _call,
    tir.DeviceCallOp: _device_call,
    tir.CallPackedOp: _call_packed,
    tir.StringImmOp: lambda p, op: atom(text_or_metadata(p.doc, STRING_IMM_KEY, op.value)),
    tir.BufferDataOp: _buffer_data,
    ValueOp: lambda p, op: symbolic(p, op.expr.data),
}
"""The printer of each expression op."""

CALL_LIKE = (tir.CallExpr, tir.IfThenElseOp, tir.ReinterpretOp)
"""Calls in TIR: their `T.evaluate` prints as the call alone."""


def access(p: ExpressionPrinter, buffer: SSAValue, indices: Sequence[SSAValue]) -> Expr:
    """Return `A[i, j]`, `A[i:i + 4]` for an increasing ramp, or `A[()]` for rank 0."""
    items = [_index(p, i) for i in indices]
    return atom(f"{p.value(buffer).text}[{', '.join(items) or '()'}]")


def _index(p: ExpressionPrinter, index: SSAValue) -> str:
    ramp = index.owner
    if not isinstance(ramp, tir.RampOp):
        return p.value(tir.written_index(index)).text
    stride = constant_of(ramp.stride)
    if stride is None or stride < 1:
        return p.value(index).text
    end = interval_end(p, ramp.base, _ramp_extent(p, ramp, int(stride)))
    text = f"{p.value(ramp.base).text}:{end}"
    return text if stride == 1 else f"{text}:{p.value(ramp.stride).text}"


def _ramp_extent(p: ExpressionPrinter, ramp: tir.RampOp, stride: int) -> int | Expr:
    """Return the extent of a ramp: a number, or the text of one if the number of lanes is only known at run time."""
    if not is_scalable(ramp.result.type):
        return lanes_of(ramp.result.type) * stride
    lanes = infix("*", Level.PRODUCT, atom(f"{p.doc.tir('vscale')}()"), atom(str(lanes_of(ramp.result.type))))
    return lanes if stride == 1 else infix("*", Level.PRODUCT, lanes, p.value(ramp.stride))


def interval_end(p: ExpressionPrinter, start: SSAValue, extent: int | Expr) -> str:
    """Return the text of `start + extent`, folded if both are constants."""
    first = constant_of(start)
    if isinstance(extent, int):
        if first is not None:
            return p.literal(int(first) + extent, start.type).text
        extent = p.literal(extent, start.type)
    return extent.text if first == 0 else infix("+", Level.SUM, p.value(start), extent).text
