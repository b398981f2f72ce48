"""Flush denormal weights and biases of products to zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ...dialects import relax
from ...dialects.relax.data import TensorDataAttr
from ...dialects.relax.operator import Operator
from ...ir.functions.lookup import ops_of_type, relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import insert_before

Array = np.ndarray[Any, Any]

_PRODUCTS = frozenset(["relax.matmul"] + [f"relax.nn.conv{n}d{kind}" for n in (1, 2, 3) for kind in ("", "_transpose")])
_VIEWS = frozenset({"relax.permute_dims", "relax.reshape", "relax.expand_dims", "relax.squeeze"})
_FAR_ABOVE = 2.0**26
"""Weights this many times larger than any denormal number lose more when their products are rounded."""
_BLOCK = 1 << 15


@dataclass(frozen=True)
class FlushDenormalWeights(Pass):
    """Flush denormal numbers in constant weights of matrix products and convolutions, and in their biases, to 0.

    Trained weights decay to denormals, and processors are some hundred times slower with them; the same holds for
    results that consist of a denormal bias only. Only float32 and float64, and only if the largest weights, or biases,
    are 2^26 times as large as the largest denormal number: for inputs of similar magnitude the error is below the
    rounding error of the other products. Constants with other uses are kept.
    """

    name = "flush-denormal-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for constant in list(_weights(op)):
            values = constant.value.numpy()
            if _has_denormals(values) and np.abs(values).max() >= _FAR_ABOVE * np.finfo(values.dtype).tiny:
                replacement = insert_before(
                    constant, relax.ConstantOp(_flushed(constant.value)).named_after(constant.result)
                )
                constant.results[0].replace_all_uses_with(replacement.results[0])
                Rewriter.erase_op(constant)


def _weights(module: ModuleOp) -> Iterator[relax.ConstantOp]:
    """Yield the constants that only products, or sums with these, read, each once."""
    for function in relax_functions(module):
        for op in ops_of_type(function, Operator):
            if op.name in _PRODUCTS or (op.name == "relax.add" and any(map(_is_product, op.operands))):
                yield from filter(None, dict.fromkeys(map(_constant_of, op.operands)))


def _is_product(value: SSAValue) -> bool:
    return isinstance(value.owner, Operator) and value.owner.name in _PRODUCTS


def _constant_of(value: SSAValue) -> relax.ConstantOp | None:
    """Return the constant that an operand is a view of, if nothing else uses it."""
    while value.has_one_use():
        owner = value.owner
        if isinstance(owner, relax.ConstantOp):
            return owner if owner.value.data.dtype in (f32, f64) else None
        if not isinstance(owner, Operator) or owner.name not in _VIEWS:
            return None
        value = owner.operands[0]
    return None


def _has_denormals(values: Array) -> bool:
    """Return whether any number is denormal: unsigned, it is between 1 and the mantissa mask (0 - 1 wraps around)."""
    wide = values.dtype.itemsize == 8
    bits = values.reshape(-1).view(np.uint64 if wide else np.uint32)
    most = (1 << (53 if wide else 24)) - 1
    room = np.empty(min(_BLOCK, bits.size), bits.dtype)
    for start in range(0, bits.size, _BLOCK):
        block = bits[start : start + _BLOCK]
        shifted = np.left_shift(block, 1, out=room[: block.size])
        if np.subtract(shifted, 1, out=shifted).min() < most:
            return True
    return False


def _flushed(data: TensorDataAttr) -> TensorDataAttr:
    values = data.numpy()

    def fill(contents: Array) -> None:
        np.copyto(contents, values)
        contents[np.abs(values) < np.finfo(values.dtype).tiny] *= 0  # keeps the sign

    return TensorDataAttr.filled(values.shape, cast(Any, data.data.dtype), fill)
