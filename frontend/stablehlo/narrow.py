"""Operations on numbers that are only stored, of 2 to 8 bits: computed in wider types, and converted back.

A scalar of such a type is carried as the wider one, and is a number of the narrow type after each operation.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, f32, i8
from xdsl.ir import Attribute, Block, Operation

from ...dialects.dtypes import NARROW, is_float, is_unsigned
from ...handles.tir.prim_expr import PrimExpr
from .values import tensor_type

_COMPUTING = """
    convolution dot dot_general dynamic_conv einsum map power reduce reduce_window scatter select_and_scatter sort
    unary_einsum
"""
COMPUTING = frozenset(f"stablehlo.{name}" for name in _COMPUTING.split())
"""Operations that are computed in wider types as a whole; elementwise ones are so element by element."""


def widened(dtype: Attribute) -> Attribute:
    """Return the type that numbers of a type are computed in: itself, unless they are only stored."""
    if dtype not in NARROW:
        return dtype
    return f32 if is_float(dtype) else IntegerType(8, Signedness.UNSIGNED) if is_unsigned(dtype) else i8


def carried(x: PrimExpr) -> PrimExpr:
    """Return a number in the type that it is computed in."""
    wide = widened(x.type)
    return x if wide == x.type else x.astype(wide)


def kept(x: PrimExpr, dtype: Attribute) -> PrimExpr:
    """Return a number of the type that `dtype` is computed in, rounded or wrapped to one of `dtype`."""
    return carried(x.astype(dtype)) if dtype in NARROW else x


def is_narrow(op: Operation) -> bool:
    """Return whether an operation has operands or results of numbers that are only stored."""
    types = (v.type for v in (*op.operands, *op.results))
    return any(isinstance(t, TensorType) and tensor_type(t).element_type in NARROW for t in types)


def delegate(op: Operation, element: Callable[[Attribute], Attribute]) -> Operation:
    """Return the same operation on tensors of other elements: the arguments of a block that it is in."""
    block = Block(arg_types=[_with(v.type, element) for v in op.operands])
    plain = type(op).create(
        operands=block.args,
        result_types=[_with(r.type, element) for r in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        regions=[region.clone() for region in op.regions],
    )
    block.add_op(plain)
    return plain


def _with(type: Attribute, element: Callable[[Attribute], Attribute]) -> Attribute:
    if not isinstance(type, TensorType):
        return type
    tensor = tensor_type(type)
    return TensorType(element(tensor.element_type), tensor.get_shape())
