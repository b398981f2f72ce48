"""`tvm.script.tir`, usually imported as `T`.

Inside of a script these names are read by the parser and never called. Outside, in annotations above all,
`T.Buffer(...)` is a buffer that no function has, dtypes are scalars or variables, and intrinsics build expressions.
Editors see the names in `tir.pyi`, which `python -m tirax.dev.reference` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from ... import script as _script
from ... import te as _te
from ...dialects.dtypes import DTYPES
from ...dialects.tir.types import DEFAULT_ALIGN
from ...handles.tir import expr_kinds as _kinds
from ...handles.tir import intrinsics as _intrinsics
from ...handles.tir import prim_expr as _prim_expr
from ...handles.tir.buffers import Buffer as _Buffer
from ...handles.tir.buffers import decl_buffer
from ...handles.tir.prim_expr import OperandError, PrimExpr, SizeVar, Var, const
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
    """A buffer, as the annotation of a parameter."""
    layout = (strides, elem_offset, scope, align or DEFAULT_ALIGN, offset_factor, axis_separators, buffer_type)
    return decl_buffer(shape, dtype, "buffer", data, *layout)


def cast(value: Any, dtype: str, span: object = None) -> PrimExpr:
    """The value as another dtype. Raises as `PrimExpr.astype`."""
    return _prim_expr.convert(value).astype(dtype)


def handle(dtype: str | None = None, storage_scope: str = "global", **kwargs: Any) -> PrimExpr:
    """A pointer to elements of a data type, to `void`, or to anything."""
    return _intrinsics.pointer_variable(dtype, storage_scope)


def macro(func: Any = None, *, hygienic: bool = True) -> Any:
    """Statements by name: a call in a prim_func is replaced by the body, with the arguments for the parameters.

    Names that the macro does not bind are those of the place where it is defined, or, where it is not `hygienic`, of
    the place where it is called.
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

_FUNCTIONS = frozenset(("exp2", "exp10", "log1p"))
"""What `tvm.tir` has of functions that neither te nor the intrinsics have."""
_OF_BUILDERS = frozenset(("func_name", "func_ret"))
"""What stands inside of an `IRBuilder` only: scripts say it in another way."""


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
        return getattr(_prim_expr, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    elsewhere = (_in_scripts.__all__, _te.__all__, _kinds.CLASSES, _intrinsics.__all__, _OF_BUILDERS, _FUNCTIONS)
    return sorted({*__all__, *DTYPES, "boolean", "decl_buffer", *chain.from_iterable(elsewhere)})


buffer = Buffer

__all__ = ["Buffer", "buffer", "cast", "handle", "inline", "macro", "prim_func"]
