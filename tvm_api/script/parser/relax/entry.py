"""`tvm.script.parser.relax.entry`: what the names of `R` give that stand for struct info."""

from __future__ import annotations

from .....handles.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    StructInfoProxy,
    TensorStructInfo,
    TupleStructInfo,
)


class ObjectProxy(StructInfoProxy):
    """The struct info of anything; `R.Object` and `R.Object()` alike."""

    def as_struct_info(self, dict_globals: object = None) -> StructInfo:
        return ObjectStructInfo()


Object = ObjectProxy
TensorProxy, ShapeProxy, PrimProxy = TensorStructInfo, ShapeStructInfo, PrimStructInfo
TupleProxy, CallableProxy = TupleStructInfo, FuncStructInfo

__all__ = [
    "CallableProxy", "Object", "ObjectProxy", "PrimProxy", "ShapeProxy", "StructInfoProxy", "TensorProxy", "TupleProxy",
]  # fmt: skip
