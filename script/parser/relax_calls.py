"""Calls in Relax functions: functions of the module, packed functions and closures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, TupleType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import DTypeError, ShapeError
from ...dialects import relax
from ...dialects.names import set_name
from ...dialects.relax import OBJECT, CallableType, ShapeType, TensorDataAttr, TensorType
from ...dialects.relax.base import VIEW, View, view_type
from ...dialects.relax.signatures import derive_result
from ...dialects.relax.types import dims_attr
from ...dialects.sym.expr import SymExpr
from .attributes import attribute_dict, plain_value
from .evaluator import inlined
from .relax_operators import call_operator
from .relax_state import Builder, RelaxParser
from .relax_types import as_struct_info, dims_of, tuple_type
from .relax_values import as_value
from .tensor_functions import apply, is_tensor_function
from .values import CallSite, GlobalRef, Method, describe


def _callee(p: RelaxParser, site: CallSite, value: Any) -> str:
    value = p.state.module.imported(value) or value
    if not isinstance(value, GlobalRef):
        raise site.error("the first argument must be a function of the module", expected="cls.f", found=describe(value))
    return value.name


def _call_args(p: RelaxParser, site: CallSite, args: Any) -> list[SSAValue]:
    """Return the arguments of a call, which are a tuple of values or a single value."""
    if isinstance(args, SSAValue) and isinstance(args.owner, relax.TupleOp) and args.name_hint is None:
        return list(args.owner.fields_)
    items = cast("list[Any]", list(args)) if isinstance(args, tuple | list) else [args]
    return [as_value(p, a, site.node) for a in items]


def _out_sinfo(p: RelaxParser, site: CallSite, value: Any, any_dtype: bool = False) -> Attribute:
    """Return the struct info of the outputs, a tuple if there are several. `any_dtype` permits an unknown dtype."""
    if isinstance(value, list | tuple):
        items = [as_struct_info(p, v, site.node) for v in cast("list[Any]", value)]
        outputs: list[Attribute] = items
        result: Attribute = items[0] if len(items) == 1 else tuple_type(items)
    else:
        result = as_struct_info(p, value, site.node)
        outputs = list(result.types) if isinstance(result, TupleType) else [result]
    for t in outputs:
        if not (isinstance(t, TensorType) and t.dims is not None and (any_dtype or t.element is not None)):
            raise site.error("an output must be a tensor of known shape and dtype", found=t)
    return result


def _tir_vars(p: RelaxParser, site: CallSite, value: Any) -> list[SymExpr] | None:
    if value is None:
        return None
    if isinstance(value, SSAValue) and isinstance(value.type, ShapeType) and value.type.dims is not None:
        return list(value.type.dims)
    return dims_of(p, value, site.node)


def _emit_te(p: RelaxParser, site: CallSite) -> SSAValue:
    """Parse `R.emit_te(topi.add, x, y)`: a call of the prim_func that a tensor function creates for the arguments.

    The function is part of this package, or a simple function of the script that is inlined from its source.
    """
    func, *args = site.args or (None,)
    ours = is_tensor_function(func)
    if p.state.call_te is None or not (ours or isinstance(func, FunctionType)):
        raise site.error("a tensor function is expected", expected="R.emit_te(topi.add, x, y)", found=describe(func))
    values = [_te_argument(p, a, site) for a in args]
    options = {k: _te_argument(p, v, site) for k, v in site.kwargs.items()}
    if not ours:
        function = cast(FunctionType, func)
        options.setdefault("primfunc_name_hint", function.__name__.strip("<>"))
        func = lambda *args, **kwargs: apply(p.source, site.node, function, args, kwargs)  # noqa: E731
    call = p.state.call_te(func, *values, **options)
    for op in call.setup:
        p.emit(op, site.node)
    return p.emit(call.call_op(p.state.module.add_tensor_function(call.func)), site.node)


def _te_argument(p: RelaxParser, value: Any, site: CallSite) -> Any:
    if isinstance(value, tuple | list):
        return [_te_argument(p, v, site) for v in cast("list[Any]", value)]
    return as_value(p, value, site.node) if isinstance(value, TensorDataAttr) else plain_value(value)


def _check_count(p: RelaxParser, site: CallSite, name: str, args: int, result: Attribute, variables: int) -> None:
    """Check that inputs, outputs and scalars together match the parameters of the callee."""
    parameters = p.state.module.parameter_count(name)
    outputs = len(result.types) if isinstance(result, TupleType) else 1
    if parameters is not None and parameters != args + outputs + variables:
        raise site.error(
            f"'{name}' has another number of parameters",
            expected=f"{parameters} parameters",
            found=f"{args} arguments, {outputs} outputs, {variables} tir_vars",
        )


def _call_tir(p: RelaxParser, site: CallSite) -> SSAValue:
    return _tensor_call(p, site, *site.bind("gvar args= out_sinfo tir_vars="))


def _call_tir_with_grad(p: RelaxParser, site: CallSite) -> SSAValue:
    *call, grad, kwargs, tir_vars = site.bind("gvar args out_sinfo te_grad_name te_grad_kwargs= tir_vars=")
    if not isinstance(grad, str):
        raise site.error("te_grad_name must be a string", found=describe(grad))
    attributes = None if kwargs is None else attribute_dict(p.source, site.node, kwargs)
    return _tensor_call(p, site, *call, tir_vars, grad, attributes)


def _tensor_call(
    p: RelaxParser, site: CallSite, gvar: Any, args: Any, sinfo: Any, tir_vars: Any, *grad: Any
) -> SSAValue:
    name, values = _callee(p, site, gvar), _call_args(p, site, () if args is None else args)
    result = _out_sinfo(p, site, sinfo)
    variables = _tir_vars(p, site, tir_vars)
    _check_count(p, site, name, len(values), result, len(variables or ()))
    return p.emit(relax.CallTIROp(name, values, result, variables, *grad), site.node)


def _call_tir_inplace(p: RelaxParser, site: CallSite) -> SSAValue:
    gvar, args, indices, sinfo, tir_vars = site.bind("gvar args inplace_indices out_sinfo tir_vars=")
    name, values = _callee(p, site, gvar), _call_args(p, site, args)
    result = _out_sinfo(p, site, sinfo)
    places = cast("list[Any]", list(indices)) if isinstance(indices, tuple | list) else [indices]
    if not all(isinstance(i, int) for i in places):
        raise site.error("inplace_indices must be integers", found=describe(indices))
    return p.emit(
        relax.CallTIRInplaceOp(name, values, cast("list[int]", places), result, _tir_vars(p, site, tir_vars)), site.node
    )


def call_prim_func(p: RelaxParser, site: CallSite, name: str, args: Sequence[Any]) -> SSAValue | None:
    """Parse `cls.f(x, y)`, a call of a prim_func in destination-passing style; None if the number of arguments
    differs.
    """
    values = [as_value(p, a, site.node) for a in args]
    variables = None
    if values and isinstance(values[-1].type, ShapeType):
        variables = _tir_vars(p, site, values.pop())
    if p.state.module.parameter_count(name) not in (None, len(values) + len(variables or ())):
        return None
    dims = None if variables is None else dims_attr(variables)
    scalar = p.state.module.scalar_result(name)
    result = tuple_type([]) if scalar is None else relax.PrimType.of(scalar)
    return p.emit(relax.CallOp(name, values, result, dims), site.node)


def _call_tir_dyn(p: RelaxParser, site: CallSite) -> SSAValue:
    """Parse `R.vm.call_tir_dyn(cls.f, (x, y, R.shape([n])))`: a prim_func whose last parameters are scalars."""
    gvar, args = site.bind("func args")
    name = _callee(p, site, gvar)
    if p.state.module.callable_type(name) is not None:
        raise site.error("a prim_func is expected", found=f"the Relax function '{name}'")
    result = call_prim_func(p, site, name, _call_args(p, site, args))
    if result is None:
        raise site.error("the function has another number of parameters")
    return result


def _invoke_closure(p: RelaxParser, site: CallSite) -> SSAValue:
    """Parse `R.invoke_closure(f, (x,), sinfo_args=…)`: a call `f(x)` with explicit struct info."""
    closure, args, sinfo = site.bind("closure args sinfo_args=")
    kwargs = {} if sinfo is None else {"sinfo_args": sinfo}
    values = _call_args(p, site, args)
    return call_value(p, closure, replace(site, args=values, kwargs=kwargs))


def _make_closure(p: RelaxParser, site: CallSite) -> SSAValue:
    """Parse `R.make_closure(cls.f, (x,))`: a local function that calls f with its own arguments followed by x."""
    func, args = site.bind("func args")
    name, last = _callee(p, site, func), _call_args(p, site, args)
    t = p.state.module.callable_type(name)
    if not last or t is None or not isinstance(t.params, ArrayAttr):
        return as_value(p, GlobalRef(name), site.node)
    first = list(t.params)[: max(len(t.params) - len(last), 0)]
    block = Block(arg_types=first)
    for i, arg in enumerate(block.args):
        set_name(arg, f"arg{i}")
    values = [*block.args, *last]
    result = derive_result("the call", t, [v.type for v in values])
    call = relax.CallOp(name, values, result)
    set_name(call.result, "gv")
    block.add_ops([call, relax.ReturnOp(call.result)])
    return p.emit(relax.ClosureOp(Region(block), result, pure=t.pure), site.node)


def _packed_name(site: CallSite, func: Any) -> str:
    """Return the name of a packed function, written as a string or as `R.ExternFunc`."""
    if isinstance(func, SSAValue) and isinstance(func.owner, relax.ExternFuncOp):
        func = func.owner.global_symbol.data
    if not isinstance(func, str):
        raise site.error("the first argument must be the name of a packed function", found=describe(func))
    return func


def _call_dps_packed(p: RelaxParser, site: CallSite) -> SSAValue:
    func, args, sinfo = site.bind("func args out_sinfo")
    func = _packed_name(site, func)
    values = _call_args(p, site, args)
    return p.emit(relax.CallDPSPackedOp(func, values, _out_sinfo(p, site, sinfo, any_dtype=True)), site.node)


def _packed(
    cls: type[relax.CallPackedOp] | type[relax.CallPurePackedOp] | type[relax.CallInplacePackedOp],
) -> Builder:
    def build(p: RelaxParser, site: CallSite) -> SSAValue:
        if not site.args:
            raise site.error("the name of the packed function is missing")
        func, *rest = site.args
        func = _packed_name(site, func)
        attrs = dict(site.kwargs)
        sinfo = attrs.pop("sinfo_args", None)
        values = [as_value(p, a, site.node) for a in rest]
        if func in DERIVED and sinfo is None and not attrs:
            return p.emit(DERIVED[func](values), site.node)
        attributes = attribute_dict(p.source, site.node, attrs) if attrs else None
        call = cls(func, values, sinfo_of(p, site, sinfo), attributes)
        call.several = isinstance(sinfo, tuple | list) and len(cast("list[Any]", sinfo)) > 1
        return p.emit(call, site.node)

    return build


def _call_builtin_with_ctx(p: RelaxParser, site: CallSite) -> SSAValue:
    func, args, sinfo = site.bind("func args sinfo_args=")
    if not isinstance(func, str):
        raise site.error("the first argument must be the name of a packed function", found=describe(func))
    values = _call_args(p, site, args)
    return p.emit(relax.CallBuiltinWithCtxOp(func, values, sinfo_of(p, site, sinfo)), site.node)


def sinfo_of(p: RelaxParser, site: CallSite, value: Any) -> Attribute:
    """Return the struct info of `sinfo_args`: an object if absent, a tuple if there are several."""
    if value is None:
        return OBJECT
    items = cast("list[Any]", list(value)) if isinstance(value, tuple | list) else [value]
    types = [as_struct_info(p, v, site.node) for v in items]
    return types[0] if len(types) == 1 else tuple_type(types) if types else OBJECT


def _match_cast(p: RelaxParser, site: CallSite) -> SSAValue:
    value, sinfo = site.bind("value struct_info")
    operand, target = as_value(p, value, site.node), as_struct_info(p, sinfo, site.node)
    op = relax.MatchCastOp(operand, target)
    try:
        op.verify_()
    except VerifyException:
        raise site.error("this can never hold", expected=target, found=operand.type) from None
    return p.emit(op, site.node)


def call_value(p: RelaxParser, target: Any, site: CallSite) -> Any:
    """Parse a call whose callee is not a function of `R`: a method, a function of the module, a value, a captured
    function.
    """
    if isinstance(target, Method):
        return call_operator(p, "relax.astype", [target.value, *site.args], site.kwargs, site)
    imported = p.state.module.imported(target)
    if imported is not None:
        target = imported
    if isinstance(target, GlobalRef):
        return _call_global(p, target.name, site)
    if isinstance(target, SSAValue):
        return _call_value(p, target, site)
    return inlined(p, target, site)


def _call_global(p: RelaxParser, name: str, site: CallSite) -> SSAValue:
    t = p.state.module.callable_type(name)
    if t is None:
        result = None if p.state.function.dataflow is not None else call_prim_func(p, site, name, site.args)
        if result is None:
            hint = f"write R.call_tir(cls.{name}, (…), out_sinfo=…)"
            raise site.error("a prim_func is not called directly", expected="inputs and outputs", hint=hint)
        return result
    args = [as_value(p, a, site.node) for a in site.args]
    return p.emit(relax.CallOp(name, args, _call_type(p, t, args, site)), site.node)


def _call_value(p: RelaxParser, target: SSAValue, site: CallSite) -> SSAValue:
    kwargs = dict(site.kwargs)
    sinfo = kwargs.pop("sinfo_args", None)
    if kwargs:
        raise site.error(f"no argument is called '{next(iter(kwargs))}'")
    args = [as_value(p, a, site.node) for a in site.args]
    if isinstance(target.owner, relax.ExternFuncOp) and target.owner.global_symbol.data in DERIVED and sinfo is None:
        return p.emit(DERIVED[target.owner.global_symbol.data](args), site.node)
    if isinstance(target.type, CallableType):
        result = _call_type(p, target.type, args, site) if sinfo is None else sinfo_of(p, site, sinfo)
    elif target.type == OBJECT:
        result = sinfo_of(p, site, sinfo)
    else:
        raise site.error("this value cannot be called", expected="a function", found=target.type)
    return p.emit(relax.CallValueOp(target, args, result), site.node)


def _view(args: Sequence[SSAValue]) -> Operation:
    """Return the call that makes a view, whose type is that of the operator."""
    return relax.CallPurePackedOp(VIEW, list(args), view_type(args) or View.make(*args).result_type)


DERIVED: dict[str, Callable[[Sequence[SSAValue]], Operation]] = {VIEW: _view}
"""Packed functions whose result types follow from their arguments, with TVM's `derive_func`."""


def _call_type(p: RelaxParser, t: CallableType, args: Sequence[SSAValue], site: CallSite) -> Attribute:
    """Return the result type of a call, with the callee's symbolic variables replaced by the values in the
    arguments.
    """
    try:
        return derive_result("the call", t, [a.type for a in args])
    except (ShapeError, DTypeError) as error:
        raise site.error(error.message, expected=error.expected, found=error.found) from None


CALLS: dict[str, Builder] = {
    "call_tir": _call_tir,
    "emit_te": _emit_te,
    "call_tir_with_grad": _call_tir_with_grad,
    "call_tir_inplace": _call_tir_inplace,
    "call_dps_packed": _call_dps_packed,
    "vm.call_tir_dyn": _call_tir_dyn,
    "make_closure": _make_closure,
    "invoke_closure": _invoke_closure,
    "invoke_pure_closure": _invoke_closure,
    "call_packed": _packed(relax.CallPackedOp),
    "call_builtin_with_ctx": _call_builtin_with_ctx,
    "call_pure_packed": _packed(relax.CallPurePackedOp),
    "call_inplace_packed": _packed(relax.CallInplacePackedOp),
    "match_cast": _match_cast,
}
"""The call constructs of `R` by name."""
