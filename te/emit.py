"""Calls of tensor functions on Relax values: the common part of BlockBuilder's `emit_te` and legalization."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, TupleType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ..diagnostics import TiraxError
from ..dialects import relax, tir
from ..dialects.attributes import function_attrs
from ..dialects.names import name_of
from ..dialects.sym.expr import SymExpr, Var
from ..handles.tir.prim_expr import PrimExpr, const, from_sym
from ..handles.tir.variables import Var as FreeVar
from .axis import index_type
from .create import add_scalar_params, build_func, undetermined_vars
from .tensor import Tensor, compute, placeholder


@dataclass
class TECall:
    """A tensor function and the operands of its call: `call_tir(func, args, out_type, tir_vars)`.

    `setup` are detached ops that define some of `args` and must be inserted before the call.
    """

    func: tir.FuncOp
    args: list[SSAValue]
    tir_vars: list[SymExpr]
    out_type: Attribute
    setup: list[Operation] = field(default_factory=list[Operation])

    def call_op(self, name: str) -> relax.CallTIROp:
        """Return the call of the function, which has the name `name` in the module."""
        return relax.CallTIROp(name, self.args, self.out_type, self.tir_vars or None)


def call_te(
    te_func: Callable[..., Any],
    *args: Any,
    primfunc_name_hint: str | None = None,
    primfunc_attrs: Mapping[str, Any] | None = None,
    primfunc_opaque: bool = False,
    **kwargs: Any,
) -> TECall:
    """Run `te_func` on tensors that represent Relax values, and build a private tensor function from the result.

    SSA values among `args` (also inside lists) become tensors, shapes become lists of extents, prim values become
    expressions; everything else is passed unchanged. With `primfunc_opaque`, the extents of tensors are variables of
    the function, which is thus the same for all sizes. Raises `TiraxError` for a tensor of unknown shape or dtype,
    and if a result is not a tensor.
    """
    inputs = _Inputs(primfunc_opaque)
    with index_type(i64):
        result = te_func(*map(inputs.convert, args), **{k: inputs.convert(v) for k, v in kwargs.items()})
        outputs = _outputs(te_func, result, inputs.tensors)
    name = primfunc_name_hint or getattr(te_func, "__name__", "te_func").strip("<>")
    func = build_func(name.replace(".", "_"), [*inputs.params, *outputs], index_dtype="int64")
    if primfunc_attrs:
        merged = {**(func.func_attrs.data if func.func_attrs else {}), **_attrs(primfunc_attrs).data}
        func.func_attrs = DictionaryAttr(merged)
    tir_vars = undetermined_vars(func)
    add_scalar_params(func, tir_vars)
    types = [inputs.outside(relax.TensorType.of(t.dims, t.type)) for t in outputs]
    out_type = types[0] if isinstance(result, Tensor) else TupleType(tuple(types))
    return TECall(func, inputs.values, list(tir_vars), out_type, inputs.setup)


def _attrs(attrs: Mapping[str, Any]) -> DictionaryAttr:
    return function_attrs(dict(attrs)) or DictionaryAttr({})


def _outputs(te_func: Callable[..., Any], result: Any, inputs: Sequence[Tensor]) -> list[Tensor]:
    outputs = list(result) if isinstance(result, list | tuple) else [result]
    if not outputs or not all(isinstance(t, Tensor) for t in outputs):
        raise TiraxError(
            f"the tensor function {getattr(te_func, '__name__', te_func)} must return tensors",
            expected="a te.Tensor, or a list of them",
            found=type(result).__name__,
        )
    out: list[Tensor] = []
    for t in outputs:
        repeated = any(t is other for other in (*inputs, *out))
        out.append(compute(t.dims, t, "compute") if repeated else t)
    return out


class _Inputs:
    """Converter of arguments to those of a tensor function; collects the tensors."""

    def __init__(self, opaque: bool = False) -> None:
        self.opaque = opaque
        self.extents: dict[SymExpr, Var] = {}
        """The variables for extents of opaque tensors."""
        self.tensors: list[Tensor] = []
        self.params: list[Tensor | FreeVar] = []
        """The tensors, and the scalars that are only known at run time, in the order of the arguments."""
        self.values: list[SSAValue] = []
        self.setup: list[Operation] = []

    def convert(self, arg: Any) -> Any:
        if isinstance(arg, SSAValue):
            return self._value(arg)
        if isinstance(arg, list | tuple):
            return type(arg)(self.convert(a) for a in arg)
        return arg

    def _value(self, value: SSAValue) -> Any:
        t = value.type
        if isinstance(t, relax.TensorType):
            return self._tensor(value, t)
        if isinstance(t, relax.ShapeType) and t.dims is not None:
            return [from_sym(d) for d in t.dims]
        if isinstance(t, TupleType):
            return [self._value(v) for v in self._fields(value, t)]
        if isinstance(t, relax.PrimType):
            return self._scalar(value, t)
        raise TiraxError("this value cannot be an argument of a tensor function", found=f"{_describe(value)} of {t}")

    def _tensor(self, value: SSAValue, t: relax.TensorType) -> Tensor:
        if t.dims is None or t.element is None:
            raise TiraxError(
                "a tensor function needs tensors of known shape and dtype",
                found=f"{_describe(value)} of {t}",
                hint="give it a shape with match_cast",
            )
        dims = [self._extent(d) for d in t.dims] if self.opaque else t.dims
        tensor = placeholder(dims, t.element, name_of(value) or _letter(len(self.tensors)))
        self.tensors.append(tensor)
        self.params.append(tensor)
        self.values.append(value)
        return tensor

    def _extent(self, extent: SymExpr) -> SymExpr:
        if extent.constant is not None:
            return extent
        return self.extents.setdefault(extent, Var(f"n{len(self.extents)}", extent.dtype))

    def outside(self, t: relax.TensorType) -> relax.TensorType:
        """Return a type of the function in terms of the caller's extents."""
        return cast(relax.TensorType, relax.substitute_type(t, {v: extent for extent, v in self.extents.items()}))

    def _fields(self, value: SSAValue, t: TupleType) -> list[SSAValue]:
        if isinstance(value.owner, relax.TupleOp):
            return list(value.owner.fields_)
        items = [relax.TupleGetItemOp(value, i) for i in range(len(t.types))]
        self.setup += items
        return [op.result for op in items]

    def _scalar(self, value: SSAValue, t: relax.PrimType) -> PrimExpr:
        owner = value.owner
        if isinstance(owner, relax.PrimValueOp) and isinstance(owner.value, FloatAttr):
            return const(owner.value.value.data, owner.value.type)
        if t.expr is not None:
            return from_sym(t.expr)
        scalar = FreeVar(name_of(value) or _letter(len(self.params)), t.dtype)
        self.params.append(scalar)
        self.values.append(value)
        return scalar


def _letter(position: int) -> str:
    return chr(ord("A") + position) if position < 26 else f"input_{position}"


def _describe(value: SSAValue) -> str:
    name = name_of(value)
    return f"'{name}'" if name else "a value without a name"
