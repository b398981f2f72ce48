"""Calls: of operators, tensor functions, packed functions, functions and closures, with arguments as in TVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import unknown_name
from ...dialects import relax
from ...dialects.attributes import from_attr
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of
from ...dialects.relax.base import AssertOp, Print
from ...dialects.relax.operator import Kind
from ...dialects.relax.registered import RegisteredOperator
from ..struct_info import StructInfo
from ..tir.dims import extent_int
from .op import Op

if TYPE_CHECKING:
    pass
from .expr import Expr, ExternFunc, GlobalVar, ShapeExpr, StringImm, Tuple, expr_of


class Attrs:
    """The attributes of a call: `call.attrs.axes`, `call.attrs["axes"]`, `call.attrs.keys()`."""

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, Any]):
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._values:
            raise AttributeError(str(unknown_name("attribute", name, self._values)))
        return self._values[name]

    def __getitem__(self, item: str) -> Any:
        if item not in self._values:
            raise unknown_name("attribute", item, self._values)
        return self._values[item]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def keys(self) -> list[str]:
        return list(self._values)

    def __repr__(self) -> str:
        return f"Attrs({self._values})"


class Call(Expr):
    """A call of an operator, a tensor function (`relax.call_tir`), a packed function, a function or a closure.

    `Call(Op.get("relax.add"), [x, y])` builds one and infers its struct info.
    """

    __slots__ = ()

    build: ClassVar[Callable[..., Call]]
    """Builds the detached call; set by `calls`."""

    def __init__(
        self, op: Any, args: Sequence[Any], attrs: Any = None, sinfo_args: Sequence[Any] = (), span: object = None
    ):
        self.point_at(Call.build(op, args, attrs, sinfo_args).ssa)

    def __repr__(self) -> str:
        """Return `R.sum(x, axis=[1])`; nested calls without a name are elided."""
        op = self.op_handle
        if name_of(self.ssa) is not None or not isinstance(op, relax.Operator):
            return super().__repr__()
        args = ["…" if isinstance(a, Call) and name_of(a.ssa) is None else repr(a) for a in _operator_args(op)]
        explicit = {n: op.attr(n) for n, spec in op.ATTR_SPECS.items() if op.attr(n) != spec.default}
        attrs = [f"{n}={dtype_name(v) if isinstance(v, Attribute) else v!r}" for n, v in explicit.items()]
        return f"{op.name.replace('relax.', 'R.', 1)}({', '.join([*args, *attrs])})"

    @property
    def op(self) -> Any:
        """The callee: an `Op`, `GlobalVar`, `ExternFunc` or `Var`."""
        return _callee(self.op_handle)

    @property
    def args(self) -> list[Expr]:
        """The arguments as in TVM: those of `relax.call_tir` are the function, a tuple and possibly `tir_vars`."""
        op = self.op_handle
        return _CALL_ARGS.get(type(op), _operator_args)(op)

    @property
    def struct_info(self) -> StructInfo:
        """The struct info of the value. Raises the error if the operands do not match."""
        op = self.op_handle
        if isinstance(op, relax.Operator) and op.result_type == relax.OBJECT:
            return StructInfo.of(op.inferred())
        return super().struct_info

    @property
    def attrs(self) -> Attrs | None:
        """The attributes, or None if there are none."""
        return _call_attrs(self.op_handle)

    @property
    def sinfo_args(self) -> list[StructInfo]:
        """The declared struct info of the result, for calls that declare it."""
        op = self.op_handle
        return [] if isinstance(op, relax.Operator | relax.CallOp | relax.CallValueOp) else [self.struct_info]


def _callee(op: Operation) -> Any:
    if isinstance(op, relax.CallOp):
        return GlobalVar(op.callee_name)
    if isinstance(op, relax.CallValueOp):
        return expr_of(op.func)
    if isinstance(op, relax.CallPackedOp):
        return ExternFunc(op.func.data)
    return Op(op.name)


def _operator_args(op: Operation) -> list[Expr]:
    args: list[Expr] = []
    for arg in cast(relax.Operator, op).args:
        if isinstance(arg, SSAValue):
            args.append(expr_of(arg))
        elif arg is not None and isinstance(op, RegisteredOperator):
            args += map(expr_of, arg)
        elif arg is not None:
            single = len(arg) == 1 and isinstance(arg[0].type, TupleType)
            args.append(expr_of(arg[0]) if single else Tuple(map(expr_of, arg)))
    return args


def _tir_args(op: Operation) -> list[Expr]:
    call = cast("relax.CallTIROp", op)
    args: list[Expr] = [GlobalVar(call.callee_name), Tuple(map(expr_of, call.call_args))]
    return args if call.tir_vars is None else [*args, ShapeExpr(d.data for d in call.tir_vars)]


def _dps_args(op: Operation) -> list[Expr]:
    call = cast(relax.CallDPSPackedOp, op)
    return [ExternFunc(call.func.data), Tuple(map(expr_of, call.call_args))]


def _builtin_args(op: Operation) -> list[Expr]:
    call = cast(relax.CallBuiltinWithCtxOp, op)
    return [ExternFunc(call.func.data), Tuple(map(expr_of, call.call_args))]


def _print_args(op: Operation) -> list[Expr]:
    return [_format_of(op), *map(expr_of, op.operands)]


def _assert_args(op: Operation) -> list[Expr]:
    condition, *values = map(expr_of, op.operands)
    return [condition, _format_of(op), *values]


def _format_of(op: Operation) -> Expr:
    return StringImm(str(cast(relax.Operator, op).attr("format")))


def _plain_args(op: Operation) -> list[Expr]:
    return [expr_of(a) for a in cast(relax.CallBase, op).call_args]


_CALL_ARGS: dict[type[Operation], Callable[[Operation], list[Expr]]] = {
    relax.CallTIROp: _tir_args,
    relax.CallTIRInplaceOp: _tir_args,
    relax.CallDPSPackedOp: _dps_args,
    relax.CallPurePackedOp: lambda op: [ExternFunc(cast(relax.CallPurePackedOp, op).func.data), *_plain_args(op)],
    relax.CallInplacePackedOp: lambda op: [ExternFunc(cast(relax.CallInplacePackedOp, op).func.data), *_plain_args(op)],
    relax.CallPackedOp: _plain_args,
    relax.CallBuiltinWithCtxOp: _builtin_args,
    relax.CallOp: _plain_args,
    relax.CallValueOp: _plain_args,
}

_CALL_ARGS |= {Print: _print_args, AssertOp: _assert_args}

_FORMATTED = (Print, AssertOp)
"""Operators whose `format` is an argument in TVM."""

_PACKED = (relax.CallPackedOp, relax.CallPurePackedOp, relax.CallInplacePackedOp)


def _call_attrs(op: Operation) -> Attrs | None:
    if isinstance(op, relax.Operator):
        specs = () if isinstance(op, _FORMATTED) else op.ATTR_SPECS
        return Attrs({n: _attr_value(op, n) for n in specs}) if specs else None
    if isinstance(op, relax.CallTIRInplaceOp):
        return Attrs({"inplace_indices": op.indices})
    if isinstance(op, _PACKED) and op.call_attrs is not None:
        return Attrs({k: from_attr(v) for k, v in op.call_attrs.data.items()})
    return None


def _attr_value(op: relax.Operator, name: str) -> Any:
    value = op.attr(name)
    if op.ATTR_SPECS[name].kind is not Kind.DTYPE:
        return [extent_int(v) if type(v) is int else v for v in value] if isinstance(value, list) else value
    return "void" if value is None else dtype_name(value) if isinstance(value, Attribute) else value


Expr.call_view = Call
