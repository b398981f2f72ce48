"""Matrix-product patterns of vendor libraries under TVM's names, and functions that partition a module by them.

    partition_for_cublas(mod)    matmul, add, relu  ->  a call of a function with the attribute Codegen = "cublas"

The patterns are registered when this file is first imported. No library is called: users register the compiler of the
functions, such as `relax.ext.cublas`, and `RunCodegen` reports missing ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import bf16, f16, f32, i8

from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import Const, SymExpr
from ...handles.module import IRModule
from .fuse_ops_by_pattern import FuseOpsByPattern
from .fusion_pattern import FusionPattern, PatternCheckContext, get_patterns_with_prefix, register_patterns
from .library_patterns import (
    Annotated,
    has_leaking_intermediate_variables,
    make_matmul_dequantize_pattern,
    make_matmul_multiply_pattern,
    make_matmul_pattern,
    make_residual_block_pattern,
)

_DTYPES = (f16, bf16, f32, i8)
_INTEGER_STEP = 4
"""Products of int8 need rows and columns in multiples of this number."""


def _dims(expr: Any) -> Sequence[SymExpr] | None:
    type_ = expr.ssa.type
    return type_.dims if isinstance(type_, TensorType) else None


def _steps(extent: SymExpr) -> bool:
    return extent.constant is not None and extent.constant % _INTEGER_STEP == 0


def _takes_operands(lhs: TensorType, rhs: TensorType, out: TensorType, with_bias: bool) -> bool:
    """Return whether operands have the same dtype and a known reduction extent, in multiples of four for integers."""
    if not (lhs.dims and rhs.dims and out.dims) or lhs.element not in _DTYPES or lhs.element != rhs.element:
        return False
    if lhs.element == i8:
        return not with_bias and _steps(lhs.dims[-1]) and _steps(out.dims[-1])
    return lhs.dims[-1].constant is not None


def _takes_batches(lhs: Sequence[SymExpr], rhs: Sequence[SymExpr]) -> bool:
    """Return whether the batch sizes are equal, or the right side is one matrix, so that all rows are one product."""
    one: SymExpr = Const(1)
    many, matrices = prod(lhs[:-2], start=one), prod(rhs[:-2], start=one)
    return matrices == one or many == matrices


def _takes_vector(bias: Sequence[SymExpr] | None) -> bool:
    return bias is not None and all(extent.constant == 1 for extent in bias[:-1])


def _takes_dequantized(parts: dict[str, Any]) -> bool:
    """Return whether the scale is one number, and the zero point is 0."""
    scale, zero = parts["scale"].data.numpy(), parts["zp"].data.numpy()
    return scale.ndim == zero.ndim == 0 and not zero.item()


def _takes_product(context: PatternCheckContext) -> bool:
    parts = context.annotated_expr
    lhs, rhs, root = (parts[name].ssa.type for name in ("lhs", "rhs", "root"))
    if not all(isinstance(t, TensorType) for t in (lhs, rhs, root)) or has_leaking_intermediate_variables(context):
        return False
    return (
        _takes_operands(lhs, rhs, root, "bias" in parts)
        and _takes_batches(lhs.dims, rhs.dims)
        and ("bias" not in parts or _takes_vector(_dims(parts["bias"])))
        and ("residual" not in parts or _dims(parts["residual"]) == _dims(context.matched_expr))
        and ("zp" not in parts or _takes_dequantized(parts))
    )


def _products(library: str, activations: Sequence[str]) -> Iterator[FusionPattern]:
    """Yield `matmul`, `matmul_bias`, `matmul_bias_relu`, …, and the same with a `transposed` right side."""
    for transposed in (False, True):
        base = f"{library}.matmul_transposed" if transposed else f"{library}.matmul"
        yield FusionPattern(base, *make_matmul_pattern(transposed_rhs=transposed), _takes_product)
        for activation in (None, *activations):
            name = f"{base}_bias" if activation is None else f"{base}_bias_{activation}"
            op = None if activation is None else f"relax.nn.{activation}"
            yield FusionPattern(name, *make_matmul_pattern(True, op, transposed), _takes_product)


def _scaled(library: str) -> Iterator[FusionPattern]:
    """Yield products with scaled results."""
    makers: dict[str, Callable[..., Annotated]] = {
        "dequantize": make_matmul_dequantize_pattern,
        "multiply": make_matmul_multiply_pattern,
    }
    for name, make in makers.items():
        yield FusionPattern(f"{library}.matmul_transposed_{name}", *make(transposed_rhs=True), _takes_product)


def _residual(patterns: Sequence[FusionPattern]) -> Iterator[FusionPattern]:
    """Yield patterns that add a residual to, or multiply it with, products with a bias."""
    for p in patterns:
        for op in ("add", "multiply"):
            for activation in (None, "relu"):
                name = f"{p.name}_residual_{op}" + ("" if activation is None else f"_{activation}")
                after = None if activation is None else f"relax.nn.{activation}"
                product = p.pattern, p.annotation_patterns
                pattern, parts = make_residual_block_pattern(product, f"relax.{op}", after)
                if "bias" in parts:
                    yield FusionPattern(name, pattern, parts, _takes_product)


_CUTLASS = list(_products("cutlass", ("relu", "gelu", "silu")))

register_patterns([*_products("cublas", ("relu", "gelu")), *_scaled("cublas"), *_CUTLASS, *_residual(_CUTLASS)])


def partition_for_cublas(mod: IRModule, bind_constants: bool = False) -> IRModule:
    """Outline products that cuBLAS supports, with bias and activation, as functions with `Codegen` = `cublas`.

    `bind_constants`: constants are inside the functions, otherwise they are arguments. Products of float8 are skipped.
    """
    patterns = get_patterns_with_prefix("cublas.")
    return FuseOpsByPattern(patterns, bind_constants=bind_constants, annotate_codegen=True)(mod)


def partition_for_cutlass(mod: IRModule, annotate_codegen: bool = True) -> IRModule:
    """Outline products that CUTLASS supports, with their epilogues, as functions with `Codegen` = `cutlass`.

    The epilogue is a bias, an activation, and a residual that is added or multiplied. Without `annotate_codegen`, the
    functions have only the attribute `Composite`. Convolutions and attention are skipped.
    """
    patterns = get_patterns_with_prefix("cutlass.")
    return FuseOpsByPattern(patterns, bind_constants=False, annotate_codegen=annotate_codegen)(mod)
