"""Composite operators: functions that expand to several operators, as TVM's Python functions do.

`R.linear(x, w, b)` is `R.add(R.matmul(x, R.permute_dims(w)), b)`. Each takes a function that calls an operator,
`call(name, *args, **attrs)`, and then the Python arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...diagnostics import TiraxError

Call = Callable[..., Any]


def linear(call: Call, data: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> Any:
    """Return data · weightᵀ + bias; the product is of `out_dtype` if given."""
    product = call("relax.matmul", data, call("relax.permute_dims", weight), out_dtype=out_dtype)
    return product if bias is None else call("relax.add", product, bias)


def masked_fill(call: Call, x: Any, mask: Any, value: Any) -> Any:
    """Return `value` where the mask is true, x elsewhere."""
    return call("relax.where", mask, call("relax.full_like", x, value), x)


def attention_bias(
    call: Call,
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    scale: Any = None,
    causal_mask: Any = None,
    window_size: Any = None,
) -> Any:
    """An alias of attention."""
    attrs = {"scale": scale, "causal_mask": causal_mask, "window_size": window_size}
    return call("relax.nn.attention", query, key, value, bias, **attrs)


COMPOSITES: dict[str, Callable[..., Any]] = {
    "relax.linear": linear,
    "relax.masked_fill": masked_fill,
    "relax.nn.attention_bias": attention_bias,
}
"""The composites by operator name."""


def composite_parameters(name: str) -> list[str]:
    """Return the Python parameters, in order."""
    return list(inspect.signature(COMPOSITES[name]).parameters)[1:]


def expand(name: str, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the expansion of the composite `name` for these arguments. Raises `TiraxError` if they do not match."""
    function = COMPOSITES[name]
    try:
        bound = inspect.signature(function).bind(call, *args, **kwargs)
    except TypeError as error:
        raise TiraxError(f"{name}: {error}", expected=", ".join(composite_parameters(name))) from error
    return function(*bound.args, **bound.kwargs)
