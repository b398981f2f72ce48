"""TVM's classes of scalar expressions: `isinstance(e, Add)`, `e.a`, `Add(a, b)`.

An expression is a `PrimExpr`, a handle on an SSA value; a class here represents a kind of defining operation, with the
names of its parts. So `a + b` is an `Add`, however it was created. Calling a class creates a detached operation on
operands of one type, without folding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import FloatAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import DTypeError, TiraxError
from ...dialects import tir
from ...dialects.dtypes import dtype_of, is_float, is_scalable
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import SymExpr
from ...dialects.sym.expr import Var as SymVar
from ...ir.origins import note
from ..array import Array
from . import prim_expr as tx
from . import variables
from .buffers import Buffer, Param
from .dims import ExtentInt, extent_int
from .literals import literal_of
from .predicates import check_predicate, only_index
from .prim_expr import DTypeLike, ExprLike, PrimExpr, match_types
from .symbolic_nodes import SymbolicNodes


class EqualOp:
    """The class of TVM's `a == b` of expressions, which is an `EQ` here: it has no instances."""


class NotEqualOp:
    """Like `EqualOp`, for `a != b`."""


Getter = Callable[[Any], Any]


@dataclass(frozen=True)
class CallOp:
    """The callee of a call: `tir.exp`, `tir.call_extern`, or a function of the module."""

    name: str

    @staticmethod
    def get(name: str) -> CallOp:
        """Return the operator with this name."""
        return CallOp(name)

    def same_as(self, other: object) -> bool:
        """Return whether both are the same operator."""
        return self == other


def expr_node(value: SSAValue) -> PrimExpr:
    """Return TVM's node for a value: variables are `Var`s, symbolic extents arithmetic on them."""
    op = value.owner
    if not isinstance(op, Operation) or not _is_expression(op):
        return Param(value)
    if isinstance(op, ValueOp):
        return symbolic_node(op.expr.data)
    return PrimExpr(value)


def symbolic_node(expr: SymExpr) -> PrimExpr:
    """Return a symbolic expression as arithmetic on variables."""
    return expr.fold(_Nodes())


class _Nodes(SymbolicNodes):
    def var(self, e: SymVar) -> PrimExpr:
        return super().var(e) if e.value is None else expr_node(e.value)


def dim_node(dim: SymExpr | SSAValue) -> PrimExpr:
    """Return an extent or a loop bound as an expression."""
    return symbolic_node(dim) if isinstance(dim, SymExpr) else expr_node(dim)


def _is_expression(op: Operation) -> bool:
    return isinstance(op, ValueOp) or type(op) in tir.EXPRESSION_OPS


class _Kind(type):
    """The metaclass: an expression is an instance of the class of its operation."""

    row: _Row

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, PrimExpr):
            return False
        op = instance.ssa.owner
        return isinstance(op, Operation) and _class_of(op) is cls


@dataclass(frozen=True)
class _Row:
    """A class: its operations, the names and getters of its parts, and its constructor."""

    ops: tuple[type[Operation], ...]
    parts: dict[str, Getter]
    make: Callable[..., SSAValue]
    doc: str
    accepts: Callable[[Any], bool] = lambda op: True


def _operand(name: str) -> Getter:
    return lambda op: expr_node(getattr(op, name))


def _yielded(name: str) -> Getter:
    return lambda op: expr_node(cast(tir.YieldOp, getattr(op, name).block.last_op).value)


def _binary(name: str) -> _Row:
    cls = tir.BINARY[name]

    def make(a: ExprLike, b: ExprLike) -> SSAValue:
        x, y = match_types(a, b)
        return cls(x.ssa, y.ssa).result

    return _Row((cls,), {"a": _operand("lhs"), "b": _operand("rhs")}, make, f"{cls.__doc__} (`a`, `b`)")


def _ssa(value: ExprLike) -> SSAValue:
    return tx.convert(value).ssa


def _same(a: ExprLike, b: ExprLike) -> tuple[SSAValue, SSAValue]:
    x, y = match_types(a, b)
    return x.ssa, y.ssa


def _dtype(value: DTypeLike) -> Attribute:
    if value in ("handle", ""):
        return tir.VOID if value == "" else tir.types.HANDLE
    return tir.VOID if value == "void" else dtype_of(value) if isinstance(value, str) else value


def _int_imm(dtype: DTypeLike, value: int) -> SSAValue:
    return tx.const(int(value), dtype).ssa


def _float_imm(dtype: DTypeLike, value: float) -> SSAValue:
    number = tx.const(float(value), dtype)
    if not is_float(number.type):
        raise DTypeError("FloatImm is of a floating point type", expected="float16, float32, …", found=number.dtype)
    return number.ssa


def _let(var: PrimExpr, value: ExprLike, body: ExprLike) -> SSAValue:
    bound = _ssa(value)
    if bound.type != var.type:
        raise DTypeError("a variable has a value of its dtype", expected=var.type, found=bound.type)
    block = Block(arg_types=[bound.type])
    set_name(block.args[0], name_of(var.ssa))
    note(block.args[0], var.ssa)
    from ...ir.rewriting.copy import clone_expr

    block.add_op(tir.YieldOp(clone_expr(_ssa(body), block, {var.ssa: block.args[0]})))
    return tir.LetInOp(bound, Region(block)).result


def argument(value: Any) -> SSAValue:
    """Convert an argument of a call: a string, a buffer, a number or an expression."""
    if isinstance(value, str):
        return tir.StringImmOp(value).result
    return value.ssa if isinstance(value, Buffer) else _ssa(value)


def _call(dtype: DTypeLike, op: CallOp | str, args: Sequence[Any]) -> SSAValue:
    name = (op if isinstance(op, str) else op.name).removeprefix("tir.")
    named = _NAMED_CALLS.get(name)
    values = list(args)
    result = _dtype(dtype)
    if named is None:
        return tir.intrinsic(name, [argument(v) for v in values], result).result
    callee = values.pop(0) if values else None
    text = callee.value if isinstance(callee, PrimExpr) else callee
    if not isinstance(text, str):
        raise TiraxError(f"the first argument of tir.{name} is the name of a function", found=repr(callee))
    return named(text, [argument(v) for v in values], result).result


_NAMED_CALLS: dict[str, type[tir.CallExpr]] = {
    "call_extern": tir.CallExternOp,
    "call_pure_extern": tir.CallPureExternOp,
    "tvm_call_packed": tir.CallPackedOp,
    "call_llvm_pure_intrin": tir.CallLLVMIntrinOp,
    "call_llvm_intrin": tir.CallLLVMEffectOp,
}
_CALL_NAMES: dict[type[Operation], str] = {cls: name for name, cls in _NAMED_CALLS.items()}


def _call_op(op: tir.CallExpr) -> CallOp:
    if isinstance(op, tir.CallOp):
        return CallOp(op.func.data)
    own = op.func.data if isinstance(op, tir.CallIntrinOp | tir.DeviceCallOp) else op.name
    return CallOp("tir." + _CALL_NAMES.get(type(op), own))


def _call_args(op: tir.CallExpr) -> list[Any]:
    args: list[Any] = [Buffer(v) if isinstance(v.type, tir.BufferType) else expr_node(v) for v in op.call_args]
    return [expr_node(tir.StringImmOp(op.func.data).result), *args] if type(op) in _CALL_NAMES else args


def _lane_count(lanes: Any) -> tuple[int, bool]:
    """Return the number of lanes, and whether it is multiplied by `vscale()`. Raises `TiraxError` for other
    expressions.
    """
    factor = tir.vscale_factor(lanes.ssa) if isinstance(lanes, PrimExpr) else None
    return (int(lanes), False) if factor is None else (factor, True)


def _lanes(op: Any) -> ExtentInt | PrimExpr:
    """Return the number of lanes with its dtype, or `vscale()` times a number."""
    t = op.result.type
    count = cast("VectorType[Attribute]", t).get_shape()[0]
    if not is_scalable(t):
        return extent_int(count, "int32")
    return PrimExpr(
        tir.BINARY["mul"](tir.CallIntrinOp("vscale", [], tx.i32).result, tx.const(count, tx.i32).ssa).result
    )


def _load(buffer: Buffer, indices: Sequence[ExprLike], predicate: PrimExpr | None = None) -> SSAValue:
    places = [tx.index_of(i).ssa for i in indices]
    if predicate is None:
        return tir.LoadOp(buffer.ssa, places).result
    check_predicate(predicate, tir.element_type(buffer.ssa, places), "load")
    return tir.MaskedLoadOp(buffer.ssa, only_index(places), predicate.ssa).result


def _predicate(op: Any) -> PrimExpr | None:
    return expr_node(op.mask) if isinstance(op, tir.MaskedLoadOp) else None


def _select(condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> SSAValue:
    return tir.SelectOp(_ssa(condition), *_same(true_value, false_value)).result


def _ramp(base: ExprLike, stride: ExprLike, lanes: ExprLike) -> SSAValue:
    first, step = _same(tx.index_of(base), stride)
    return tir.RampOp(first, step, *_lane_count(lanes)).result


def _shuffle(vectors: Sequence[ExprLike], indices: Sequence[ExprLike]) -> SSAValue:
    return tir.ShuffleOp([_ssa(v) for v in vectors], [int(cast(Any, i)) for i in indices]).result


_CALLS = (
    tir.CallIntrinOp,
    tir.CallExternOp,
    tir.CallPureExternOp,
    tir.CallOp,
    tir.CallPackedOp,
    tir.CallLLVMIntrinOp,
    tir.CallLLVMEffectOp,
    tir.DeviceCallOp,
    tir.IfThenElseOp,
    tir.ReinterpretOp,
    tir.BufferDataOp,
)


def _called(op: Any) -> CallOp:
    special = {tir.IfThenElseOp: "tir.if_then_else", tir.ReinterpretOp: "tir.reinterpret", tir.BufferDataOp: "tir.data"}
    return CallOp(special[type(op)]) if type(op) in special else _call_op(op)


def _arguments(op: Any) -> list[Any]:
    if isinstance(op, tir.IfThenElseOp):
        return [expr_node(op.cond), _yielded("then_region")(op), _yielded("else_region")(op)]
    if isinstance(op, tir.BufferDataOp):
        return [Buffer(op.buffer)]
    return [expr_node(op.value)] if isinstance(op, tir.ReinterpretOp) else _call_args(op)


_ROWS: dict[str, _Row] = {
    **{name: _binary(kind) for kind, name in tir.NODE_NAMES.items()},
    "IntImm": _Row(
        (tir.ConstOp,),
        {"value": lambda op: int(op.py_value)},
        _int_imm,
        "An integer constant, `IntImm(dtype, value)`.",
        lambda op: not isinstance(op.value, FloatAttr),
    ),
    "FloatImm": _Row(
        (tir.ConstOp,),
        {"value": literal_of},
        _float_imm,
        "A floating point constant, `FloatImm(dtype, value)`.",
        lambda op: isinstance(op.value, FloatAttr),
    ),
    "StringImm": _Row(
        (tir.StringImmOp,),
        {"value": lambda op: op.value.data},
        lambda value: tir.StringImmOp(value).result,
        "A string as an argument of a call.",
    ),
    "Not": _Row((tir.NotOp,), {"a": _operand("value")}, lambda a: tir.NotOp(_ssa(a)).result, "not `a`"),
    "Cast": _Row(
        (tir.CastOp,),
        {"value": _operand("value")},
        lambda dtype, value: tir.CastOp(_ssa(value), _dtype(dtype)).result,
        "A conversion, `Cast(dtype, value)`.",
    ),
    "Select": _Row(
        (tir.SelectOp,),
        {n: _operand(p) for n, p in (("condition", "cond"), ("true_value",) * 2, ("false_value",) * 2)},
        _select,
        "`true_value` where the `condition` holds, else `false_value`; all three are evaluated.",
    ),
    "BufferLoad": _Row(
        (tir.LoadOp, tir.MaskedLoadOp),
        {
            "buffer": lambda op: Buffer(op.buffer),
            "indices": lambda op: Array(expr_node(tir.written_index(i)) for i in op.indices),
            "predicate": _predicate,
        },
        _load,
        "An element of a buffer; a vector of them, of which a `predicate` may leave some out.",
    ),
    "Ramp": _Row(
        (tir.RampOp,),
        {"base": _operand("base"), "stride": _operand("stride"), "lanes": _lanes},
        _ramp,
        "base, base + stride, …: a vector.",
    ),
    "Broadcast": _Row(
        (tir.BroadcastOp,),
        {"value": _operand("value"), "lanes": _lanes},
        lambda value, lanes: tir.BroadcastOp(_ssa(value), *_lane_count(lanes)).result,
        "A vector of one value.",
    ),
    "Shuffle": _Row(
        (tir.ShuffleOp,),
        {
            "vectors": lambda op: [expr_node(v) for v in op.vectors],
            "indices": lambda op: [expr_node(tir.ConstOp(i.data, tx.i32).result) for i in op.lanes],
        },
        _shuffle,
        "Lanes of vectors by number.",
    ),
    "Let": _Row(
        (tir.LetInOp,),
        {"var": lambda op: Param(op.var), "value": _operand("value"), "body": _yielded("body")},
        _let,
        "`body`, in which `var` is `value`.",
    ),
    "Call": _Row(_CALLS, {"op": _called, "args": _arguments}, _call, "A call, `Call(dtype, op, args)`."),
}


def _make_class(name: str, row: _Row) -> _Kind:
    def new(cls: _Kind, *args: Any, **kwargs: Any) -> PrimExpr:
        kwargs.pop("span", None)
        return expr_node(row.make(*args, **kwargs))

    node_class = _Kind(name, (), {"__new__": new, "__doc__": row.doc, "__module__": __name__, "row": row})
    return node_class


CLASSES: dict[str, _Kind] = {name: _make_class(name, row) for name, row in _ROWS.items()}
"""The classes by name."""
_BY_OP: dict[type[Operation], list[_Kind]] = {}
for _kind in CLASSES.values():
    for _op in _kind.row.ops:
        _BY_OP.setdefault(_op, []).append(_kind)


def _class_of(op: Operation) -> _Kind | None:
    return next((kind for kind in _BY_OP.get(type(op), ()) if kind.row.accepts(op)), None)


def class_name(expr: PrimExpr) -> str:
    """Return the name of TVM's class of an expression."""
    if isinstance(expr, variables.SizeVar):
        return "SizeVar"
    op = expr.ssa.owner
    kind = _class_of(op) if isinstance(op, Operation) else None
    return "Var" if kind is None else kind.__name__


def part_of(expr: PrimExpr, name: str) -> Any:
    """Return a part of an expression by TVM's name. Raises `AttributeError`."""
    op = expr.ssa.owner
    kind = _class_of(op) if isinstance(op, Operation) else None
    if kind is None or name not in kind.row.parts:
        _no_part(expr, name)
    return kind.row.parts[name](op)


def value_part(expr: PrimExpr) -> Any:
    """Return the part called `value`, or the SSA value if there is none."""
    op = expr.ssa.owner
    kind = _class_of(op) if isinstance(op, Operation) else None
    return expr.ssa if kind is None or "value" not in kind.row.parts else kind.row.parts["value"](op)


def _no_part(expr: PrimExpr, name: str) -> NoReturn:
    raise AttributeError(f"'{type(expr).__name__}' object has no attribute '{name}'")


def named_parts(expr: PrimExpr) -> dict[str, Any]:
    """Return the parts of an expression by TVM's names, in order; a variable has none."""
    op = expr.ssa.owner
    kind = _class_of(op) if isinstance(op, Operation) else None
    return {} if kind is None else {name: get(op) for name, get in kind.row.parts.items()}


def parts_of(expr: PrimExpr) -> list[PrimExpr | Buffer]:
    """Return the child expressions and buffers of an expression, in order."""
    op = expr.ssa.owner
    kind = _class_of(op) if isinstance(op, Operation) else None
    parts = [] if kind is None else [get(op) for get in kind.row.parts.values()]
    flat = [v for part in parts for v in (part if isinstance(part, list | Array) else [part])]
    return [v for v in flat if isinstance(v, PrimExpr | Buffer)]


def __getattr__(name: str) -> Any:
    cls = CLASSES.get(name)
    if cls is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return cls


PrimExpr.value_part = value_part
PrimExpr.part_of = part_of
