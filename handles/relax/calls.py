"""Building calls outside of functions: `call_operator("relax.add", x, y)` is a detached op with inferred struct info.

Arguments are handles or values that convert to one: numbers, arrays, tuples of extents, dtype names. Attributes are
passed by keyword, or by position after the arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import ArgumentsError, DTypeError, NameLookupError, ShapeError, TiraxError, unknown_name
from ...dialects import relax
from ...dialects.names import name_of
from ...dialects.relax.composite import COMPOSITES, composite_parameters, expand
from ...dialects.relax.manipulation import kept_extents
from ...dialects.relax.operator import NOTHING, Arg, Kind, as_dtype
from ...dialects.relax.registered import INFER
from ...dialects.relax.signatures import derive_result
from ...dialects.relax.types import tuple_type
from ...dialects.sym import IndexMapAttr
from ...dialects.sym.expr import Const, SymExpr, product
from ..struct_info import StructInfo, VDevice, type_of
from ..tir.attributes import attr_of
from ..tir.dims import dim_of
from ..tir.index_map import index_mapping
from ..tir.prim_expr import PrimExpr
from ..tir.prim_expr import const as prim_const
from .call import Call
from .expr import DataTypeImm, Expr, ExternFunc, GlobalVar, PrimValue, ShapeExpr, StringImm, Tuple, TupleGetItem, const
from .function import Function
from .op import Op
from .operators import Operators

_SHAPE_ARGS = frozenset({"shape", "size"})
_PRIM_ARGS = {"relax.clip": frozenset({"min", "max"})}


def to_expr(value: Any) -> Expr:
    """Convert a value to an expression: numbers to prim values, arrays to constants, sequences to tuples.

    Raises `TiraxError` for anything else.
    """
    if isinstance(value, Expr):
        return value
    inner = getattr(value, "expr_handle", None)
    if isinstance(inner, Expr):
        return inner
    if isinstance(value, SSAValue):
        from .expr import expr_of

        return expr_of(value)
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, tuple | list):
        return Tuple(cast(Iterable[Any], value))
    if hasattr(value, "__array__"):
        return const(value)
    if isinstance(value, int | float | SymExpr) or hasattr(value, "dtype"):
        return PrimValue(in_full_precision(value))
    raise TiraxError("not an expression", expected="a Relax expression, number or array", found=type(value).__name__)


def in_full_precision(value: Any) -> Any:
    """Return a scalar whose prim value keeps all digits: a float of Python becomes a float64."""
    return prim_const(value, "float64") if type(value) is float else value


def binary(name: str, lhs: Any, rhs: Any) -> Call:
    """Return the binary operator `name`; a Python number becomes a constant of the other side's dtype."""
    return call_operator(f"relax.{name}", _like(lhs, rhs), _like(rhs, lhs))


def _like(value: Any, other: Any) -> Any:
    if not isinstance(value, int | float):
        return value
    t = other.ssa.type if isinstance(other, Expr) else None
    return const(value, t.element if isinstance(t, relax.TensorType) else None)


def call_operator(name: str, *args: Any, **kwargs: Any) -> Call:
    """Return a call of the operator `name`, e.g. `call_operator("relax.nn.softmax", x, axis=-1)`.

    Raises `NameLookupError` for an unknown operator, `TiraxError` for arguments that do not match its signature. If
    shapes or dtypes do not match, the result's type is unknown, and a builder that normalizes or binds the call raises
    the error.
    """
    if name in COMPOSITES:
        return expand(name, call_operator, args, kwargs)
    cls = relax.OPERATORS.get(name)
    if cls is None:
        raise unknown_name("operator", name, [*relax.OPERATORS, *COMPOSITES])
    arguments = cls.fill_defaults(_bind(cls, args, kwargs))
    operands = [_operand(cls, n, arguments.get(n.rstrip("*?"))) for n in cls.ARG_NAMES]
    if cls.name == "relax.reshape":
        operands[1] = _reshape_target(cast(SSAValue, operands[0]), arguments["shape"])
    attrs = {n: _attr(cls, n, arguments[n]) for n in cls.ATTR_SPECS if n in arguments}
    try:
        op = cls.make(*operands, **attrs)
    except (ShapeError, DTypeError) as error:
        if any(f"{cls.name}: {part}" in error.message for part in ("attribute ", *cls.WRITTEN)):
            raise  # it is wrong whatever the operands are
        op = cls.unchecked(*operands, **attrs)
    return Call.on(op.results[0])


def signature_names(cls: type[relax.Operator]) -> list[str]:
    """Return the parameters of an operator in order."""
    return list(cls.parameters())


def _bind(cls: type[relax.Operator], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    names = signature_names(cls)
    if len(args) > len(names) and not cls.SPREAD:
        raise ArgumentsError(f"{cls.name} takes {len(names)} arguments: {', '.join(names)}", found=len(args))
    fields = cls.parameters()
    arguments = {fields[n]: a for n, a in zip(names, cls.collect_varargs(args), strict=False)}
    for name, value in kwargs.items():
        if name not in fields:
            raise unknown_name(f"argument of {cls.name}", name, names)
        if fields[name] in arguments:
            raise ArgumentsError(f"{cls.name}: argument {name} is given twice")
        arguments[fields[name]] = value
    return arguments


def _operand(cls: type[relax.Operator], name: str, value: Any) -> Arg:
    plain = name.rstrip("*?")
    if value is None:
        return None
    if value is NOTHING:
        return Tuple(()).ssa
    if "*" in name:
        if name == "xs*" and isinstance(value, Expr) and isinstance(value.ssa.type, relax.TensorType):
            return _single_tensor(cls, value)
        return _variadic(value)
    if plain in _SHAPE_ARGS and isinstance(value, tuple | list):
        return () if cls.name == "relax.reshape" else ShapeExpr(cast(Iterable[Any], value)).ssa
    if plain == "shape" and not isinstance(value, Expr) and cls.name != "relax.reshape":
        raise ShapeError(f"{cls.name}: a shape is a sequence of extents", found=repr(value))
    if (plain in cls.PRIM_ARGS or plain in _PRIM_ARGS.get(cls.name, ())) and not isinstance(value, Expr):
        value = int(value) if isinstance(value, bool) and cls.is_flag(plain) else value
        return PrimValue(in_full_precision(value)).ssa
    if plain == "dtype" and isinstance(value, str):
        return DataTypeImm(value).ssa
    if isinstance(value, int | float):
        return const(value).ssa
    return to_expr(value).ssa


def _single_tensor(cls: type[relax.Operator], value: Expr) -> Sequence[SSAValue]:
    if cls.name in ("relax.concat", "relax.stack"):
        raise DTypeError(f"{cls.name} expects a tuple of tensors", expected="[x]", found=value.ssa.type)
    return [value.ssa]


def _variadic(value: Any) -> Sequence[SSAValue]:
    expr = to_expr(value)
    if isinstance(expr, Tuple):
        return [f.ssa for f in expr.fields]
    return [expr.ssa]


def _attr(cls: type[relax.Operator], name: str, value: Any) -> Any:
    if cls.ATTR_SPECS[name].kind is Kind.DTYPE:
        return as_dtype(_dtype_text(value))
    if cls.ATTR_SPECS[name].types == (IndexMapAttr,) and value is not None:
        return IndexMapAttr(index_mapping(value))
    if cls.ATTR_SPECS[name].kind is Kind.DEVICE:
        return str(value)
    return _plain(value)


def _dtype_text(value: Any) -> Attribute | str | None:
    """Return a data type that is a type, a name, or a numpy dtype."""
    if value is None or isinstance(value, Attribute):
        return value
    if isinstance(value, type) or type(value).__module__.startswith("numpy"):
        import numpy as np

        return np.dtype(value).name
    return str(value)


def _plain(value: Any) -> Any:
    """Return an attribute's value as a plain Python value: numpy scalars, prim values and extents become numbers."""
    if isinstance(value, tuple | list | ShapeExpr):
        return [_plain(v) for v in cast(Iterable[Any], value)]
    if isinstance(value, StringImm):
        return value.value
    if isinstance(value, VDevice):
        return str(value)
    if isinstance(value, PrimValue):
        number = cast(relax.PrimValueOp, value.op_handle).value
        return number.value.data if isinstance(number, FloatAttr) else _plain(value.value)
    if isinstance(value, PrimExpr):
        return value if value.constant is None else value.constant
    if isinstance(value, Const):
        return value.value
    return value.item() if hasattr(value, "item") else value


def _reshape_target(x: SSAValue, shape: Any) -> SSAValue:
    """Return the shape of a reshape; one extent may be -1 (inferred), and 0 keeps the extent of x."""
    if isinstance(shape, Expr) and not isinstance(shape, ShapeExpr):
        return shape.ssa
    if not isinstance(shape, ShapeExpr | Sequence):
        raise ShapeError("relax.reshape: a shape is a sequence of extents", found=repr(shape))
    source = x.type.extents if isinstance(x.type, relax.TensorType) else None
    variable = x.type.shape_var if isinstance(x.type, relax.TensorType) and source is None else None
    if variable is not None and any(dim_of(d).constant == 0 for d in getattr(shape, "values", shape)):
        raise ShapeError("relax.reshape: an extent of 0 needs an input of known shape", found=variable)
    dims = [dim_of(d) for d in (shape if isinstance(shape, ShapeExpr) else kept_extents(source, shape))]
    wild = [i for i, d in enumerate(dims) if d.constant == -1]
    if len(wild) > 1:
        raise ShapeError("relax.reshape: at most one extent may be -1", found=[str(d) for d in dims])
    if wild:
        if source is None:
            raise ShapeError("relax.reshape: an extent of -1 needs an input of known shape")
        rest = product(d for d in dims if d.constant != -1)
        dims[wild[0]] = Const(0) if rest.constant == 0 else product(source) // rest
    return ShapeExpr(dims).ssa


def make_call(op: Any, args: Sequence[Any], attrs: Any = None, sinfo_args: Sequence[Any] = ()) -> Call:
    """Return TVM's `Call(op, args, attrs, sinfo_args)`: `op` is an `Op`, `GlobalVar`, `ExternFunc` or a callable
    value.
    """
    if isinstance(op, str):
        op = Op.get(op)
    if isinstance(op, Op):
        return _call_op(op, args, attrs, sinfo_args)
    if isinstance(op, ExternFunc):
        return call_packed(op.global_symbol, *args, sinfo_args=sinfo_args, **_as_dict(attrs))
    if isinstance(op, Call):
        raise TiraxError("a call cannot be called", hint="bind it to a variable first")
    return call_value(op, args, sinfo_args)


def _as_dict(attrs: Any) -> dict[str, Any]:
    return {} if attrs is None else {k: attrs[k] for k in attrs.keys()}  # noqa: SIM118 (Attrs has keys and items)


def _call_op(op: Op, args: Sequence[Any], attrs: Any, sinfo_args: Sequence[Any]) -> Call:
    build = _SPECIAL_CALLS.get(op.name)
    if build is not None:
        return build(args, _as_dict(attrs), sinfo_args)
    return call_operator(op.name, *args, **_as_dict(attrs))


def _with_format(name: str, args: Sequence[Any], attrs: dict[str, Any], place: int) -> Call:
    """Return a call of an operator whose `format` is among the arguments, as in TVM, or an attribute."""
    if "format" in attrs or len(args) <= place or not isinstance(args[place], StringImm | str):
        return call_operator(name, *args, **attrs)
    text = args[place]
    others = [*args[:place], *args[place + 1 :]]
    return call_operator(name, *others, format=text.value if isinstance(text, StringImm) else text)


def call_value(func: Any, args: Sequence[Any], sinfo_args: Sequence[Any] = ()) -> Call:
    """Return a call of a Relax function of the module (`GlobalVar`) or of a callable value.

    The result's struct info is `sinfo_args[0]`, else derived from the callee's signature and the arguments, else
    object. Raises `ShapeError` and `DTypeError` for arguments that cannot match.
    """
    values = [to_expr(a).ssa for a in args]
    if isinstance(func, GlobalVar):
        result = type_of(sinfo_args[0]) if sinfo_args else _derived_result(func.name_hint, func.ssa.type, values)
        return Call.on(relax.CallOp(func.name_hint, values, result).result)
    if isinstance(func, Function):
        func = func.as_local()
    if not isinstance(func, Expr):
        raise TiraxError(
            "not callable", expected="a GlobalVar, ExternFunc or callable value", found=type(func).__name__
        )
    name = name_of(func.ssa) or "a function"
    result = type_of(sinfo_args[0]) if sinfo_args else _derived_result(name, func.ssa.type, values)
    return Call.on(relax.CallValueOp(func.ssa, values, result).result)


def _derived_result(name: str, t: Attribute, args: Sequence[SSAValue]) -> Attribute:
    if isinstance(t, relax.CallableType):
        return derive_result(f"the call of {name}", t, [a.type for a in args])
    if t == relax.OBJECT:
        return relax.OBJECT
    raise DTypeError("only functions can be called", expected="a callable", found=t)


def _arguments(args: Any) -> list[SSAValue]:
    """Return the inputs of a destination-passing call, which are one value or a tuple."""
    if isinstance(args, Tuple | tuple | list):
        return [to_expr(a).ssa for a in cast(Iterable[Any], args)]
    return [to_expr(args).ssa]


def _output(out_sinfo: Any) -> Attribute:
    if isinstance(out_sinfo, tuple | list):
        types = [type_of(s) for s in cast(Iterable[Any], out_sinfo)]
        return types[0] if len(types) == 1 else tuple_type(types)
    return type_of(out_sinfo)


def _callee_name(gvar: Any) -> str:
    if isinstance(gvar, str):
        return gvar
    if not isinstance(gvar, GlobalVar):
        raise TiraxError("not a function of the module", expected="a GlobalVar", found=type(gvar).__name__)
    return gvar.name_hint


def _tir_vars(tir_vars: Any) -> list[SymExpr] | None:
    return None if tir_vars is None else [dim_of(v) for v in tir_vars]


def call_tir(gvar: Any, args: Any, out_sinfo: Any, tir_vars: Any = None) -> Call:
    """Return a call of a tensor function: inputs (one or a tuple), the outputs' struct info (one or a list),
    scalar arguments.
    """
    op = relax.CallTIROp(_callee_name(gvar), _arguments(args), _output(out_sinfo), _tir_vars(tir_vars))
    return Call.on(op.result)


def call_tir_with_grad(
    gvar: Any, args: Any, out_sinfo: Any, te_grad_name: str, te_grad_kwargs: Any = None, tir_vars: Any = None
) -> Call:
    """Return a `call_tir` whose gradient is computed by the tensor function `te_grad_name` with the extra
    arguments `te_grad_kwargs`.
    """
    kwargs = None if te_grad_kwargs is None else cast(DictionaryAttr, attr_of(te_grad_kwargs))
    operands, dims = _arguments(args), _tir_vars(tir_vars)
    return Call.on(relax.CallTIROp(_callee_name(gvar), operands, _output(out_sinfo), dims, te_grad_name, kwargs).result)


def invoke_closure(closure: Any, args: Any, sinfo_args: Any = ()) -> Call:
    """Return a call of a closure with a tuple of arguments; its purity is that of the closure's type."""
    return call_value(closure, list(args), sinfo_args if isinstance(sinfo_args, list | tuple) else (sinfo_args,))


invoke_pure_closure = invoke_closure


def call_tir_inplace(gvar: Any, args: Any, inplace_indices: Any, out_sinfo: Any, tir_vars: Any = None) -> Call:
    """Return a `call_tir` that writes output i into input `inplace_indices[i]`, or into a new tensor for -1."""
    indices = [inplace_indices] if isinstance(inplace_indices, int) else list(inplace_indices)
    op = relax.CallTIRInplaceOp(_callee_name(gvar), _arguments(args), indices, _output(out_sinfo), _tir_vars(tir_vars))
    return Call.on(op.result)


def call_dps_packed(func: Any, args: Any, out_sinfo: Any) -> Call:
    """Return a call of a packed function that writes into newly allocated outputs."""
    name = func.global_symbol if isinstance(func, ExternFunc) else _callee_name(func)
    return Call.on(relax.CallDPSPackedOp(name, _arguments(args), _output(out_sinfo)).result)


def call_packed(func: Any, *args: Any, sinfo_args: Any = (), **attrs: Any) -> Call:
    """Return a call of a packed function, which may have effects."""
    return _packed(relax.CallPackedOp, func, args, sinfo_args, attrs)


def call_builtin_with_ctx(func: Any, args: Any, *, sinfo_args: Any = ()) -> Call:
    """Return a call of a packed function of the runtime."""
    name = func.global_symbol if isinstance(func, ExternFunc) else _callee_name(func)
    declared = list(sinfo_args) if isinstance(sinfo_args, tuple | list) else [sinfo_args]
    return Call.on(relax.CallBuiltinWithCtxOp(name, _arguments(args), type_of(_one_output(declared))).result)


def call_pure_packed(func: Any, *args: Any, sinfo_args: Any = (), **attrs: Any) -> Call:
    """Return a call of a packed function that is assumed to be pure."""
    return _packed(relax.CallPurePackedOp, func, args, sinfo_args, attrs)


def call_inplace_packed(func: Any, *args: Any, inplace_indices: Any, sinfo_args: Any = (), **attrs: Any) -> Call:
    """Return a call of a packed function that modifies the arguments `inplace_indices` and returns them."""
    indices = [inplace_indices] if isinstance(inplace_indices, int) else list(inplace_indices)
    return _packed(relax.CallInplacePackedOp, func, args, sinfo_args, {"inplace_indices": indices, **attrs})


def _packed(
    cls: type[relax.CallPackedOp] | type[relax.CallPurePackedOp] | type[relax.CallInplacePackedOp],
    func: Any,
    args: Sequence[Any],
    sinfo_args: Any,
    attrs: Mapping[str, Any],
) -> Call:
    name = func.global_symbol if isinstance(func, ExternFunc) else _callee_name(func)
    declared = list(sinfo_args) if isinstance(sinfo_args, tuple | list) else [sinfo_args]
    result = type_of(declared[0]) if declared else relax.OBJECT
    values = [to_expr(a).ssa for a in args]
    return Call.on(cls(name, values, result, {k: _plain(v) for k, v in attrs.items()} or None).result)


def _one_output(sinfo_args: Sequence[Any]) -> Any:
    """Return the struct info of the result; without it the type is unknown, which `well_formed` rejects."""
    if len(sinfo_args) > 1:
        raise TiraxError("a call has one result", expected="sinfo_args=[…]", found=len(sinfo_args))
    return sinfo_args[0] if sinfo_args else relax.OBJECT


_SPECIAL_CALLS: dict[str, Callable[[Sequence[Any], dict[str, Any], Sequence[Any]], Call]] = {
    "relax.print": lambda a, k, _: _with_format("relax.print", a, k, 0),
    "relax.assert_op": lambda a, k, _: _with_format("relax.assert_op", a, k, 1),
    "relax.call_tir": lambda a, _, s: call_tir(a[0], a[1], _one_output(s), *a[2:]),
    "relax.call_tir_inplace": lambda a, k, s: call_tir_inplace(
        a[0], a[1], k["inplace_indices"], _one_output(s), *a[2:]
    ),
    "relax.call_dps_packed": lambda a, _, s: call_dps_packed(a[0], a[1], _one_output(s)),
    "relax.call_packed": lambda a, k, s: call_packed(a[0], *a[1:], sinfo_args=s, **k),
    "relax.call_builtin_with_ctx": lambda a, _, s: call_builtin_with_ctx(a[0], a[1], sinfo_args=s),
    "relax.call_pure_packed": lambda a, k, s: call_pure_packed(a[0], *a[1:], sinfo_args=s, **k),
    "relax.call_inplace_packed": lambda a, k, s: call_inplace_packed(a[0], *a[1:], sinfo_args=s, **k),
}


def operator_function(name: str) -> Callable[..., Call]:
    """Return a function that builds calls of an operator, for `relax.op.add` and `R.add`. Raises `NameLookupError`."""
    cls = relax.OPERATORS.get(name)
    described = cls or COMPOSITES.get(name)
    if described is None:
        raise unknown_name("operator", name, [*relax.OPERATORS, *COMPOSITES])
    names = composite_parameters(name) if cls is None else signature_names(cls)

    def build(*args: Any, **kwargs: Any) -> Call:
        return call_operator(name, *args, **kwargs)

    if cls is None or not cls.SPREAD:
        build.__signature__ = _signature(cls, name)  # pyright: ignore[reportFunctionMemberAccess]
    build.__name__ = build.__qualname__ = name.rpartition(".")[2]
    vars(build)["__tirax_script_dialect__"] = name
    build.__doc__ = f"{described.__doc__}\n\nArguments: {', '.join(names) or 'none'}."
    return build


def _signature(cls: type[relax.Operator] | None, name: str) -> inspect.Signature:
    """Return the signature that `help` shows. Required parameters, and those before them, have no default."""
    if cls is None:
        _, *parameters = inspect.signature(COMPOSITES[name]).parameters.values()
        return inspect.Signature(parameters)
    signature: list[inspect.Parameter] = []
    optional = True
    for parameter, field in reversed(list(cls.parameters().items())):
        optional = optional and not cls.is_required(parameter) and f"{field}*" not in cls.ARG_NAMES
        spec = cls.ATTR_SPECS.get(field)
        default = inspect.Parameter.empty if not optional else None if spec is None else spec.default
        signature.append(inspect.Parameter(parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    return inspect.Signature(signature[::-1])


def operators_in(prefix: str) -> list[str]:
    """Return the names of the operators directly in a namespace such as `relax.nn.`, without the prefix."""
    known = [*relax.OPERATORS, *COMPOSITES]
    return sorted(n.removeprefix(prefix) for n in known if n.startswith(prefix) and "." not in n[len(prefix) :])


@dataclass(frozen=True)
class OperatorNamespace:
    """The operators with a prefix such as `relax.acme.`, which plug-ins add without a Python module."""

    prefix: str

    def __getattr__(self, name: str) -> Any:
        return operator_attribute(self.prefix.rstrip("."), self.prefix, name)

    def __dir__(self) -> list[str]:
        return operators_in(self.prefix)


def operator_attribute(module: str, prefix: str, name: str) -> Callable[..., Call] | OperatorNamespace:
    """Return the attribute of a module of operators: a function, or a namespace of operators.

    Raises `AttributeError` with a suggestion.
    """
    if any(n.startswith(f"{prefix}{name}.") for n in relax.OPERATORS):
        return OperatorNamespace(f"{prefix}{name}.")
    try:
        return operator_function(prefix + name)
    except NameLookupError as error:
        raise AttributeError(f"module '{module}' has no operator '{name}'. {error.hint or ''}".strip()) from error


def _infer_struct_info(name: str) -> Callable[[Any, Any], StructInfo] | None:
    """Return the operator's `FInferStructInfo`, which infers the struct info of a call."""
    return _struct_info_of_call if name in relax.OPERATORS else None


def _struct_info_of_call(call: Any, builder: object = None) -> StructInfo:
    return to_expr(call).struct_info


Op.provided[INFER] = _infer_struct_info
Operators.build_binary = staticmethod(binary)
Operators.build_operator = staticmethod(call_operator)
Operators.build_call = staticmethod(call_value)
Tuple.build_field = staticmethod(to_expr)
Call.build = staticmethod(make_call)

__all__ = [
    "TupleGetItem",
    "binary",
    "call_dps_packed",
    "call_inplace_packed",
    "call_operator",
    "call_packed",
    "call_builtin_with_ctx",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "call_value",
    "invoke_closure",
    "invoke_pure_closure",
    "make_call",
    "operator_attribute",
    "operator_function",
    "operators_in",
    "to_expr",
]
