"""Argument conversion for TVM's operators: numbers, axes, dtypes, layouts, padding, windows (and `tvm.topi.utils`)."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

from xdsl.ir import Attribute

from ...diagnostics import ShapeError, TiraxError
from ...dialects.dtypes import dtype_of
from ...dialects.relax.layout import windows
from ...dialects.sym.expr import Const, SymExpr
from ...handles.tir.prim_expr import PrimExpr
from ...te.tensor import Tensor
from .math import const_vector


def integer(value: int | PrimExpr) -> int:
    """Return a Python integer. Raises `TiraxError` for a symbolic expression."""
    return int(value)


def integers(value: Any, count: int) -> list[int]:
    """Return `count` integers, repeating a single one. Raises `TiraxError` for other numbers of values."""
    if not isinstance(value, list | tuple):
        return [integer(value)] * count
    if len(value) != count:
        raise TiraxError("another number of integers is needed", expected=count, found=len(value))
    return [integer(v) for v in value]


def axes(value: Any) -> int | list[int] | None:
    """Return one axis, several, or None for all."""
    if value is None:
        return None
    return [integer(v) for v in value] if isinstance(value, list | tuple) else integer(value)


def element_type(dtype: str | Attribute | None, default: Attribute) -> Attribute:
    """Return a dtype, or `default` if it is None."""
    if dtype is None or dtype == "":
        return default
    return dtype_of(dtype) if isinstance(dtype, str) else dtype


def no_rewritten_layout(layout: str, original_shape: Any) -> None:
    """Raise an error for weight layouts rewritten by TVM's auto-scheduler, which are unsupported."""
    if layout or original_shape is not None:
        raise TiraxError(
            "weights that a tuner has laid out anew are not supported",
            expected="no auto_scheduler_rewritten_layout, no meta_schedule_original_shape",
            found=layout or original_shape,
        )


def named(parameters: str, compute: Callable[..., Tensor], doc: str) -> Callable[..., Tensor]:
    """Give `compute` TVM's parameters, such as `Input Filter stride padding='VALID' out_dtype=None`, and a
    docstring.
    """
    rows = [row.partition("=") for row in parameters.split()]
    signature = Signature(
        [
            Parameter(
                name, Parameter.POSITIONAL_OR_KEYWORD, default=literal_eval(default) if default else Parameter.empty
            )
            for name, _, default in rows
        ]
    )

    def apply(*args: Any, **kwargs: Any) -> Tensor:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return compute(*bound.args)

    apply.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    apply.__doc__ = doc
    return apply


def tensors(values: Sequence[Tensor] | Tensor) -> list[Tensor]:
    """Return one or several tensors as a list."""
    return [values] if isinstance(values, Tensor) else list(values)


# Layouts, padding and window sizes in the forms of TVM's operators.

Pairs = list[tuple[int, int]]


def places(layout: str, letters: str) -> list[int]:
    """Return the positions of `letters` in a plain layout. Raises `ShapeError` if they are not those of the layout."""
    if sorted(layout) != sorted(letters):
        raise ShapeError("unknown layout", expected=f"the letters {letters} in some order", found=layout)
    return [layout.index(c) for c in letters]


def packed_places(layout: str, letters: str) -> list[int]:
    """Like `places`, but dimensions may be blocked, as in `NCHW4c`."""
    axes = re.findall(r"[A-Z]|\d+[a-z]", layout)
    if "".join(axes) != layout or sorted(a for a in axes if a.isalpha()) != sorted(letters):
        raise ShapeError("unknown layout", expected=f"the letters {letters} in some order, blocks: 4c", found=layout)
    return [axes.index(c) for c in letters]


def spatial_letters(rank: int) -> str:
    """Return the letters of spatial dimensions. Raises `TiraxError` for an unsupported rank."""
    if rank not in (1, 2, 3):
        raise TiraxError("another number of spatial dimensions", expected="1, 2 or 3", found=rank)
    return {1: "W", 2: "HW", 3: "DHW"}[rank]


def pad_pairs(padding: Any, kernel: Sequence[int]) -> Pairs:
    """Return the padding before and after each dimension of a window of extents `kernel`.

    `padding` is a number, one for each dimension, all before followed by all after, or `VALID` or `SAME`.
    Raises `TiraxError` for anything else.
    """
    rank = len(kernel)
    if isinstance(padding, str):
        if padding not in ("VALID", "SAME"):
            raise TiraxError("unknown padding", expected="VALID, SAME or numbers", found=padding)
        total = [k - 1 if padding == "SAME" else 0 for k in kernel]
        return [((t + 1) // 2, t - (t + 1) // 2) for t in total]
    if isinstance(padding, list | tuple) and len(padding) == 2 * rank:
        widths = [integer(p) for p in padding]
        return list(zip(widths[:rank], widths[rank:], strict=True))
    return [(p, p) for p in integers(padding, rank)]


def constant_like(extent: SymExpr, other: SymExpr) -> SymExpr:
    """Convert a constant extent to the dtype of another; symbolic ones are unchanged."""
    return extent if extent.constant is None else Const(extent.constant, other.dtype)


def kernel_extents(dims: Sequence[SymExpr], dilation: Sequence[int]) -> list[int]:
    """Return the extents of dilated windows. Raises `ShapeError` if the extents of a kernel are unknown."""
    out: list[int] = []
    for d, step in zip(dims, dilation, strict=True):
        if d.constant is None:
            raise ShapeError("the extents of the kernel have to be known", found=str(d))
        out.append((d.constant - 1) * step + 1)
    return out


def window_counts(
    data: Tensor, spatial: Sequence[int], padding: Pairs, reach: Sequence[int], strides: Sequence[int]
) -> list[SymExpr]:
    """Return the number of windows in each dimension of `spatial`."""
    rows = zip(spatial, padding, reach, strides, strict=True)
    return [windows(data.dims[p], sum(pair), k, s, 1) for p, pair, k, s in rows]


# `tvm.topi.utils`: constants from expressions, padding as tuples.


def get_const_int(expr: Any) -> int:
    """Return a Python integer. Raises `TiraxError` for a symbolic expression."""
    return int(expr)


def equal_const_int(expr: Any, value: int) -> bool:
    """Return whether an expression is the constant `value`."""
    known = expr.constant if isinstance(expr, PrimExpr) else expr
    return known is not None and int(known) == value


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """Convert constants to Python integers; symbolic expressions are unchanged."""
    return tuple(e if isinstance(e, PrimExpr) and e.constant is None else int(e) for e in in_tuple)


def get_pad_tuple_generic(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    """Return the padding before each dimension, followed by that after each, for windows of extents `kernel`."""
    pairs = pad_pairs(padding, [int(k) for k in kernel])
    return (*(b for b, _ in pairs), *(a for _, a in pairs))


def get_pad_tuple(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    """Return the padding (top, left, bottom, right)."""
    return get_pad_tuple_generic(padding, kernel)


def get_pad_tuple1d(padding: Any, kernel: Any) -> tuple[int, ...]:
    """Return the padding (left, right)."""
    return get_pad_tuple_generic(padding, kernel if isinstance(kernel, list | tuple) else [kernel])


def get_pad_tuple3d(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    """Return the padding (front, top, left, back, bottom, right)."""
    return get_pad_tuple_generic(padding, kernel)


__all__ = [
    "const_vector",
    "equal_const_int",
    "get_const_int",
    "get_const_tuple",
    "get_pad_tuple",
    "get_pad_tuple1d",
    "get_pad_tuple3d",
    "get_pad_tuple_generic",
]


def call_by_names(module: dict[str, Any]) -> None:
    """Rename generated functions to the names under which a module exports them, which emitted code uses."""
    for name in module["__all__"]:
        if module[name].__name__ == "apply":
            module[name].__name__ = name
