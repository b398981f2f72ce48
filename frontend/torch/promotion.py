"""PyTorch's type promotion: the dtype of a result whose operands differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Any

from ...handles.relax.expr import Expr
from .emitter import Emitter, cast_to, dtype_of, is_float, rank_of

_HALVES = ("float16", "bfloat16")
DEFAULT_FLOAT = "float32"
"""The result dtype of floating-point operators on integers."""


@lru_cache(maxsize=1024)
def promoted(a: str, b: str) -> str:
    """Return the smallest dtype that both can be converted to."""
    import torch

    return str(torch.promote_types(getattr(torch, a), getattr(torch, b))).removeprefix("torch.")


def common_dtype(values: Iterable[Any]) -> str:
    """Return the common dtype of tensors and Python numbers.

    Tensors with dimensions take precedence over scalar tensors, and these over numbers: a value of lower
    precedence only changes the dtype if it is of a higher category (bool, integer, floating point).
    """
    with_dims = without_dims = numbers = None
    for value in values:
        if not isinstance(value, Expr):
            numbers = _join(numbers, dtype_of_number(value))
        elif rank_of(value):
            with_dims = _join(with_dims, dtype_of(value))
        else:
            without_dims = _join(without_dims, dtype_of(value))
    result = _combined(with_dims, _combined(without_dims, numbers))
    assert result is not None, "of no operands"
    return result


def dtype_of_number(value: Any) -> str:
    """Return the dtype of a Python number as a tensor."""
    if isinstance(value, bool):
        return "bool"
    return DEFAULT_FLOAT if isinstance(value, float) else "int64"


def dtype_beside(number: float, others: Iterable[Any]) -> str:
    """Return the dtype of a number as a tensor: that of the floats it is combined with, so that it keeps its
    precision.
    """
    common = common_dtype([number, *(v for v in others if isinstance(v, Expr))])
    return common if is_float(common) else dtype_of_number(number)


def _join(a: str | None, b: str) -> str:
    return b if a is None else promoted(a, b)


def _combined(higher: str | None, lower: str | None) -> str | None:
    if higher is None or lower is None:
        return higher or lower
    if is_float(higher):
        return higher
    return promoted(higher, lower) if higher == "bool" or is_float(lower) else higher


def operands(e: Emitter, *values: Any, dtype: str | None = None) -> list[Expr]:
    """Convert the operands to tensors of their common dtype, or of `dtype`."""
    target = common_dtype(values) if dtype is None else dtype
    return [e.tensor(v, target) for v in values]


def float_dtype(dtype: str) -> str:
    """Return the floating-point dtype for results computed from `dtype`."""
    return dtype if is_float(dtype) else DEFAULT_FLOAT


def floating(e: Emitter, *values: Any) -> list[Expr]:
    """Convert the operands to floating-point tensors."""
    return operands(e, *values, dtype=float_dtype(common_dtype(values)))


def in_single(convert: Callable[..., Any], rounds: bool = False, keeps_right: bool = False) -> Callable[..., Any]:
    """Wrap a row to compute 16-bit operands in float32 and round each result once, as PyTorch's kernels do.

    Operands of other dtypes, such as indices, are unchanged; with `rounds` they are rounded to 16 bits first,
    except Python numbers and, with `keeps_right`, a rank-0 last operand.
    """

    def wide(e: Emitter, value: Any, dtype: str, is_last: bool = False) -> Any:
        if not isinstance(value, Expr) or (dtype_of(value) not in _HALVES and not rounds):
            return value
        narrow = value if keeps_right and is_last and not rank_of(value) else e.bound(cast_to(value, dtype))
        return e.bound(cast_to(narrow, "float32"))

    @wraps(convert)
    def apply(e: Emitter, *args: Any, **kwargs: Any) -> Any:
        dtype = common_dtype(a for a in (*args, *kwargs.values()) if isinstance(a, Expr))
        if dtype not in _HALVES:
            return convert(e, *args, **kwargs)
        widened = [wide(e, a, dtype, i == len(args) - 1) for i, a in enumerate(args)]
        result = convert(e, *widened, **{k: wide(e, a, dtype) for k, a in kwargs.items()})
        if isinstance(result, list):
            return [None if part is None else e.emit(cast_to(part, dtype)) for part in result]
        return cast_to(e.bound(result), dtype)

    return apply
