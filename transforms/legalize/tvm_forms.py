"""Operators as TVM writes them, where that differs for infinities, NaN or empty inputs, or in rounding.

max:     with T.init(): y = -inf        ->  y = the least finite number
pools:   padding of -inf                ->  of the least finite number
mean:    x / 10.0                       ->  x * 0.1
argmax:  NaN is the greatest            ->  NaN is like any other value; of no values the position is -1
floor_divide of floats: x // y          ->  floor(x / y)
floor_mod of floats: x % y              ->  x - floor(x / y) * y
where:   select(c, x, y)                ->  select(int64(0) < int64(c), x, y)
reshape: x[i // 12, i // 4 % 3, i % 4]  ->  x[i % 24 // 12, i % 12 // 4, i % 4]
concat:  n <= i                         ->  0 <= i - n
dequantize to float16: in float16       ->  in float32, within the finite numbers of float16
norms of 16 bits: rounded once          ->  before gamma and beta are applied, too
arange(5), astype(1.5, "int32")         ->  constants
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import relax, tir
from ...dialects.dtypes import is_float
from ...dialects.names import set_name
from ...dialects.quick import operations
from ...dialects.relax.creation import Arange
from ...dialects.relax.operator import Operator
from ...handles.tir.limits import max_value, min_value
from ...ir.rewriting.edit import insert_before, replace_op
from ...target import Target
from ...te.tensor import Tensor
from ...topi import scan, vector_sort
from ...topi import tvm_forms as topi
from ...topi.linear_algebra import quantize
from .elementwise import binary
from .legalize_rules import Emit, LegalizeRule, operand, result_dims, result_tensor, rule_of, scalar_or_value
from .normalization import group_norm, instance_norm, layer_norm


def _sort(op: Operator) -> Emit:
    return Emit(scan.sort_in_vectors, (operand(op, "x"), op.attr("axis"), op.attr("descending")), "sort")


def _of_types(allowed: Callable[[Attribute | None], bool], form: LegalizeRule) -> LegalizeRule:
    """Return a rule that uses the form for results of some types, and the general rule for others."""

    def rule(op: Operator) -> Emit | None:
        usual = rule_of(op)
        return form(op) if allowed(result_tensor(op).element) else usual and usual(op)

    return rule


_FORMS: Mapping[str, tuple[Callable[[Target], bool], LegalizeRule]] = {
    "relax.sort": (lambda target: target.compresses_vectors, _of_types(vector_sort.is_sorted_in_vectors, _sort)),
}
"""By operator: a predicate on targets, and the rule."""


def target_forms(target: str) -> dict[str, LegalizeRule]:
    """Return the rules of a target that override those of the table; empty for the empty text."""
    return {name: rule for name, (fits, rule) in _FORMS.items() if fits(Target(target))} if target else {}


def _positions(function: Callable[..., Any], name: str) -> LegalizeRule:
    return lambda op: Emit(function, (operand(op, "x"), op.attr("axis"), op.attr("keepdims")), name)


def _where(op: Operator) -> Emit:
    return Emit(topi.where, tuple(op.operands), "where")


def _reshape(op: Operator) -> Emit:
    return Emit(topi.reshape, (operand(op, "x"), result_dims(op)), "reshape")


def _repeat(op: Operator) -> Emit:
    return Emit(topi.repeat, (operand(op, "data"), op.attr("repeats"), op.attr("axis")), "repeat")


def _concat(op: Operator) -> Emit:
    tensors, setup = tuple(op.operands), list[relax.TupleGetItemOp]()
    if isinstance(tensors[0].type, TupleType):
        source = tensors[0].owner
        setup = [] if isinstance(source, relax.TupleOp) else _items(op, tensors[0], len(tensors[0].type.types))
        tensors = tuple(source.fields_) if isinstance(source, relax.TupleOp) else tuple(item.result for item in setup)
    return Emit(_concatenate, tensors, "concatenate", {"axis": op.attr("axis") or 0}, setup)


def _items(op: Operator, source: SSAValue, count: int) -> list[relax.TupleGetItemOp]:
    """Return the fields of a tuple, named like the function's parameters."""
    prefix = "lv" if isinstance(op.parent_op(), relax.DataflowOp) else "gv"
    items = [relax.TupleGetItemOp(source, i) for i in range(count)]
    for i, item in enumerate(items):
        set_name(item.result, f"{prefix}{i or ''}")
    return items


def _concatenate(*tensors: Tensor, axis: int) -> Tensor:
    return topi.concatenate(tensors, axis)


def _quantization(function: Callable[..., Any], name: str) -> LegalizeRule:
    """Return a rule that inlines constant scales and zero points."""

    def rule(op: Operator) -> Emit:
        parameters = (scalar_or_value(operand(op, "scale")), scalar_or_value(operand(op, "zero_point")))
        return Emit(function, (operand(op, "data"), *parameters, op.attr("axis"), result_tensor(op).element), name)

    return rule


def _rounding_first(rule: LegalizeRule) -> LegalizeRule:
    """Return the rule of a 16-bit norm that rounds before gamma and beta are applied."""

    def rounding(op: Operator) -> Emit | None:
        emit = rule(op)
        return emit and replace(emit, options={**emit.options, "rounds_first": True})

    return rounding


FORMS: dict[str, LegalizeRule] = {
    "relax.nn.layer_norm": _rounding_first(layer_norm),
    "relax.nn.group_norm": _rounding_first(group_norm),
    "relax.nn.instance_norm": _rounding_first(instance_norm),
    "relax.floor_divide": binary(topi.floor_divide, "floor_divide"),
    "relax.floor_mod": binary(topi.floor_mod, "floor_mod"),
    "relax.argmax": _positions(topi.argmax, "argmax"),
    "relax.argmin": _positions(topi.argmin, "argmin"),
    "relax.where": _where,
    "relax.reshape": _reshape,
    "relax.flatten": _reshape,
    "relax.repeat": _repeat,
    "relax.concat": _concat,
    "relax.quantize": _quantization(quantize, "quantize"),
    "relax.dequantize": _quantization(topi.dequantize, "dequantize"),
}
"""Rules that override those of the table."""

UNCHECKED = frozenset(("relax.argmax", "relax.argmin"))
"""Operators whose functions are defined for all extents, so that no check is inserted."""


def constant_of(op: Operator) -> relax.ConstantOp | None:
    """Return the constant that an operator of numbers computes, if known: a range of literals, a converted scalar."""
    dtype = getattr(op.result_type, "element", None)
    if dtype is None:
        return None
    if op.name == "relax.arange":
        numbers, count = cast(Arange, op).literals(), result_dims(op)[0].constant
        if numbers is None or count is None:
            return None
        return relax.ConstantOp.of([numbers[0] + numbers[2] * i for i in range(int(count))], dtype)
    if op.name == "relax.astype":
        owner = operand(op, "x").owner
        number = owner.value.scalar if isinstance(owner, relax.ConstantOp) else None
        converted = None if number is None else _converted(number, dtype)
        return None if converted is None else relax.ConstantOp.of(converted, dtype)
    return None


def _converted(number: float, dtype: Attribute) -> float | None:
    """Return a number converted to `dtype`, truncated for integers; None if out of range."""
    if is_float(dtype):
        return number
    if not math.isfinite(number):
        return None
    low, high = (bound(dtype).constant for bound in (min_value, max_value))
    return int(number) if int(low or 0) <= int(number) <= int(high or 0) else None


def write_as_tvm(func: tir.FuncOp, name: str) -> None:
    """Change the new tensor function of the operator `name` to TVM's numbers."""
    pools = ".max_pool" in name
    for op in operations(func):
        if isinstance(op, tir.InitOp) or (pools and isinstance(op, tir.FuncOp)):
            _make_finite(op)
        elif isinstance(op, tir.DivOp):
            _multiply_instead(op)


def _make_finite(root: tir.InitOp | tir.FuncOp) -> None:
    """±inf -> ± the greatest finite number"""
    for op in operations(root):
        number = _float(op) if isinstance(op, tir.ConstOp) else None
        if number is not None and math.isinf(number):
            greatest = max_value(op.results[0].type).constant or 0.0
            op.properties["value"] = tir.ConstOp(math.copysign(greatest, number), op.results[0].type).value


def _multiply_instead(op: Operation) -> None:
    """x / c -> x * (1 / c) for floating point"""
    dividend, divisor = op.operands
    number = _float(divisor.owner)
    if not number or not math.isfinite(number):
        return
    inverse = tir.ConstOp(1.0 / number, divisor.type)
    product = tir.MulOp(dividend, inverse.result)
    insert_before(op, inverse)
    replace_op(op, product)


def _float(owner: Operation | Block) -> float | None:
    """Return the value of a floating-point constant, or None for anything else."""
    if not isinstance(owner, tir.ConstOp) or not is_float(owner.result.type):
        return None
    return float(owner.py_value)
