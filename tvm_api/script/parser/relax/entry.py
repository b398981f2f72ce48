"""`tvm.script.parser.relax.entry`: the results of the names in `R` for struct info."""

from __future__ import annotations

from typing import Any

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
    """The struct info of any object; `R.Object` and `R.Object()` are equal."""

    __tirax_script_dialect__ = "relax.Object"

    def as_struct_info(self, dict_globals: object = None) -> StructInfo:
        return ObjectStructInfo()


Object = ObjectProxy


class TensorProxy(StructInfoProxy):
    """`R.Tensor`, which returns the struct info itself."""

    __tirax_script_dialect__ = "relax.Tensor"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return TensorStructInfo(*args, **kwargs)


class ShapeProxy(StructInfoProxy):
    """`R.Shape`, which returns the struct info itself."""

    __tirax_script_dialect__ = "relax.Shape"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return ShapeStructInfo(*args, **kwargs)


class PrimProxy(StructInfoProxy):
    """`R.Prim`, which returns the struct info itself."""

    __tirax_script_dialect__ = "relax.Prim"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return PrimStructInfo(*args, **kwargs)


class TupleProxy(StructInfoProxy):
    """`R.Tuple`, which returns the struct info itself."""

    __tirax_script_dialect__ = "relax.Tuple"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return TupleStructInfo(*args, **kwargs)


class CallableProxy(StructInfoProxy):
    """`R.Callable`, which returns the struct info itself."""

    __tirax_script_dialect__ = "relax.Callable"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return FuncStructInfo(*args, **kwargs)


__all__ = [
    "CallableProxy", "Object", "ObjectProxy", "PrimProxy", "ShapeProxy", "StructInfoProxy", "TensorProxy", "TupleProxy",
]  # fmt: skip
