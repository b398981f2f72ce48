"""Arguments as TVM's operators take them: numbers, axes, dtypes, layouts, paddings, windows (and `tvm.topi.utils`)."""

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
    """A Python integer. Raises `TiraxError` for a symbolic expression."""
    return int(value)


def integers(value: Any, count: int) -> list[int]:
    """As many integers as asked, one standing for all. Raises `TiraxError` for another number of them."""
    if not isinstance(value, list | tuple):
        return [integer(value)] * count
    if len(value) != count:
        raise TiraxError("another number of integers is needed", expected=count, found=len(value))
    return [integer(v) for v in value]


def axes(value: Any) -> int | list[int] | None:
    """An axis, several or (None) all."""
    if value is None:
        return None
    return [integer(v) for v in value] if isinstance(value, list | tuple) else integer(value)


def element_type(dtype: str | Attribute | None, default: Attribute) -> Attribute:
    """A dtype, `default` where it is left out."""
    if dtype is None or dtype == "":
        return default
    return dtype_of(dtype) if isinstance(dtype, str) else dtype


def no_rewritten_layout(layout: str, original_shape: Any) -> None:
    """Refuses what TVM's auto-scheduler passes to operators whose weights it has laid out anew."""
    if layout or original_shape is not None:
        raise TiraxError(
            "weights that a tuner has laid out anew are not supported",
            expected="no auto_scheduler_rewritten_layout, no meta_schedule_original_shape",
            found=layout or original_shape,
        )


def named(parameters: str, compute: Callable[..., Tensor], doc: str) -> Callable[..., Tensor]:
    """`compute`, called with TVM's names of its parameters: `Input Filter stride padding='VALID' out_dtype=None`."""
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
    """One tensor or several."""
    return [values] if isinstance(values, Tensor) else list(values)


# Layouts, padding and window sizes as TVM's operators take them.

Pairs = list[tuple[int, int]]


def places(layout: str, letters: str) -> list[int]:
    """The places in a plain layout of `letters`. Raises `ShapeError` where they are not those of the layout."""
    if sorted(layout) != sorted(letters):
        raise ShapeError("unknown layout", expected=f"the letters {letters} in some order", found=layout)
    return [layout.index(c) for c in letters]


def packed_places(layout: str, letters: str) -> list[int]:
    """As `places`; dimensions may be followed by blocks of others, as in `NCHW4c`."""
    axes = re.findall(r"[A-Z]|\d+[a-z]", layout)
    if "".join(axes) != layout or sorted(a for a in axes if a.isalpha()) != sorted(letters):
        raise ShapeError("unknown layout", expected=f"the letters {letters} in some order, blocks: 4c", found=layout)
    return [axes.index(c) for c in letters]


def spatial_letters(rank: int) -> str:
    """The letters of spatial dimensions. Raises `TiraxError` for a rank that no operator has."""
    if rank not in (1, 2, 3):
        raise TiraxError("another number of spatial dimensions", expected="1, 2 or 3", found=rank)
    return {1: "W", 2: "HW", 3: "DHW"}[rank]


def pad_pairs(padding: Any, kernel: Sequence[int]) -> Pairs:
    """The padding before and after each dimension of a window of extents `kernel`.

    From one number, one for each dimension, all before and then all after, or `VALID` or `SAME`. Raises `TiraxError`
    for anything else.
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
    """A constant extent in the dtype of another; symbolic ones as they are."""
    return extent if extent.constant is None else Const(extent.constant, other.dtype)


def kernel_extents(dims: Sequence[SymExpr], dilation: Sequence[int]) -> list[int]:
    """What windows reach over. Raises `ShapeError` where the extents of a kernel are not known."""
    out: list[int] = []
    for d, step in zip(dims, dilation, strict=True):
        if d.constant is None:
            raise ShapeError("the extents of the kernel have to be known", found=str(d))
        out.append((d.constant - 1) * step + 1)
    return out


def window_counts(
    data: Tensor, spatial: Sequence[int], padding: Pairs, reach: Sequence[int], strides: Sequence[int]
) -> list[SymExpr]:
    """How many windows there are in each dimension of `spatial`."""
    rows = zip(spatial, padding, reach, strides, strict=True)
    return [windows(data.dims[p], sum(pair), k, s, 1) for p, pair, k, s in rows]


# `tvm.topi.utils`: constants out of expressions, paddings as tuples.


def get_const_int(expr: Any) -> int:
    """A Python integer. Raises `TiraxError` for a symbolic expression."""
    return int(expr)


def equal_const_int(expr: Any, value: int) -> bool:
    """Whether an expression is this constant."""
    known = expr.constant if isinstance(expr, PrimExpr) else expr
    return known is not None and int(known) == value


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """Constants as Python integers, symbolic expressions as they are."""
    return tuple(e if isinstance(e, PrimExpr) and e.constant is None else int(e) for e in in_tuple)


def get_pad_tuple_generic(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    """The padding before each dimension, then that after each, of windows of extents `kernel`."""
    pairs = pad_pairs(padding, [int(k) for k in kernel])
    return (*(b for b, _ in pairs), *(a for _, a in pairs))


def get_pad_tuple(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    """(top, left, bottom, right)"""
    return get_pad_tuple_generic(padding, kernel)


def get_pad_tuple1d(padding: Any, kernel: Any) -> tuple[int, ...]:
    """(left, right)"""
    return get_pad_tuple_generic(padding, kernel if isinstance(kernel, list | tuple) else [kernel])


def get_pad_tuple3d(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    """(front, top, left, back, bottom, right)"""
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
    """Let functions that a table made have the names by which a module exports them: what builders emit is named so."""
    for name in module["__all__"]:
        if module[name].__name__ == "apply":
            module[name].__name__ = name
