"""The functions of `R` that give values: calls, leaves and operators."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, ClassVar, Protocol, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, TupleType, f32, f64, i1
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import suggestion
from ...dialects import relax, tir
from ...dialects.dtypes import dtype_of, float_attr, is_float
from ...dialects.names import name_of, set_name
from ...dialects.relax import OBJECT, OPERATORS, CallableType, Kind, ShapeType, TensorDataAttr, TensorType
from ...dialects.relax.composite import COMPOSITES, expand
from ...dialects.relax.devices import device_of, listed_vdevice
from ...dialects.relax.manipulation import kept_extents
from ...dialects.relax.operator import NOTHING, Operator
from ...dialects.relax.reduction import ReduceOp
from ...dialects.relax.registered import RegisteredOperator
from ...dialects.relax.signatures import derive_result
from ...dialects.relax.types import dims_attr
from ...dialects.sym import IndexMapAttr, IndexMapping, SymAttr
from ...dialects.sym.expr import Const, SymExpr, i32
from ...dialects.sym.expr import product as sym_product
from .attributes import attribute_dict, plain_value
from .folding import as_sym, fold_symbolic, is_constant
from .relax_types import STRUCT_INFO_CALLS, StructInfoEvaluator, tuple_type
from .scope import Scope
from .source import Source
from .tensor_functions import TensorFunctions, is_tensor_function
from .values import CallSite, GlobalRef, Imm, Ref, describe


class ModuleContext(Protocol):
    """What a function sees of its module."""

    @property
    def vdevices(self) -> list[str]:
        """The virtual devices that the module lists."""
        ...

    def has_function(self, name: str) -> bool: ...

    def function_names(self) -> list[str]: ...

    def parameter_count(self, name: str) -> int | None:
        """The number of parameters of a prim_func, None for what is none."""
        ...

    def scalar_result(self, name: str) -> Attribute | None:
        """The type of the number that a prim_func returns, None where it returns nothing."""
        ...

    def callable_type(self, name: str) -> CallableType | None:
        """The signature of a Relax function, None for what is none."""
        ...

    def packed(self, name: str) -> relax.ExternOp | None:
        """A packed function that is a member of the module."""
        ...

    def add_tensor_function(self, func: tir.FuncOp) -> str:
        """Take a function into the module, under its name or a new one like it; gives that."""
        ...

    def imported(self, value: Any) -> GlobalRef | None:
        """A function that was captured from outside, taken into the module; None for what is none."""
        ...


class RelaxEvaluator(StructInfoEvaluator):
    """The evaluator with values of Relax, which are emitted into a block."""

    statements: ClassVar[dict[str, Callable[..., Any]]] = {}
    """The functions of `R` that are statements, by name."""
    call_te: ClassVar[Callable[..., Any] | None] = None
    """How tensor functions are called on Relax values: `te/emit.py` fills this in."""

    def __init__(self, source: Source, scope: Scope, module: ModuleContext):
        super().__init__(source, scope)
        self.module = module
        self.block = Block()

    def vdevice(self, name: str) -> str:
        """The virtual device that a script calls so, `vdevice:1` or `cuda:1`, among those of the module."""
        return listed_vdevice(name, self.module.vdevices)

    def emit(self, op: Operation, node: ast.AST) -> Any:
        """Append `op`; gives its result, if it has one."""
        op.location = self.source.attr(node)
        self.block.add_op(op)
        return op.results[0] if op.results else None

    def value(self, value: Any, node: ast.AST) -> SSAValue:
        """A value of the script as a Relax value."""
        if isinstance(value, SSAValue):
            return value
        if isinstance(value, tuple | list):
            fields = [self.value(v, node) for v in cast("list[Any]", value)]
            return self.emit(relax.TupleOp(fields), node)
        if isinstance(value, str):
            return self.emit(relax.StringOp(value), node)
        if isinstance(value, TensorDataAttr):
            return self.emit(relax.ConstantOp(value), node)
        if isinstance(value, GlobalRef):
            return self._function_ref(value, node)
        if type(value).__module__ == "numpy":
            site = CallSite(cast(ast.Call, node), "constant", [], {}, self.source)
            return self.emit(constant_of(self, site, value, None), node)
        return self.prim_value(value, node)

    def prim_value(self, value: Any, node: ast.AST) -> SSAValue:
        contents = prim_attr(value)
        if contents is None:
            raise self.error(node, "this is no Relax value", found=describe(value))
        attr = SymAttr(contents) if isinstance(contents, SymExpr) else contents
        return self.emit(relax.PrimValueOp(attr), node)

    def _function_ref(self, value: GlobalRef, node: ast.AST) -> SSAValue:
        t = self.module.callable_type(value.name) or CallableType.of(None, OBJECT)
        return self.emit(relax.FunctionRefOp(value.name, t), node)


Builder = Callable[[RelaxEvaluator, CallSite], Any]


# Leaves


def const(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    """`R.const(1.0, "float32")`"""
    value, dtype = site.bind("value dtype=")
    return p.emit(constant_of(p, site, value, p.dtype(dtype, site.node)), site.node)


_NAMED_FLOATS = ("inf", "-inf", "nan")
"""What the printer writes for floats that Python has no literal for."""


def constant_of(p: RelaxEvaluator, site: CallSite, value: Any, dtype: Attribute | None) -> relax.ConstantOp:
    """The constant of a number, nested lists of numbers, or an array."""
    import numpy as np

    value = plain_value(value)
    if isinstance(value, str) and value in _NAMED_FLOATS and dtype is not None and is_float(dtype):
        value = float(value)
    if (
        not (is_constant(value) or isinstance(value, np.ndarray | np.generic))
        or value is None
        or isinstance(value, str)
    ):
        raise site.error("a constant must be a number, a list of numbers or an array", found=describe(value))
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "US":
        raise site.error("the elements of a constant must be numbers of one shape", found=describe(value))
    if dtype is None:
        dtype = (
            dtype_of(array.dtype.name)
            if isinstance(value, np.ndarray | np.generic)
            else _default_dtype(array.dtype.kind)
        )
    return relax.ConstantOp.of(array, dtype)


def _default_dtype(kind: str) -> Attribute:
    return {"b": i1, "f": f32}.get(kind, i32)


def _shape(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    return p.emit(relax.ShapeOp(p.dims(site.bind("value")[0], site.node)), site.node)


def _prim_value(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    return p.prim_value(site.bind("value")[0], site.node)


def _string(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    (value,) = site.bind("value")
    if not isinstance(value, str):
        raise site.error("a string is expected", found=describe(value))
    return p.emit(relax.StringOp(value), site.node)


def _dtype(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    return _dtype_value(p, site, site.bind("value")[0])


def _dtype_value(p: RelaxEvaluator, site: CallSite, value: Any) -> SSAValue:
    dtype = p.dtype(value, site.node)
    if dtype is None and value is None:
        raise site.error("a data type is expected")
    return p.emit(relax.DataTypeOp(dtype), site.node)


def _null_value(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    site.bind("")
    return p.emit(relax.NullValueOp(), site.node)


def packed_function(p: RelaxEvaluator, site: CallSite) -> tuple[str, relax.CallableType]:
    """The name and the type of `R.ExternFunc("f", R.Callable(…))`."""
    name, sinfo = site.bind("global_symbol struct_info=")
    if not isinstance(name, str):
        raise site.error("the name of a packed function is a string", found=describe(name))
    if sinfo is None:
        return name, relax.CallableType.of(None, relax.OBJECT, pure=False)
    t = p.as_struct_info(sinfo, site.node)
    if not isinstance(t, relax.CallableType):
        raise site.error("a function is expected", expected="R.Callable(…)", found=describe(sinfo))
    return name, t


def _extern(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    return p.emit(relax.ExternFuncOp(*packed_function(p, site)), site.node)


def _device(p: RelaxEvaluator, site: CallSite) -> str:
    """`R.device(device_type=1, index=0)`, `R.device("cpu")`: as the attribute of an operator says it."""
    kind, index = (plain_value(v) for v in site.bind("device_type index="))
    if not isinstance(kind, int | str) or not isinstance(index, int | None):
        raise site.error("a device is a kind and a number", found=f"{describe(kind)}, {describe(index)}")
    return device_of(kind, index)


def _tuple(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    return p.emit(relax.TupleOp([p.value(a, site.node) for a in site.args]), site.node)


# Calls


def _callee(p: RelaxEvaluator, site: CallSite, value: Any) -> str:
    value = p.module.imported(value) or value
    if not isinstance(value, GlobalRef):
        raise site.error("the first argument must be a function of the module", expected="cls.f", found=describe(value))
    return value.name


def _call_args(p: RelaxEvaluator, site: CallSite, args: Any) -> list[SSAValue]:
    """The arguments: a tuple of values, or one value."""
    if isinstance(args, SSAValue) and isinstance(args.owner, relax.TupleOp) and args.name_hint is None:
        return list(args.owner.fields_)
    items = cast("list[Any]", list(args)) if isinstance(args, tuple | list) else [args]
    return [p.value(a, site.node) for a in items]


def _out_sinfo(p: RelaxEvaluator, site: CallSite, value: Any, any_dtype: bool = False) -> Attribute:
    """The outputs' struct info, a tuple where there are several; `any_dtype` where the dtype may be unknown."""
    if isinstance(value, list | tuple):
        items = [p.as_struct_info(v, site.node) for v in cast("list[Any]", value)]
        outputs: list[Attribute] = items
        result: Attribute = items[0] if len(items) == 1 else tuple_type(items)
    else:
        result = p.as_struct_info(value, site.node)
        outputs = list(result.types) if isinstance(result, TupleType) else [result]
    for t in outputs:
        if not (isinstance(t, TensorType) and t.dims is not None and (any_dtype or t.element is not None)):
            raise site.error("an output must be a tensor of known shape and dtype", found=t)
    return result


def _tir_vars(p: RelaxEvaluator, site: CallSite, value: Any) -> list[SymExpr] | None:
    if value is None:
        return None
    if isinstance(value, SSAValue) and isinstance(value.type, ShapeType) and value.type.dims is not None:
        return list(value.type.dims)
    return p.dims(value, site.node)


def _emit_te(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    """`R.emit_te(topi.add, x, y)`: a call of the prim_func that a tensor function makes for the arguments.

    It is one of ours, or a simple one of the script, whose text is read.
    """
    func, *args = site.args or (None,)
    ours = is_tensor_function(func)
    if p.call_te is None or not (ours or isinstance(func, FunctionType)):
        raise site.error("a tensor function is expected", expected="R.emit_te(topi.add, x, y)", found=describe(func))
    values = [_te_argument(p, a, site) for a in args]
    options = {k: _te_argument(p, v, site) for k, v in site.kwargs.items()}
    if not ours:
        function = cast(FunctionType, func)
        options.setdefault("primfunc_name_hint", function.__name__.strip("<>"))
        reader = TensorFunctions(p.source)
        func = lambda *args, **kwargs: reader.apply(function, site.node, args, kwargs)  # noqa: E731
    made = p.call_te(func, *values, **options)
    for op in made.setup:
        p.emit(op, site.node)
    return p.emit(made.call_op(p.module.add_tensor_function(made.func)), site.node)


def _te_argument(p: RelaxEvaluator, value: Any, site: CallSite) -> Any:
    if isinstance(value, tuple | list):
        return [_te_argument(p, v, site) for v in cast("list[Any]", value)]
    return p.value(value, site.node) if isinstance(value, TensorDataAttr) else plain_value(value)


def _check_count(p: RelaxEvaluator, site: CallSite, name: str, args: int, result: Attribute, variables: int) -> None:
    """Inputs, outputs and scalars together are the parameters of the callee."""
    parameters = p.module.parameter_count(name)
    outputs = len(result.types) if isinstance(result, TupleType) else 1
    if parameters is not None and parameters != args + outputs + variables:
        raise site.error(
            f"'{name}' has another number of parameters",
            expected=f"{parameters} parameters",
            found=f"{args} arguments, {outputs} outputs, {variables} tir_vars",
        )


def _call_tir(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    return _tensor_call(p, site, *site.bind("gvar args= out_sinfo tir_vars="))


def _call_tir_with_grad(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    *call, grad, kwargs, tir_vars = site.bind("gvar args out_sinfo te_grad_name te_grad_kwargs= tir_vars=")
    if not isinstance(grad, str):
        raise site.error("te_grad_name must be a string", found=describe(grad))
    attributes = None if kwargs is None else attribute_dict(p.source, site.node, kwargs)
    return _tensor_call(p, site, *call, tir_vars, grad, attributes)


def _tensor_call(
    p: RelaxEvaluator, site: CallSite, gvar: Any, args: Any, sinfo: Any, tir_vars: Any, *grad: Any
) -> SSAValue:
    name, values = _callee(p, site, gvar), _call_args(p, site, () if args is None else args)
    result = _out_sinfo(p, site, sinfo)
    variables = _tir_vars(p, site, tir_vars)
    _check_count(p, site, name, len(values), result, len(variables or ()))
    return p.emit(relax.CallTIROp(name, values, result, variables, *grad), site.node)


def _call_tir_inplace(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    gvar, args, indices, sinfo, tir_vars = site.bind("gvar args inplace_indices out_sinfo tir_vars=")
    name, values = _callee(p, site, gvar), _call_args(p, site, args)
    result = _out_sinfo(p, site, sinfo)
    places = cast("list[Any]", list(indices)) if isinstance(indices, tuple | list) else [indices]
    if not all(isinstance(i, int) for i in places):
        raise site.error("inplace_indices must be integers", found=describe(indices))
    return p.emit(
        relax.CallTIRInplaceOp(name, values, cast("list[int]", places), result, _tir_vars(p, site, tir_vars)), site.node
    )


def call_prim_func(p: RelaxEvaluator, site: CallSite, name: str, args: Sequence[Any]) -> SSAValue | None:
    """`cls.f(x, y)` of a tensor function, which writes into its arguments; None where it takes another number."""
    values = [p.value(a, site.node) for a in args]
    variables = None
    if values and isinstance(values[-1].type, ShapeType):
        variables = _tir_vars(p, site, values.pop())
    if p.module.parameter_count(name) not in (None, len(values) + len(variables or ())):
        return None
    dims = None if variables is None else dims_attr(variables)
    scalar = p.module.scalar_result(name)
    result = tuple_type([]) if scalar is None else relax.PrimType.of(scalar)
    return p.emit(relax.CallOp(name, values, result, dims), site.node)


def _call_tir_dyn(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    """`R.vm.call_tir_dyn(cls.f, (x, y, R.shape([n])))`: a tensor function whose last parameters are scalars."""
    gvar, args = site.bind("func args")
    result = call_prim_func(p, site, _callee(p, site, gvar), _call_args(p, site, args))
    if result is None:
        raise site.error("the function has another number of parameters")
    return result


def _invoke_closure(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    """`R.invoke_closure(f, (x,), sinfo_args=…)` is `f(x)`, of the struct info that is given."""
    closure, args, sinfo = site.bind("closure args sinfo_args=")
    kwargs = {} if sinfo is None else {"sinfo_args": sinfo}
    values = _call_args(p, site, args)
    return p.call_value(closure, replace(site, args=values, kwargs=kwargs))


def _make_closure(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    """`R.make_closure(cls.f, (x,))`: a local function that calls f with what it is given and then x."""
    func, args = site.bind("func args")
    name, last = _callee(p, site, func), _call_args(p, site, args)
    t = p.module.callable_type(name)
    if not last or t is None or not isinstance(t.params, ArrayAttr):
        return p.value(GlobalRef(name), site.node)
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


def _call_dps_packed(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    func, args, sinfo = site.bind("func args out_sinfo")
    if isinstance(func, SSAValue) and isinstance(func.owner, relax.ExternFuncOp):
        func = func.owner.global_symbol.data
    if not isinstance(func, str):
        raise site.error("the first argument must be the name of a packed function", found=describe(func))
    values = _call_args(p, site, args)
    return p.emit(relax.CallDPSPackedOp(func, values, _out_sinfo(p, site, sinfo, any_dtype=True)), site.node)


def _packed(
    cls: type[relax.CallPackedOp] | type[relax.CallPurePackedOp] | type[relax.CallInplacePackedOp],
) -> Builder:
    def build(p: RelaxEvaluator, site: CallSite) -> SSAValue:
        if not site.args:
            raise site.error("the name of the packed function is missing")
        func, *rest = site.args
        if isinstance(func, SSAValue) and isinstance(func.owner, relax.ExternFuncOp):
            func = func.owner.global_symbol.data
        if not isinstance(func, str):
            raise site.error("the first argument must be the name of a packed function", found=describe(func))
        attrs = dict(site.kwargs)
        sinfo = attrs.pop("sinfo_args", None)
        values = [p.value(a, site.node) for a in rest]
        attributes = attribute_dict(p.source, site.node, attrs) if attrs else None
        call = cls(func, values, sinfo_of(p, site, sinfo), attributes)
        call.several = isinstance(sinfo, tuple | list) and len(cast("list[Any]", sinfo)) > 1
        return p.emit(call, site.node)

    return build


def _call_builtin_with_ctx(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    func, args, sinfo = site.bind("func args sinfo_args=")
    if not isinstance(func, str):
        raise site.error("the first argument must be the name of a packed function", found=describe(func))
    values = _call_args(p, site, args)
    return p.emit(relax.CallBuiltinWithCtxOp(func, values, sinfo_of(p, site, sinfo)), site.node)


def sinfo_of(p: RelaxEvaluator, site: CallSite, value: Any) -> Attribute:
    """The struct info of `sinfo_args`: an object where it is absent, a tuple where there are several."""
    if value is None:
        return OBJECT
    items = cast("list[Any]", list(value)) if isinstance(value, tuple | list) else [value]
    types = [p.as_struct_info(v, site.node) for v in items]
    return types[0] if len(types) == 1 else tuple_type(types) if types else OBJECT


def _match_cast(p: RelaxEvaluator, site: CallSite) -> SSAValue:
    value, sinfo = site.bind("value struct_info")
    given, wanted = p.value(value, site.node), p.as_struct_info(sinfo, site.node)
    op = relax.MatchCastOp(given, wanted)
    try:
        op.verify_()
    except VerifyException:
        raise site.error("this can never hold", expected=wanted, found=given.type) from None
    return p.emit(op, site.node)


# Operators


def _call(p: RelaxEvaluator, site: CallSite) -> Any:
    """`relax.Call(op, [x, y], attrs)`: of an operator, by its name or as a captured one."""
    op, args, attrs = site.bind("op args attrs=")
    given = OPERATORS.get(op) if isinstance(op, str) else op
    if not isinstance(given, type) or not issubclass(given, Operator):
        raise site.error("an operator is called so", expected="a captured Op or its name", found=describe(op))
    if not isinstance(args, tuple | list):
        raise site.error("the arguments are a list", found=describe(args))
    return call_operator(p, given.name, list(args), dict(attrs or {}), site)


def call_operator(
    p: RelaxEvaluator, name: str, args: Sequence[Any], kwargs: dict[str, Any], site: CallSite
) -> SSAValue:
    """Build the operator `name` of positional and named arguments: operands first, then attributes, in their order."""
    cls = OPERATORS[name]
    fields = cls.parameters()
    if len(args) > len(fields) and not cls.SPREAD:
        raise site.error("too many arguments", expected=f"at most {len(fields)}: {', '.join(fields)}", found=len(args))
    given = {fields[n]: a for n, a in zip(fields, cls.gathered(args), strict=False)}
    for key, value in kwargs.items():
        if key not in fields:
            raise site.error(f"no argument is called '{key}'", expected=", ".join(fields), hint=suggestion(key, fields))
        if fields[key] in given:
            raise site.error(f"argument '{key}' is given twice")
        given[fields[key]] = value
    given = cls.completed(given)
    adapter = _ADAPTERS.get(name)
    if adapter is not None:
        adapter(p, given, site)
    values = [_operand(p, cls, mark, given.get(mark.rstrip("*?")), site) for mark in cls.ARG_NAMES]
    attrs = {n: _attribute(p, cls, n, given[n], site) for n in cls.ATTR_SPECS if n in given}
    return p.emit(cls.make(*values, **attrs), site.node)


def _operand(p: RelaxEvaluator, cls: type[relax.Operator], mark: str, value: Any, site: CallSite) -> Any:
    if value is None:
        return None
    if value is NOTHING:
        return p.value((), site.node)
    if "*" in mark:
        if isinstance(value, SSAValue):
            return [value]
        items = cast("list[Any]", list(value)) if isinstance(value, tuple | list) else [value]
        return [p.value(v, site.node) for v in items]
    if mark == "dtype" and isinstance(value, str):
        return _dtype_value(p, site, value)
    if isinstance(value, tuple | list) and mark.startswith(("shape", "size", "strides", "begin", "end")):
        return p.emit(relax.ShapeOp(p.dims(value, site.node)), site.node)
    if isinstance(value, bool) and cls.is_flag(mark.rstrip("?")):
        value = int(value)
    return p.value(value, site.node)


def _attribute(p: RelaxEvaluator, cls: type[relax.Operator], name: str, value: Any, site: CallSite) -> Any:
    if cls.ATTR_SPECS[name].kind is Kind.DTYPE:
        return p.dtype(value, site.node)
    if isinstance(value, OpResult) and isinstance(value.op, relax.StringOp):
        return _taken_string(value.op)
    if isinstance(value := p.index_mapping(value), IndexMapping):
        return IndexMapAttr(value)
    if isinstance(value, OpResult) and isinstance(value.op, relax.PrimValueOp):
        value = _taken_number(value.op)
    value = plain_value(value)
    if name == "dst_vdevice" and cls.ATTR_SPECS[name].kind is not Kind.DEVICE:
        device = p.device_of(value)
        if device is not None:
            return device
    if name in ("axis", "axes") and isinstance(value, int) and _takes_axes(cls):
        return [value]
    if isinstance(value, tuple | list):
        return [plain_value(v) for v in cast("list[Any]", value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise site.error(f"attribute '{name}' must be a constant", found=describe(value))


def _taken_string(op: relax.StringOp) -> str:
    """The text of `R.str("…")` that was written for an attribute: the op itself goes where nothing else uses it."""
    value = op.value.data
    _drop_unused(op)
    return value


def _taken_number(op: relax.PrimValueOp) -> Any:
    """The number of `R.prim_value(…)` that was written for an attribute."""
    value = op.value.value.data if isinstance(op.value, FloatAttr) else op.value.data
    _drop_unused(op)
    return value


def _drop_unused(op: relax.StringOp | relax.PrimValueOp) -> None:
    if op.result.first_use is None and name_of(op.result) is None:
        op.detach()
        op.erase()


_LISTS = ("relax.permute_dims", "relax.expand_dims", "relax.squeeze", "relax.nn.layer_norm", "relax.nn.rms_norm")


def _takes_axes(cls: type[relax.Operator]) -> bool:
    """Whether one axis stands for a list of one."""
    is_arg = cls.name in ("relax.argmax", "relax.argmin")
    return (issubclass(cls, ReduceOp) and not is_arg) or cls.name in _LISTS


def _reshape(p: RelaxEvaluator, given: dict[str, Any], site: CallSite) -> None:
    """Replace the -1 of a shape by what is left, and a 0 by the extent of x there."""
    shape, x = given.get("shape"), given.get("x")
    if isinstance(shape, int):
        shape = given["shape"] = (shape,)
    if not isinstance(shape, tuple | list):
        return
    source = x.type.dims if isinstance(x, SSAValue) and isinstance(x.type, TensorType) else None
    items = given["shape"] = kept_extents(source, cast("Sequence[Any]", shape))
    if -1 not in [v for v in items if isinstance(v, int)]:
        return
    known = [p.dim(v, site.node) for v in items if v != -1]
    t = x.type if isinstance(x, SSAValue) else None
    if len(known) != len(items) - 1 or not isinstance(t, TensorType) or t.dims is None:
        raise site.error("one dimension may be -1, where the shape of x is known")
    total, part = sym_product(t.dims), sym_product(known)
    rest = fold_symbolic("floordiv", total, part) if part.constant != 0 else None
    if rest is None or (part.constant is not None and total.constant is not None and total.constant % part.constant):
        raise site.error("the elements do not fill the shape", expected=f"a multiple of {part}", found=total)
    given["shape"] = [rest if v == -1 else v for v in items]


def _full(p: RelaxEvaluator, given: dict[str, Any], site: CallSite) -> None:
    """`fill_value` may be a number."""
    fill = given.get("fill_value")
    if isinstance(fill, int | float | Imm):
        dtype = fill.dtype if isinstance(fill, Imm) else p.dtype(given.get("dtype"), site.node)
        given["fill_value"] = p.emit(constant_of(p, site, fill, dtype), site.node)


def _arrays(name: str) -> Callable[[RelaxEvaluator, dict[str, Any], CallSite], None]:
    """The operand `name` may be one value instead of a tuple of values."""

    def adapt(p: RelaxEvaluator, given: dict[str, Any], site: CallSite) -> None:
        value = given.get(name)
        if isinstance(value, SSAValue) and not isinstance(value.type, TupleType):
            given[name] = [value]

    return adapt


_ADAPTERS: dict[str, Callable[[RelaxEvaluator, dict[str, Any], CallSite], None]] = {
    "relax.reshape": _reshape,
    "relax.full": _full,
    "relax.full_like": _full,
    "relax.concat": _arrays("xs"),
}

BINARY_OPERATORS = {
    "add": "relax.add",
    "sub": "relax.subtract",
    "mul": "relax.multiply",
    "div": "relax.divide",
    "floordiv": "relax.floor_divide",
    "floormod": "relax.floor_mod",
    "pow": "relax.power",
    "lt": "relax.less",
    "le": "relax.less_equal",
    "gt": "relax.greater",
    "ge": "relax.greater_equal",
    "eq": "relax.equal",
    "ne": "relax.not_equal",
    "matmul": "relax.matmul",
    "bitwise_and": "relax.bitwise_and",
    "bitwise_or": "relax.bitwise_or",
    "bitwise_xor": "relax.bitwise_xor",
    "shift_left": "relax.left_shift",
    "shift_right": "relax.right_shift",
}
"""Python's operators on tensors."""

CALLS: dict[str, Builder] = {
    "Call": _call,
    "const": const,
    "ShapeExpr": _shape,
    "shape": _shape,
    "prim_value": _prim_value,
    "str": _string,
    "dtype": _dtype,
    "null_value": _null_value,
    "ExternFunc": _extern,
    "extern": _extern,
    "device": _device,
    "tuple": _tuple,
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
"""What of `R` is no operator, by name."""


def call_relax(p: RelaxEvaluator, target: Ref, site: CallSite) -> Any:
    """A call of `R.<name>`."""
    builder = CALLS.get(target.path) or p.statements.get(target.path)
    if builder is not None:
        return builder(p, site)
    struct_info = STRUCT_INFO_CALLS.get(target.path)
    if struct_info is not None:
        return struct_info(p, site)
    declared = issubclass(OPERATORS.get(target.path, Operator), RegisteredOperator)
    name = target.path if declared else f"relax.{target.path}"
    if name in COMPOSITES:
        return expand(name, lambda n, *a, **k: call_operator(p, n, a, k, site), site.args, site.kwargs)
    if name not in OPERATORS:
        operators = (n.removeprefix("relax.") for n in (*OPERATORS, *COMPOSITES))
        known = [*CALLS, *STRUCT_INFO_CALLS, *p.statements, *operators]
        raise p.error(site.node, f"R has no '{target.path}'", hint=suggestion(target.path, known))
    return call_operator(p, name, site.args, site.kwargs, site)


def scalar_like(p: RelaxEvaluator, value: Any, like: SSAValue, site: CallSite) -> SSAValue:
    """A number beside a tensor: a constant of the tensor's dtype."""
    element = like.type.element if isinstance(like.type, TensorType) else None
    number = plain_value(value)
    if element is not None and isinstance(number, float) and not is_float(element):
        element = f32
    return p.emit(constant_of(p, site, number, element), site.node)


def prim_attr(value: Any) -> SymExpr | FloatAttr | None:
    """The contents of a prim value; None for what is no number."""
    if isinstance(value, Imm) and isinstance(value.value, float):
        return float_attr(value.value, value.dtype)
    if isinstance(value, bool):
        return Const(int(value), i1)
    if isinstance(value, Imm) and value.dtype == i1:
        return Const(int(value.value), i1)
    if isinstance(value, float):
        return FloatAttr(value, f64)
    return as_sym(value)


__all__ = ["BINARY_OPERATORS", "TensorDataAttr", "call_operator", "call_relax", "prim_attr", "scalar_like", "sinfo_of"]
