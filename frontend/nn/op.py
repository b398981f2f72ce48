"""Operators on `nn.Tensor`: each emits a binding named after it into the function that is being exported.

Every Relax operator is here, `op.matmul(a, b)`; those below have names or arguments of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...diagnostics import NameLookupError, unknown_name
from ...dialects.relax import OPERATORS
from ...ir.expr import Expr, Var
from ...ir.relax_ops import binary, call_operator
from ...ir.relax_ops import call_dps_packed as _dps_packed
from .core import Tensor, wrap_nested

_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "floor_divide", "less", "greater")


def _expr(value: Any) -> Any:
    return value.expr_handle if isinstance(value, Tensor) else value


def _exprs(values: Sequence[Any]) -> list[Any]:
    return [_expr(v) for v in values]


def _emit(operator: str, args: Sequence[Any], kwargs: dict[str, Any], name: str | None = None) -> Any:
    given = [_exprs(a) if isinstance(a, tuple | list) else _expr(a) for a in args]
    call = call_operator(operator, *given, **{k: _expr(v) for k, v in kwargs.items()})
    return wrap_nested(call, name or operator.rpartition(".")[2])


def _operator_called(name: str) -> str | None:
    return next((n for n in (f"relax.{name}", f"relax.nn.{name}") if n in OPERATORS), None)


def __getattr__(name: str) -> Callable[..., Any]:
    operator = None if name.startswith("_") else _operator_called(name)
    if operator is None:
        raise AttributeError(str(_unknown(name)))

    def build(*args: Any, name: str | None = None, **kwargs: Any) -> Any:
        if operator.rpartition(".")[2] in _BINARY:
            return wrap_nested(binary(operator.removeprefix("relax."), *_exprs(args)), name or operator[6:])
        return _emit(operator, args, kwargs, name)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = OPERATORS[operator].__doc__
    return build


def _unknown(name: str) -> NameLookupError:
    known = [n.removeprefix("relax.").removeprefix("nn.") for n in OPERATORS]
    return unknown_name("operator", name, known)


def permute_dims(x: Tensor, axes: Sequence[int] | None = None, name: str | None = None) -> Tensor:
    """The dimensions of x in another order, reversed where `axes` is None."""
    hint = _expr(x).name_hint if isinstance(_expr(x), Var) else ""
    return _emit(
        "relax.permute_dims", [x, axes], {}, name or (hint.replace("linear", "matmul") if "linear" in hint else None)
    )


def matmul(a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "matmul") -> Tensor:
    """The matrix product."""
    return _emit("relax.matmul", [a, b], {"out_dtype": out_dtype}, name)


def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """Gaussian error linear unit; `approximate="tanh"` computes it by tanh."""
    return _emit("relax.nn.gelu_tanh" if approximate == "tanh" else "relax.nn.gelu", [x], {}, name)


def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str = "layer_norm",
) -> Tensor:
    """Normalization over the last dimensions, scaled and shifted where weight and bias are given."""
    dims = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    info = {"center": bias is not None, "scale": weight is not None, "epsilon": eps, "axes": list(range(-len(dims), 0))}
    gamma = weight if weight is not None else _filled("relax.ones", dims, x.dtype)
    beta = bias if bias is not None else _filled("relax.zeros", dims, x.dtype)
    return _emit("relax.nn.layer_norm", [x, gamma, beta], info, name)


def _filled(operator: str, dims: Sequence[int], dtype: str) -> Expr:
    return call_operator(operator, tuple(dims), dtype=dtype)


def rms_norm(x: Tensor, weight: Tensor, axes: int | Sequence[int] = -1, epsilon: float = 1e-5) -> Tensor:
    """x / sqrt(mean(x * x) + epsilon) * weight, computed in float32."""
    given = [axes] if isinstance(axes, int) else list(axes)
    wide = call_operator("relax.astype", _expr(x), "float32") if x.dtype != "float32" else _expr(x)
    mean = call_operator("relax.mean", wide * wide, given, keepdims=True)
    normed = wide * call_operator("relax.rsqrt", mean + epsilon)
    out = call_operator("relax.astype", normed, x.dtype) if x.dtype != "float32" else normed
    return wrap_nested(out * _expr(weight), "rms_norm")


def reshape(x: Tensor, shape: Sequence[Any], name: str = "reshape") -> Tensor:
    """The elements of x in another shape; one extent may be -1."""
    return wrap_nested(call_operator("relax.reshape", _expr(x), tuple(shape)), name)


def broadcast_to(x: Tensor, shape: Sequence[Any], name: str = "broadcast_to") -> Tensor:
    """x repeated to fill `shape`."""
    return wrap_nested(call_operator("relax.broadcast_to", _expr(x), tuple(shape)), name)


def concat(x: Sequence[Tensor], dim: int = 0, name: str = "concat") -> Tensor:
    """Tensors joined along a dimension."""
    return wrap_nested(call_operator("relax.concat", _exprs(x), axis=dim), name)


def split(
    ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0, name: str = "split"
) -> tuple[Tensor, ...]:
    """A tensor cut along `axis`."""
    return _emit("relax.split", [ary], {"indices_or_sections": indices_or_sections, "axis": axis}, name)


def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Tensor:
    """A new dimension of extent 1."""
    return _emit("relax.expand_dims", [x], {"axis": [dim]}, name)


def extern(name: str, args: Sequence[Any], out: Tensor) -> Tensor:
    """The result of a packed function that writes into a tensor like `out`."""
    return wrap_nested(_dps_packed(name, _exprs(args), _expr(out).struct_info), name)
