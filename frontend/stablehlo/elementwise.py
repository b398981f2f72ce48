"""Elementwise operations on tensors: operators of Relax where there are, else kernels of the scalars' formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import NARROW, is_float
from ...handles.relax.expr import Expr, const
from ...handles.tir.prim_expr import PrimExpr
from ...te.tensor import Tensor, compute
from ...topi import bessel, gamma
from ...topi.per_element import per_element
from ..importing.relax_operators import R
from .bodies import constant, element
from .complex_numbers import Complex, Scalar
from .graph import Graph, dims_of, rule
from .numbers import folded
from .scalars import SCALARS, integer_power
from .values import Dims, Pair, Splat, Value, element_of, is_complex

_FLOATS: dict[str, Callable[..., Any]] = {
    "add": R.add, "subtract": R.subtract, "multiply": R.multiply, "divide": R.divide, "maximum": R.maximum,
    "minimum": R.minimum, "power": R.power, "exponential": R.exp, "log": R.log, "tanh": R.tanh, "sqrt": R.sqrt,
    "rsqrt": R.rsqrt, "logistic": R.sigmoid, "sine": R.sin, "cosine": R.cos, "floor": R.floor, "ceil": R.ceil,
    "abs": R.abs, "negate": R.negative, "erf": R.erf,
}  # fmt: skip
"""Operators of Relax with the same meaning, which passes know."""
_INTEGERS: dict[str, Callable[..., Any]] = {"add": R.add, "subtract": R.subtract, "multiply": R.multiply}


def _operator(op: Operation, dtype: Attribute) -> Callable[..., Any] | None:
    name = op.name.partition(".")[2].removeprefix("broadcast_")
    if dtype in NARROW:
        return None
    if is_float(dtype):
        return _FLOATS.get(name)
    return _INTEGERS.get(name) if isinstance(dtype, IntegerType) and dtype != i1 else None


def elementwise(graph: Graph, op: Operation) -> None:
    """Convert an elementwise operation."""
    known = folded(graph, op)
    if known is not None:
        graph.set(op, known)
        return
    if any(is_complex(v) for v in (*op.operands, *op.results)):
        graph.set(op, _kernels(graph, op))
        return
    if op.name.endswith("power") and isinstance(element_of(op.results[0]), IntegerType):
        power = per_element("power", integer_power, wide=None)
        graph.set(op, graph.one("power", power, *(graph.tensor(v) for v in op.operands)))
        return
    function = _operator(op, element_of(op.operands[-1], op))
    if function is not None and any(_number(graph, v) is None for v in op.operands):
        dims = result_dims(graph, op.operands)
        result = graph.emit(function(*(_operand(graph, v, dims) for v in op.operands)))
        graph.set(op, result)
    elif op.name == "stablehlo.convert" and _is_plain_cast(op):
        graph.set(op, graph.cast(graph.tensor(op.operands[0]), element_of(op.results[0])))
    else:
        graph.set(op, _kernels(graph, op))


def _is_plain_cast(op: Operation) -> bool:
    source, target = element_of(op.operands[0]), element_of(op.results[0])
    return target != i1 and (is_float(target) or not is_float(source))


def _number(graph: Graph, value: SSAValue) -> bool | int | float | None:
    return graph.number(value)


def _operand(graph: Graph, value: SSAValue, dims: Dims) -> Expr:
    """Return a tensor of these sizes, or a number as a scalar that is broadcast."""
    number = graph.number(value)
    return graph.matched(graph.tensor(value), dims) if number is None else const(number, element_of(value))


def _kernels(graph: Graph, op: Operation) -> Value:
    """Return the result of a kernel, or of two for complex numbers."""
    if op.name not in SCALARS and not any(is_complex(v) for v in (*op.operands, *op.results)):
        raise UnsupportedError(f"'{op.name}' of {op.operands[0].type}")
    dims = result_dims(graph, op.operands)
    tensors, places = _inputs(graph, op.operands, dims)

    def value(given: Sequence[Tensor], i: Sequence[PrimExpr]) -> Scalar:
        args: list[Scalar] = []
        for place in places:
            parts = [p if isinstance(p, PrimExpr) else _at(given[p], i) for p in place]
            args.append(Complex(*parts) if len(parts) == 2 else parts[0])
        result = element(op, args)
        return result.astype(kind) if kind in NARROW and isinstance(result, PrimExpr) else result

    kind = element_of(op.results[0])
    name = op.name.partition(".")[2]
    if not is_complex(op.results[0]):
        return graph.one(name, lambda *ts: compute(list(dims), lambda *i: value(ts, i), name), *tensors)
    parts = [
        graph.one(name, lambda *ts, k=k: compute(list(dims), lambda *i: value(ts, i)[k], name), *tensors)  # type: ignore[index]
        for k in (0, 1)
    ]
    return Pair(*parts)


def _at(tensor: Tensor, i: Sequence[PrimExpr]) -> PrimExpr:
    return tensor(*i) if tensor.ndim else tensor()


def _inputs(graph: Graph, values: Sequence[SSAValue], dims: Dims) -> tuple[list[Expr], list[list[int | PrimExpr]]]:
    """Return the tensors that values are read from, and where each part of each value is, or its number."""
    tensors: list[Expr] = []
    places: list[list[int | PrimExpr]] = []
    for value in values:
        number = graph.number(value)
        if number is not None:
            places.append([constant(number, element_of(value))])
            continue
        place: list[int | PrimExpr] = []
        for part in graph.parts(value):
            if len(dims_of(part)) == len(dims):
                part = graph.matched(part, dims)
            place.append(len(tensors))
            tensors.append(part)
        places.append(place)
    return tensors, places


def result_dims(graph: Graph, values: Sequence[SSAValue]) -> Dims:
    """Return the sizes that elementwise operands have; a known one is better than a symbolic one."""
    shapes = [graph.dims(v) for v in values]
    rank = max(map(len, shapes))
    columns = zip(*(s for s in shapes if len(s) == rank), strict=True)
    return [next((d for d in column if d.constant is not None), column[0]) for column in columns]


@rule("stablehlo.real", "stablehlo.imag")
def part(graph: Graph, op: Operation) -> None:
    """Return one part of complex numbers."""
    known = graph.values[op.operands[0]]
    if isinstance(known, Pair):
        graph.set(op, known.re if op.name == "stablehlo.real" else known.im)
    elif op.name == "stablehlo.real":
        graph.set(op, known)
    else:
        graph.set(op, Splat(0.0, element_of(op.results[0]), graph.dims(op.operands[0])))


@rule("stablehlo.complex")
def complex_of(graph: Graph, op: Operation) -> None:
    """Pair two tensors."""
    graph.set(op, Pair(*(graph.tensor(v) for v in op.operands)))


@rule("chlo.constant_like")
def constant_like(graph: Graph, op: Operation) -> None:
    """Return a tensor of one number, of the sizes of another one."""
    value: Any = op.properties.get("value") or op.attributes["value"]
    graph.set(op, Splat(value.value.data, element_of(op.results[0]), graph.dims(op.operands[0])))


_FUNCTIONS: dict[str, Callable[..., Any]] = {"chlo.bessel_i1e": bessel.bessel_i1e, "chlo.zeta": gamma.zeta}


@rule(*_FUNCTIONS)
def special_function(graph: Graph, op: Operation) -> None:
    """Apply a function of topi."""
    graph.set(op, graph.one(op.name[5:], _FUNCTIONS[op.name], *(graph.tensor(v) for v in op.operands)))


@rule("chlo.polygamma")
def polygamma(graph: Graph, op: Operation) -> None:
    """Apply a derivative of digamma, whose order is a constant."""
    order = graph.number(op.operands[0])
    if order is None or order != int(order) or order < 0:
        raise UnsupportedError("polygamma of an order that is not known")
    x = graph.tensor(op.operands[1])
    result = R.digamma(x) if order == 0 else graph.one("polygamma", gamma.polygamma(int(order)), x)
    graph.set(op, graph.emit(result))


rule(*SCALARS)(elementwise)
