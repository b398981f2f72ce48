"""Quantized tensors: stored integers, and operations that are computed of what they stand for.

Products and convolutions are those of the integers, exactly; other operations are computed in floating point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.stablehlo import UniformType
from ...handles.relax.expr import Expr, const
from ...handles.tir import math_functions as m
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr
from ...te.tensor import Tensor, compute
from .graph import QUANTIZED, RULES, Graph, dims_of, dtype_of
from .narrow import delegate
from .scalars import SCALARS, number
from .values import Quantized, tensor_type


def _uniform(value: SSAValue | Attribute) -> UniformType | None:
    kind = tensor_type(value).element_type
    return kind if isinstance(kind, UniformType) else None


class Scales:
    """The scales and zero points of a type, as elements of kernels."""

    def __init__(self, type: UniformType):
        self.type = type
        self.axis = type.axis.data
        scales = [s.data for s in type.scales.data]
        zeros = [z.data for z in type.zero_points.data]
        self.tensors: list[Expr] = []
        if self.axis >= 0:
            self.tensors = [const(np.array(scales, "float32"), "float32"), const(np.array(zeros, "float32"), "float32")]
        self.scale, self.zero = scales[0], zeros[0]

    def at(self, tensors: Sequence[Tensor], i: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
        """Return the scale and the zero point at indices."""
        if self.axis < 0:
            return tx.const(self.scale, f32), tx.const(float(self.zero), f32)
        scale, zero = (t(i[self.axis]) for t in tensors)
        return scale, zero

    def bounds(self) -> tuple[float, float]:
        """Return the least and the greatest stored integer."""
        if self.type.bounds.data:
            low, high = (b.data for b in self.type.bounds.data)
            return low, high
        return tx.integer_range(self.type.stored)


def dequantized(graph: Graph, known: Quantized) -> Expr:
    """Return what stored integers stand for."""
    scales = Scales(known.type)

    def element(t: Tensor, rest: Sequence[Tensor], i: Sequence[PrimExpr]) -> PrimExpr:
        scale, zero = scales.at(rest, i)
        return (t(*i).astype(f32) - zero) * scale

    dims = list(dims_of(known.stored))
    result = graph.one(
        "dequantize",
        lambda t, *rest: compute(dims, lambda *i: element(t, rest, i), "dequantize"),
        known.stored,
        *scales.tensors,
    )
    return graph.cast(result, known.type.expressed)


def quantized(graph: Graph, x: Expr, type: UniformType) -> Quantized:
    """Return the stored integers of floats: rounded, halves to even ones, and kept within their range; NaN is 0."""
    scales = Scales(type)
    low, high = scales.bounds()

    def element(t: Tensor, rest: Sequence[Tensor], i: Sequence[PrimExpr]) -> PrimExpr:
        scale, zero = scales.at(rest, i)
        value = m.nearbyint(tx.div(t(*i).astype(f32), scale)) + zero
        kept = tx.minimum(tx.maximum(value, tx.const(float(low), f32)), tx.const(_below(high), f32))
        return tx.select(m.isnan(kept), number(0, f32), kept).astype(type.stored)

    dims = list(dims_of(x))
    result = graph.one(
        "quantize", lambda t, *rest: compute(dims, lambda *i: element(t, rest, i), "quantize"), x, *scales.tensors
    )
    return Quantized(result, type)


def _below(high: float) -> float:
    """Return the greatest float32 that is not greater."""
    value = np.float32(high)
    return float(value if value <= high else np.nextafter(value, np.float32(0)))


def floats_of(graph: Graph, value: SSAValue) -> Expr:
    """Return a value as floats."""
    known = graph.values[value]
    return dequantized(graph, known) if isinstance(known, Quantized) else graph.tensor(value)


def _delegated(
    graph: Graph, op: Operation, element: Callable[[UniformType], Attribute], values: Sequence[Expr]
) -> list[Expr]:
    """Convert the same operation on plain tensors."""
    plain = delegate(op, lambda kind: element(kind) if isinstance(kind, UniformType) else kind)
    graph.values |= dict(zip(plain.operands, values, strict=True))
    RULES[op.name](graph, plain)
    return [graph.tensor(r) for r in plain.results]


def _in_floats(graph: Graph, op: Operation) -> None:
    result = _delegated(graph, op, lambda t: t.expressed, [floats_of(graph, v) for v in op.operands])
    graph.set(op, *(_stored(graph, x, r) for x, r in zip(result, op.results, strict=True)))


def _stored(graph: Graph, x: Expr, result: SSAValue) -> Expr | Quantized:
    uniform = _uniform(result)
    return x if uniform is None else quantized(graph, x, uniform)


def _in_integers(graph: Graph, op: Operation) -> None:
    """Multiply and sum stored integers, less their zero points, exactly."""
    types = [_uniform(v) for v in (*op.operands[:2], *op.results)]
    if any(t is None or t.axis.data >= 0 for t in types):
        _in_floats(graph, op)
        return
    a, b, result = (t for t in types if t is not None)
    values = [_distances(graph, graph.values[v]) for v in op.operands[:2]]
    (sums,) = _delegated(graph, op, lambda t: i32, values)
    factor = a.scales.data[0].data * b.scales.data[0].data
    scale, zero = result.scales.data[0].data, result.zero_points.data[0].data
    if dtype_of(graph.parts(op.operands[0])[0]) != i32 and result.stored == i32 and abs(scale / factor - 1) < 1e-6:
        graph.set(op, Quantized(_moved(graph, sums, zero), result))
        return

    def element(t: Tensor, i: Sequence[PrimExpr]) -> PrimExpr:
        return t(*i).astype(f32) * tx.const(factor, f32)

    dims = list(dims_of(sums))
    floats = graph.one("scale", lambda t: compute(dims, lambda *i: element(t, i), "scale"), sums)
    graph.set(op, quantized(graph, floats, result))


def _moved(graph: Graph, x: Expr, by: int) -> Expr:
    if by == 0:
        return x
    dims = list(dims_of(x))
    return graph.one("move", lambda t: compute(dims, lambda *i: t(*i) + number(by, t.type), "move"), x)


def _distances(graph: Graph, known: Any) -> Expr:
    """Return stored integers less the zero point."""
    return _moved(graph, graph.cast(known.stored, i32), -known.type.zero_points.data[0].data)


def _quantize(graph: Graph, op: Operation) -> None:
    uniform = _uniform(op.results[0])
    if uniform is None:
        raise UnsupportedError("'stablehlo.uniform_quantize' to a type that is not quantized")
    graph.set(op, quantized(graph, floats_of(graph, op.operands[0]), uniform))


def _dequantize(graph: Graph, op: Operation) -> None:
    graph.set(op, floats_of(graph, op.operands[0]))


def _concatenate(graph: Graph, op: Operation) -> None:
    """Append tensors, whose scales may differ from that of the result."""
    uniform = _uniform(op.results[0])
    if all(_uniform(v) == uniform for v in op.operands):
        RULES[op.name](graph, op)
    else:
        _in_floats(graph, op)


_MOVING = frozenset(
    f"stablehlo.{name}"
    for name in (
        "reshape", "dynamic_reshape", "transpose", "slice", "gather", "dynamic_gather", "dynamic_slice", "reverse",
        "broadcast_in_dim", "dynamic_broadcast_in_dim", "optimization_barrier", "while", "if", "case", "composite",
        "get_dimension_size", "return", "dynamic_update_slice", "constant", "custom_call", "bitcast_convert",
    )
)  # fmt: skip
"""Operations that move elements, whatever they stand for."""
QUANTIZED.update(dict.fromkeys(RULES, _in_floats))
QUANTIZED.update(dict.fromkeys(SCALARS, _in_floats))
QUANTIZED.update({name: RULES[name] for name in (*_MOVING, "func.call") if name in RULES})
QUANTIZED.update(dict.fromkeys(("stablehlo.dot_general", "stablehlo.convolution", "stablehlo.dot"), _in_integers))
QUANTIZED["stablehlo.uniform_quantize"] = _quantize
QUANTIZED["stablehlo.uniform_dequantize"] = _dequantize
QUANTIZED["stablehlo.concatenate"] = _concatenate
