"""`tvm.relax.struct_info`: what is known of values."""

from ...handles.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)

__all__ = [
    "FuncStructInfo",
    "ObjectStructInfo",
    "PrimStructInfo",
    "ShapeStructInfo",
    "StructInfo",
    "TensorStructInfo",
    "TupleStructInfo",
]
