"""The dtype of a result where operands differ: PyTorch's rules of type promotion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Any

from ...handles.relax.expr import Expr
from .emitter import Emitter, cast_to, dtype_of, is_float, rank_of

_HALVES = ("float16", "bfloat16")
DEFAULT_FLOAT = "float32"
"""What PyTorch computes in where all operands are integers and the result is not."""


@lru_cache(maxsize=1024)
def promoted(a: str, b: str) -> str:
    """The least dtype that both can be converted to."""
    import torch

    return str(torch.promote_types(getattr(torch, a), getattr(torch, b))).removeprefix("torch.")


def common_dtype(values: Iterable[Any]) -> str:
    """The dtype that tensors and Python's numbers are computed in together.

    Tensors with dimensions count most, then those without, then numbers: one that counts less changes the dtype only
    where it is of a higher kind (bool, integers, floating point).
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
    """The dtype of a tensor that is one of Python's numbers."""
    if isinstance(value, bool):
        return "bool"
    return DEFAULT_FLOAT if isinstance(value, float) else "int64"


def dtype_beside(number: float, others: Iterable[Any]) -> str:
    """The dtype of a number as a tensor: that of floats which it is computed with, so that it keeps its digits."""
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
    """The operands as tensors of their common dtype, or of `dtype`."""
    target = common_dtype(values) if dtype is None else dtype
    return [e.tensor(v, target) for v in values]


def float_dtype(dtype: str) -> str:
    """The dtype of what is no integer, computed of `dtype`."""
    return dtype if is_float(dtype) else DEFAULT_FLOAT


def floating(e: Emitter, *values: Any) -> list[Expr]:
    """The operands as tensors of floating point."""
    return operands(e, *values, dtype=float_dtype(common_dtype(values)))


def in_single(convert: Callable[..., Any], rounds: bool = False, keeps_right: bool = False) -> Callable[..., Any]:
    """A row that computes what has 16 bits in float32 and rounds each result once, as PyTorch's kernels do.

    Operands of other dtypes, such as indices, are not changed; with `rounds` they are rounded to the 16 bits first.
    Numbers of Python are not, nor is with `keeps_right` the last operand where it has no dimensions.
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
