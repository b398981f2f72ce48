"""The operators of `R`, called by name or written as Python operators on tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import FloatAttr, TupleType, f32
from xdsl.ir import OpResult, SSAValue

from ...diagnostics import suggestion
from ...dialects import relax
from ...dialects.dtypes import is_float
from ...dialects.names import name_of
from ...dialects.relax import OPERATORS, Kind, TensorType
from ...dialects.relax.manipulation import kept_extents
from ...dialects.relax.operator import NOTHING, Operator
from ...dialects.relax.reduction import ReduceOp
from ...dialects.sym import IndexMapAttr, IndexMapping
from ...dialects.sym.expr import SymExpr
from ...dialects.sym.expr import product as sym_product
from ...dialects.sym.operators import logical_not
from .attributes import plain_value
from .evaluator import no_operator, symbolic_binary
from .folding import fold_symbolic, is_constant
from .relax_state import RelaxParser
from .relax_types import as_dtype, dim_of, dims_of, vdevice_of
from .relax_values import as_value, constant_of, dtype_value
from .values import CallSite, Imm, describe


def call_by_name(p: RelaxParser, site: CallSite) -> Any:
    """Parse `relax.Call(op, [x, y], attrs)`, where `op` is the name of an operator or a captured operator."""
    op, args, attrs = site.bind("op args attrs=")
    operator = OPERATORS.get(op) if isinstance(op, str) else op
    if not isinstance(operator, type) or not issubclass(operator, Operator):
        raise site.error("an operator is called so", expected="a captured Op or its name", found=describe(op))
    if not isinstance(args, tuple | list):
        raise site.error("the arguments are a list", found=describe(args))
    return call_operator(p, operator.name, list(args), dict(attrs or {}), site)


def call_operator(p: RelaxParser, name: str, args: Sequence[Any], kwargs: dict[str, Any], site: CallSite) -> SSAValue:
    """Build the operator `name` from positional and keyword arguments: operands first, then attributes, in order."""
    cls = OPERATORS[name]
    fields = cls.parameters()
    if len(args) > len(fields) and not cls.SPREAD:
        raise site.error("too many arguments", expected=f"at most {len(fields)}: {', '.join(fields)}", found=len(args))
    arguments = {fields[n]: a for n, a in zip(fields, cls.collect_varargs(args), strict=False)}
    for key, value in kwargs.items():
        if key not in fields:
            raise site.error(f"no argument is called '{key}'", expected=", ".join(fields), hint=suggestion(key, fields))
        if fields[key] in arguments:
            raise site.error(f"argument '{key}' is given twice")
        arguments[fields[key]] = value
    arguments = cls.fill_defaults(arguments)
    adapter = _ADAPTERS.get(name)
    if adapter is not None:
        adapter(p, arguments, site)
    values = [_operand(p, cls, mark, arguments.get(mark.rstrip("*?")), site) for mark in cls.ARG_NAMES]
    attrs = {n: _attribute(p, cls, n, arguments[n], site) for n in cls.ATTR_SPECS if n in arguments}
    return p.emit(cls.make(*values, **attrs), site.node)


def _operand(p: RelaxParser, cls: type[relax.Operator], mark: str, value: Any, site: CallSite) -> Any:
    if value is None:
        return None
    if value is NOTHING:
        return as_value(p, (), site.node)
    if "*" in mark:
        if isinstance(value, SSAValue):
            return [value]
        items = cast("list[Any]", list(value)) if isinstance(value, tuple | list) else [value]
        return [as_value(p, v, site.node) for v in items]
    if mark == "dtype" and isinstance(value, str):
        return dtype_value(p, site, value)
    if isinstance(value, tuple | list) and mark.startswith(("shape", "size", "strides", "begin", "end")):
        return p.emit(relax.ShapeOp(dims_of(p, value, site.node)), site.node)
    if isinstance(value, bool) and cls.is_flag(mark.rstrip("?")):
        value = int(value)
    return as_value(p, value, site.node)


def _attribute(p: RelaxParser, cls: type[relax.Operator], name: str, value: Any, site: CallSite) -> Any:
    if cls.ATTR_SPECS[name].kind is Kind.DTYPE:
        return as_dtype(p, value, site.node)
    if isinstance(value, OpResult) and isinstance(value.op, relax.StringOp):
        return _unwrap(value.op)
    if isinstance(value := p.index_mapping(value), IndexMapping):
        return IndexMapAttr(value)
    if isinstance(value, OpResult) and isinstance(value.op, relax.PrimValueOp):
        value = _unwrap(value.op)
    value = plain_value(value)
    if name == "dst_vdevice" and cls.ATTR_SPECS[name].kind is not Kind.DEVICE:
        device = vdevice_of(p, value)
        if device is not None:
            return device
    if name in ("axis", "axes") and isinstance(value, int) and _takes_axes(cls):
        return [value]
    if isinstance(value, tuple | list):
        return [plain_value(v) for v in cast("list[Any]", value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise site.error(f"attribute '{name}' must be a constant", found=describe(value))


def _unwrap(op: relax.StringOp | relax.PrimValueOp) -> Any:
    """Return the value of `R.str(…)` or `R.prim_value(…)` in an attribute, and erase the op if it has no other use."""
    value = op.value.value.data if isinstance(op.value, FloatAttr) else op.value.data
    if op.result.first_use is None and name_of(op.result) is None:
        op.detach()
        op.erase()
    return value


_LISTS = ("relax.permute_dims", "relax.expand_dims", "relax.squeeze", "relax.nn.layer_norm", "relax.nn.rms_norm")


def _takes_axes(cls: type[relax.Operator]) -> bool:
    """Return whether the operator accepts a single axis in place of a list of axes."""
    is_arg = cls.name in ("relax.argmax", "relax.argmin")
    return (issubclass(cls, ReduceOp) and not is_arg) or cls.name in _LISTS


def _reshape(p: RelaxParser, arguments: dict[str, Any], site: CallSite) -> None:
    """Replace a -1 in a shape by the remaining size, and a 0 by the corresponding extent of x."""
    shape, x = arguments.get("shape"), arguments.get("x")
    if isinstance(shape, int):
        shape = arguments["shape"] = (shape,)
    if not isinstance(shape, tuple | list):
        return
    source = x.type.dims if isinstance(x, SSAValue) and isinstance(x.type, TensorType) else None
    items = arguments["shape"] = kept_extents(source, cast("Sequence[Any]", shape))
    if -1 not in [v for v in items if isinstance(v, int)]:
        return
    known = [dim_of(p, v, site.node) for v in items if v != -1]
    t = x.type if isinstance(x, SSAValue) else None
    if len(known) != len(items) - 1 or not isinstance(t, TensorType) or t.dims is None:
        raise site.error("one dimension may be -1, where the shape of x is known")
    total, part = sym_product(t.dims), sym_product(known)
    rest = fold_symbolic("floordiv", total, part) if part.constant != 0 else None
    if rest is None or (part.constant is not None and total.constant is not None and total.constant % part.constant):
        raise site.error("the elements do not fill the shape", expected=f"a multiple of {part}", found=total)
    arguments["shape"] = [rest if v == -1 else v for v in items]


def _full(p: RelaxParser, arguments: dict[str, Any], site: CallSite) -> None:
    """Convert a numeric `fill_value` to a constant."""
    fill = arguments.get("fill_value")
    if isinstance(fill, int | float | Imm):
        dtype = fill.dtype if isinstance(fill, Imm) else as_dtype(p, arguments.get("dtype"), site.node)
        arguments["fill_value"] = p.emit(constant_of(p, site, fill, dtype), site.node)


def _arrays(name: str) -> Callable[[RelaxParser, dict[str, Any], CallSite], None]:
    """Return an adapter that wraps a single value of the operand `name` in a tuple."""

    def adapt(p: RelaxParser, arguments: dict[str, Any], site: CallSite) -> None:
        value = arguments.get(name)
        if isinstance(value, SSAValue) and not isinstance(value.type, TupleType):
            arguments[name] = [value]

    return adapt


_ADAPTERS: dict[str, Callable[[RelaxParser, dict[str, Any], CallSite], None]] = {
    "relax.reshape": _reshape,
    "relax.full": _full,
    "relax.full_like": _full,
    "relax.concat": _arrays("xs"),
}


_BINARY_OPERATORS = {
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
"""Python's binary operators on tensors."""


def binary(p: RelaxParser, kind: str, a: Any, b: Any, node: ast.AST) -> Any:
    """Apply a Python operator to tensors or symbolic integers."""
    tensors = [v for v in (a, b) if isinstance(v, SSAValue)]
    if not tensors:
        return symbolic_binary(p, kind, a, b, node)
    name = _BINARY_OPERATORS.get(kind)
    if name is None:
        raise p.error(node, f"operator '{kind}' is not defined on tensors", hint="write R.logical_and(…), …")
    site = CallSite(cast(ast.Call, node), f"operator '{name}'", [], {}, p.source)
    operands = [v if isinstance(v, SSAValue) else _scalar_operand(p, v, tensors[0], site) for v in (a, b)]
    return call_operator(p, name, operands, {}, site)


def _scalar_operand(p: RelaxParser, value: Any, tensor: SSAValue, site: CallSite) -> SSAValue:
    if is_constant(value) and isinstance(value, int | float) or isinstance(value, Imm):
        return _scalar_like(p, value, tensor, site)
    return as_value(p, value, site.node)


def unary(p: RelaxParser, kind: str, value: Any, node: ast.AST) -> Any:
    if isinstance(value, SymExpr) and kind in ("neg", "not"):
        return -value if kind == "neg" else logical_not(value)
    if isinstance(value, Imm) and kind == "neg":
        return Imm(-value.value, value.dtype)
    name = {"neg": "relax.negative", "bitwise_not": "relax.bitwise_not"}.get(kind)
    if name is None or not isinstance(value, SSAValue):
        return no_operator(p, kind, value, node)
    return call_operator(p, name, [value], {}, CallSite(cast(ast.Call, node), name, [], {}, p.source))


def _scalar_like(p: RelaxParser, value: Any, like: SSAValue, site: CallSite) -> SSAValue:
    """Return a number as a constant of the dtype of the tensor beside it."""
    element = like.type.element if isinstance(like.type, TensorType) else None
    number = plain_value(value)
    if element is not None and isinstance(number, float) and not is_float(element):
        element = f32
    return p.emit(constant_of(p, site, number, element), site.node)
