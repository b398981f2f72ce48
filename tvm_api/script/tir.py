"""`tvm.script.tir`, usually imported as `T`.

Inside of a script these names are read by the parser and never called. Outside, in annotations above all,
`T.Buffer(...)` is a buffer that no function has, dtypes are scalars or variables, and intrinsics build expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import te as _te
from ...dialects import tir as _tir
from ...dialects.dtypes import DTYPES
from ...ir.prim_expr import PrimExpr, SizeVar, Var, const
from ...ir.prim_expr import placeholder_value as _placeholder
from ...ir.tir_expr import Buffer as _Buffer
from ...ir.tir_expr import decl_buffer
from ._decorators import function_decorator

__tirax_script_dialect__ = "tir"

prim_func = function_decorator("tir")


def Buffer(shape: Any, dtype: str = "float32", *args: Any, **kwargs: Any) -> _Buffer:  # noqa: N802 (TVM's name)
    """A buffer, as the annotation of a parameter."""
    return decl_buffer(shape, dtype, "buffer", *args, **kwargs)


def handle(dtype: str = "void", storage_scope: str = "global", **kwargs: Any) -> PrimExpr:
    """An opaque pointer, as the annotation of a parameter."""
    return PrimExpr(_placeholder(_tir.HANDLE, "handle"))


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

_ONLY_IN_SCRIPTS = frozenset(
    (
        "axis", "alloc_buffer", "allocate_const", "attr", "block", "block_attr", "decl_buffer", "evaluate", "func_attr",
        "func_name", "func_ret", "grid", "init", "let", "match_buffer", "parallel", "reads", "serial", "thread_binding",
        "unroll", "vectorized", "where", "writes",
    )
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _ONLY_IN_SCRIPTS:
        raise AttributeError(f"T.{name} has a meaning only in the body of a T.prim_func")
    if name.startswith("_") or name not in _te.__all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(_te, name)


def __dir__() -> list[str]:
    return sorted([*__all__, *DTYPES, *_ONLY_IN_SCRIPTS, *_te.__all__])


__all__ = ["Buffer", "handle", "prim_func"]
