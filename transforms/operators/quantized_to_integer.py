"""Integer computation of products and convolutions of dequantized tensors."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8, i32

from ...dialects import relax
from ...ir.functions.lookup import ops_of_type, relax_functions
from ...ir.passes.transform import Pass
from ...target import Target
from .dot_products import are_words, dot_of


@dataclass(frozen=True)
class QuantizedToInteger(Pass):
    """Compute products and 2-d convolutions of dequantized bytes in bytes, accumulated in int32.

    y = matmul(dequantize(a, s, p), dequantize(b, t, q))
    ->  n = matmul(a, b, out_dtype="int32") - p * sum(b, -2) - q * sum(a, -1) + K * p * q
        y = astype(n, "float32") * s * t

    y = conv2d(dequantize(x, s, p), dequantize(w, t, q), padding=z)
    ->  n = conv2d(pad(x, z, p), w, out_dtype="int32") - p * sum(w - q) - q * conv2d(sum of channels, ones)
        y = astype(n, "float32") * s * t

    Zero terms are left out; `fold-constant` computes the constant ones. The epilogue (a bias, an activation,
    `quantize`) is unchanged, and is computed on each sum before it is stored. Scales and zero points are scalars, or
    vectors along the rows of a and the columns of b (the output channels of w); b may be transposed after
    dequantization. With groups, weights with a zero point become int16 without.

    Constant unsigned weights become signed if that saves a correction of each sum.

    The integers are exact: products that might overflow int32 are kept. Each element is then rounded two or three
    times; in floats each factor, each product and each sum is rounded.

    For `target`s with instructions for byte products. If these are only for 16-bit words and byte pairs, constant
    weights whose pairs fit stay bytes (`byte_pairs`), with some rows split into halves, for which a has copies; other
    weights and their operands become int16, minus their zero points: matmul(a - p, b - q). In layouts whose last letter
    is not C, convolutions without groups and constant weights are kept.
    """

    name = "quantized-to-integer"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target(self.target)
        if dot_of(i8, i8, i32, target) is None and not are_words(target):
            return
        if any(o.name == "relax.dequantize" for f in relax_functions(op) for o in ops_of_type(f, relax.Operator)):
            # imported here, as the pattern language is slow to load
            from ..dpl.rewriter import rewrite_module
            from .integer_rules import rewriter

            rewrite_module(rewriter(target), op)
