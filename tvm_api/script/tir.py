"""`tvm.script.tir`, usually imported as `T`.

In scripts these names are interpreted by the parser and never called. Elsewhere, mainly in annotations,
`T.Buffer(...)` is a free buffer, dtypes are scalars or variables, and intrinsics build expressions. Editors
read the names from `tir.pyi`, which `python -m tirax.dev.reference` writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from ... import script as _script
from ... import te as _te
from ...dialects.dtypes import DTYPES
from ...dialects.tir.types import DEFAULT_ALIGN
from ...handles.tir import expr_kinds as _kinds
from ...handles.tir import intrinsics as _intrinsics
from ...handles.tir import math_functions as _math_functions
from ...handles.tir import prim_expr as _prim_expr
from ...handles.tir.buffers import Buffer as _Buffer
from ...handles.tir.buffers import decl_buffer
from ...handles.tir.index_map import IndexMap
from ...handles.tir.prim_expr import OperandError, PrimExpr, const
from ...handles.tir.variables import SizeVar, Var
from ..handles import device_intrinsics as _device_intrinsics
from ..handles import tir_script_builder as _script_builder
from ..handles.from_script import function_decorator
from . import _in_scripts

__tirax_script_dialect__ = "tir"

prim_func = function_decorator("tir")


def Buffer(  # noqa: N802 (TVM's name)
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] = (),
) -> _Buffer:
    """Return a buffer, for the annotation of a parameter."""
    layout = (strides, elem_offset, scope, align or DEFAULT_ALIGN, offset_factor, buffer_type, axis_separators)
    return decl_buffer(shape, dtype, "buffer", data, *layout)


def cast(value: Any, dtype: str, span: object = None) -> PrimExpr:
    """Convert a value to another dtype. Raises as `PrimExpr.astype`."""
    return _prim_expr.convert(value).astype(dtype)


def handle(dtype: str | None = None, storage_scope: str = "global", **kwargs: Any) -> PrimExpr:
    """Return a pointer to elements of a dtype, to `void`, or untyped."""
    return _intrinsics.pointer_variable(dtype, storage_scope)


def ptr(dtype: str, storage_scope: str = "global", is_size_var: bool = False) -> PrimExpr:
    """Return a pointer to elements of a dtype: TVM's older name of `handle`. `is_size_var` means nothing for it."""
    return _intrinsics.pointer_variable(dtype, storage_scope)


Ptr = ptr


def index_map(mapping: Any, *, inverse_index_map: Any = None, index_dtype: str = "int64") -> IndexMap:
    """Return the map of indices that a function describes: `T.index_map(lambda i: (i // 4, i % 4))`."""
    return IndexMap.from_func(mapping, inverse_index_map=inverse_index_map, index_dtype=index_dtype)


def macro(func: Any = None, *, hygienic: bool = True) -> Any:
    """Define a macro: its call in a prim_func is replaced by its body, with parameters replaced by arguments.

    Free names are resolved where the macro is defined or, if it is not `hygienic`, where it is called.
    """
    if func is None:
        return lambda f: macro(f, hygienic=hygienic)
    if not callable(func):
        raise OperandError("T.macro takes a function; `hygienic` is given by name", found=repr(func))
    return _script.read_macro(func, hygienic)


inline = macro


def _scalar(dtype: str) -> Callable[..., PrimExpr]:
    def make(value: Any = None, **kwargs: Any) -> PrimExpr:
        return SizeVar("v", dtype) if value is None and "int" in dtype else _constant(value, dtype)

    make.__name__ = make.__qualname__ = dtype
    make.__doc__ = f"A scalar of {dtype}, or a variable of it where no value is given."
    return make


def _constant(value: Any, dtype: str) -> PrimExpr:
    if value is None:
        return Var("v", dtype)
    if isinstance(value, PrimExpr):
        return value.astype(dtype)
    return const(float(value) if isinstance(value, str) else value, dtype)


globals().update({name: _scalar(name) for name in DTYPES})
boolean = _scalar("bool")

_VECTOR = re.compile(r"\w+x(2|4|8|16|32|64)")
"""The dtypes of vectors that TVM names."""
_FUNCTIONS = frozenset(("exp2", "exp10", "log1p"))
"""Functions of `tvm.tir` that neither te nor the intrinsics have."""
_OF_BUILDERS = frozenset(("Else", "If", "Then", "While", "arg", "buffer_var", "func_name", "func_ret", "void"))
"""Names that are only valid in an `IRBuilder`; scripts have other syntax for them."""


def __getattr__(name: str) -> Any:
    if name in _in_scripts.__all__:
        return getattr(_in_scripts, name)
    if name in _OF_BUILDERS:
        return getattr(_script_builder, name)
    if name in _te.__all__:
        return getattr(_te, name)
    if name in _kinds.CLASSES:
        return _kinds.CLASSES[name]
    if name in _intrinsics.__all__:
        return getattr(_intrinsics, name)
    if name in _FUNCTIONS:
        return getattr(_math_functions, name)
    if name in _device_intrinsics.FUNCTIONS:
        return getattr(_device_intrinsics, name)
    if _VECTOR.fullmatch(name) and name.rpartition("x")[0] in DTYPES:
        return _scalar(name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    elsewhere = (_in_scripts.__all__, _te.__all__, _kinds.CLASSES, _intrinsics.__all__, _OF_BUILDERS, _FUNCTIONS)
    return sorted({*__all__, *DTYPES, "boolean", "decl_buffer", *chain.from_iterable(elsewhere)})


buffer = Buffer

__all__ = ["Buffer", "buffer", "cast", "handle", "index_map", "inline", "macro", "prim_func", "ptr", "Ptr"]
