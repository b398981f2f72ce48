"""Functions and methods of a traced graph: the row of the table for each, with its arguments.

A name without an entry is the row of the same name. Functions whose overloads are distinguished by
arguments, or that the table lacks, have an adapter here.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...diagnostics import UnsupportedError
from ...handles.relax.expr import Expr, ShapeExpr, const
from ...tables import Table
from ..block_builder import BlockBuilder
from ..importing.random_numbers import RandomNumbers, Seed
from ..importing.relax_operators import R
from .emitter import Emitter, axis_of, cast_to, dtype_of, rank_of, shape_of
from .fx_slicing import sliced
from .table import IGNORED, Converter, lookup

Adapter = Callable[..., Any]

_RENAMED = {
    "and_": "bitwise_and",
    "astype": "to",
    "bitwise_or_": "bitwise_or",
    "concat": "cat",
    "conv_transpose2d": "conv_transpose2d.input",
    "conv_transpose3d": "conv_transpose3d.input",
    "exp_": "exp",
    "flatten": "flatten.using_ints",
    "floordiv": "floor_divide",
    "iadd": "add",
    "imul": "mul",
    "invert": "bitwise_not",
    "isub": "sub",
    "itruediv": "div",
    "ifloordiv": "floor_divide",
    "inv": "bitwise_not",
    "lshift": "bitwise_left_shift",
    "mod": "remainder",
    "or_": "bitwise_or",
    "pos": "positive",
    "rshift": "bitwise_right_shift",
    "select": "select.int",
    "stochastic_depth": "clone",
    "swapaxes": "transpose.int",
    "transpose": "transpose.int",
    "truediv": "div",
    "unbind": "unbind.int",
    "xor": "bitwise_xor",
}
"""Python operators, methods and functions whose rows have other names."""

_SIZES = frozenset(
    ("expand", "flip", "new_empty", "new_ones", "new_zeros", "ones", "permute", "rand", "randn", "repeat", "reshape",
     "tile", "view", "zeros")
)  # fmt: skip
"""Rows whose last argument may be passed as several arguments."""
_WITHOUT_TENSOR = frozenset(("ones", "rand", "randn", "zeros"))

_DTYPES = {"float": "float32", "half": "float16", "double": "float64", "int": "int32", "long": "int64",
           "bool": "bool", "bfloat16": "bfloat16", "short": "int16", "char": "int8", "byte": "uint8"}  # fmt: skip
"""Conversion methods and their dtypes."""

_DROPOUTS = frozenset(("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"))
_ARGUMENT_NAMES = {"input": "x", "self": "x", "tensor": "x"}

_ADAPTERS: Table[Adapter] = Table("adapter")


adapter = _ADAPTERS.row
"""The decorator of an adapter, with the names of its functions or methods."""


class FxEmitter(Emitter):
    """The emitter of adapters. `overrides` are rows by name that take precedence over the table.

    With `keeps_items`, `x[0]` keeps its dimension with extent 1.
    """

    def __init__(
        self, builder: BlockBuilder, overrides: Mapping[str, Converter], keeps_items: bool = False, seed: Seed = None
    ):
        super().__init__(builder, random=RandomNumbers(builder, seed))
        self.overrides = overrides
        self.keeps_items = keeps_items


def function_row(name: str) -> Adapter | None:
    """Return the adapter of a function or method, or None if there is none."""
    if name in _ADAPTERS:
        return _ADAPTERS[name]
    if name in _DROPOUTS:
        return _without_dropout
    if name in _DTYPES:
        return lambda e, x, **kwargs: R.astype(x, dtype=_DTYPES[name])
    if name in _SIZES:
        return _with_sizes(name)
    row = _RENAMED.get(name, name)
    return None if _lookup(row) is None else _called_by_name(row)


class DropoutLeftOut(UserWarning):
    """A warning that dropout in training mode is omitted, since `from_fx` imports models in evaluation mode."""

    def __init__(self, what: str):
        super().__init__(
            f"{what} is left out: from_fx reads a model as it is evaluated; call eval() before it is traced, or import "
            "what torch.export gives"
        )


def _without_dropout(e: FxEmitter, x: Expr, p: float = 0.5, training: bool = True, train: bool = True) -> Expr:
    """Return x, and warn with `DropoutLeftOut` if dropout is active."""
    if p and training and train:
        warnings.warn(DropoutLeftOut("dropout in training"), stacklevel=2)
    return x


def _lookup(name: str) -> Converter | None:
    operator, _, overload = name.partition(".")
    return lookup(operator, overload or "default")


def table_row(e: FxEmitter, name: str, *args: Any, **kwargs: Any) -> Any:
    """Apply a row of the table, by operator or overload name. Raises `UnsupportedError` if there is none."""
    converter = e.overrides.get(name) or _lookup(name)
    if converter is None:
        raise UnsupportedError(f"there is no converter for {name}")
    return converter(e, *args, **kwargs)


def _called_by_name(name: str) -> Adapter:
    """Return an adapter for PyTorch functions whose first argument has another name than in the table."""
    converter = _lookup(name)
    assert converter is not None
    parameters = inspect.signature(converter).parameters

    def call(e: FxEmitter, *args: Any, **kwargs: Any) -> Any:
        named = {_parameter(k, parameters): v for k, v in kwargs.items() if k not in IGNORED}
        return table_row(e, name, *args, **named)

    return call


def _parameter(name: str, parameters: Mapping[str, Any]) -> str:
    return name if name in parameters else _ARGUMENT_NAMES.get(name, name)


def _with_sizes(name: str) -> Adapter:
    def call(e: FxEmitter, *args: Any, **kwargs: Any) -> Any:
        leading = 0 if name in _WITHOUT_TENSOR else 1
        sizes = [kwargs.pop(key) for key in ("size", "shape", "dims", "repeats", "sizes") if key in kwargs]
        plain = {k: v for k, v in kwargs.items() if k not in IGNORED}
        return table_row(e, name, *args[:leading], _sizes(sizes or args[leading:]), **plain)

    return call


def _sizes(values: Sequence[Any]) -> list[Any]:
    """Return sizes passed individually, or as one sequence or shape."""
    if len(values) == 1 and isinstance(values[0], list | tuple | ShapeExpr):
        return list(values[0])
    return list(values)


# Overloads distinguished by their arguments.


def _largest(name: str) -> Adapter:
    def call(e: FxEmitter, x: Expr, other: Any = None, keepdim: bool = False, dim: Any = None) -> Any:
        if isinstance(other, Expr):
            return table_row(e, f"{name}.other", x, other)
        dim = other if dim is None else dim
        return table_row(e, name, x) if dim is None else table_row(e, f"{name}.dim", x, dim, keepdim)

    return call


_ADAPTERS.update({name: _largest(name) for name in ("max", "min")})


def _reduced(name: str, with_dim: str) -> Adapter:
    def call(e: FxEmitter, x: Expr, dim: Any = None, keepdim: bool = False, dtype: str | None = None) -> Any:
        options = {} if dtype is None else {"dtype": dtype}
        if dim is None and not keepdim:
            return table_row(e, name, x, **options)
        return table_row(e, with_dim, x, dim, keepdim, **options)

    return call


for _name, _with_dim in (("sum", "sum.dim_IntList"), ("mean", "mean.dim"), ("prod", "prod.dim_int")):
    _ADAPTERS.add(_name, _reduced(_name, _with_dim))
for _name in ("any", "all"):
    _ADAPTERS.add(_name, _reduced(_name, f"{_name}.dim"))


def _deviation(name: str) -> Adapter:
    def call(
        e: FxEmitter, x: Expr, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: Any = None
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return table_row(e, f"{name}.correction", x, dim, int(unbiased) if correction is None else correction, keepdim)

    return call


_ADAPTERS.update({name: _deviation(name) for name in ("std", "var")})


def _softmax(name: str) -> Adapter:
    def call(e: FxEmitter, x: Expr, dim: int | None = None, _stacklevel: int = 3, dtype: str | None = None) -> Any:
        return table_row(e, f"{name}.int", x, _implicit_dim(x) if dim is None else dim, dtype)

    return call


_ADAPTERS.update({name: _softmax(name) for name in ("softmax", "log_softmax")})


def _implicit_dim(x: Expr) -> int:
    return 0 if rank_of(x) in (0, 1, 3) else 1


@adapter("split")
def _split(e: FxEmitter, x: Expr, split_size_or_sections: Any = None, dim: int = 0, split_size: Any = None) -> Any:
    sizes = split_size if split_size_or_sections is None else split_size_or_sections
    return table_row(e, "split_with_sizes" if isinstance(sizes, list | tuple) else "split.Tensor", x, sizes, dim)


@adapter("squeeze")
def _squeeze(e: FxEmitter, x: Expr, dim: Any = None) -> Any:
    return table_row(e, "squeeze.dim", x, dim) if isinstance(dim, int) else table_row(e, "squeeze", x, dim)


@adapter("scatter", "scatter_")
def _scatter(e: FxEmitter, x: Expr, dim: int, index: Expr, src: Any = None, value: Any = None) -> Any:
    if isinstance(src, Expr):
        return table_row(e, "scatter.src", x, dim, index, src)
    return table_row(e, "scatter.value", x, dim, index, value if src is None else src)


@adapter("where")
def _where(e: FxEmitter, condition: Expr, x: Any, other: Any) -> Any:
    return table_row(e, "where.self", condition, x, other)


@adapter("randint")
def _randint(e: FxEmitter, *args: Any, low: Any = 0, dtype: str | None = None, **kwargs: Any) -> Any:
    *bounds, size = (*args, *(kwargs[k] for k in ("high", "size") if k in kwargs))
    first, last = bounds if len(bounds) == 2 else (low, bounds[0])
    return table_row(e, "randint.low", first, last, size, dtype=dtype)


@adapter("bernoulli", "bernoulli_")
def _bernoulli(e: FxEmitter, x: Expr, p: Any = None, **_: Any) -> Any:
    if p is None and e.node.target != "bernoulli_":
        return table_row(e, "bernoulli", x)
    return table_row(e, "bernoulli.Tensor" if isinstance(p, Expr) else "bernoulli.p", x, 0.5 if p is None else p)


@adapter("arange")
def _arange(e: FxEmitter, *args: Any, dtype: str | None = None, **kwargs: Any) -> Any:
    start, end, step = (kwargs.get(k, d) for k, d in (("start", 0), ("end", None), ("step", 1)))
    if len(args) == 1 and end is None:
        end = args[0]
    elif args:
        start, end, step = (*args, *(start, end, step)[len(args) :])
    return table_row(e, "arange.start_step", start, end, step, dtype=dtype)


@adapter("size")
def _size(e: FxEmitter, x: Expr, dim: int | None = None) -> Any:
    shape = shape_of(x)
    return ShapeExpr(shape) if dim is None else shape[axis_of(dim, len(shape))]


@adapter("getattr")
def _getattr(e: FxEmitter, x: Expr, name: str) -> Any:
    kinds: dict[str, Callable[[], Any]] = {
        "shape": lambda: ShapeExpr(shape_of(x)),
        "dtype": lambda: dtype_of(x),
        "ndim": lambda: rank_of(x),
        "T": lambda: table_row(e, "numpy_T", x),
        "mT": lambda: table_row(e, "mT", x),
        "device": lambda: "cpu",
        "requires_grad": lambda: False,
        "data": lambda: x,
    }
    if name not in kinds:
        raise UnsupportedError(f"the attribute {name} of a tensor")
    return kinds[name]()


@adapter("getitem")
def _getitem(e: FxEmitter, x: Any, index: Any) -> Any:
    return sliced(e, x, index, e.keeps_items)


@adapter("dim", "ndimension")
def _dim(e: FxEmitter, x: Expr) -> int:
    return rank_of(x)


@adapter("is_floating_point")
def _is_floating_point(e: FxEmitter, x: Expr) -> bool:
    return "float" in dtype_of(x)


@adapter("to", "type", "astype")
def _to(e: FxEmitter, x: Expr, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Convert x to the dtype among the arguments; devices, and the dtype that x has, are ignored."""
    targets = [a for a in (*args, dtype, kwargs.get("other")) if isinstance(a, Expr) or _is_dtype(a)]
    if not targets:
        return x
    return R.astype(x, dtype=dtype_of(targets[0]) if isinstance(targets[0], Expr) else targets[0])


def _is_dtype(value: Any) -> bool:
    return isinstance(value, str) and value not in ("cpu", "cuda") and not value.startswith(("cpu:", "cuda:"))


@adapter("contiguous", "clone", "detach", "cpu")
def _same(e: FxEmitter, x: Expr, **kwargs: Any) -> Any:
    return x


@adapter("fill", "fill_")
def _fill(e: FxEmitter, x: Expr, value: Any) -> Any:
    return R.full(ShapeExpr(shape_of(x)), e.tensor(value, dtype_of(x)), dtype=dtype_of(x))


@adapter("zero_")
def _zero(e: FxEmitter, x: Expr) -> Any:
    return _fill(e, x, 0)


@adapter("copy_")
def _copy(e: FxEmitter, x: Expr, src: Expr, non_blocking: bool = False) -> Any:
    return cast_to(src, dtype_of(x))


@adapter("argsort")
def _argsort(e: FxEmitter, x: Expr, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Return int32 positions, as in modules imported by TVM."""
    return R.argsort(x, axis=dim, descending=descending, dtype="int32")


@adapter("tensor")
def _tensor(e: FxEmitter, data: Any, dtype: str | None = None, **kwargs: Any) -> Any:
    import torch

    value = torch.tensor(data)
    return const(value.numpy(), dtype or str(value.dtype).removeprefix("torch."))


@adapter("empty")
def _empty(e: FxEmitter, *size: Any, dtype: str | None = None, **kwargs: Any) -> Any:
    import numpy as np

    return const(np.zeros([int(s) for s in _sizes(size)], dtype or "float32"), dtype or "float32")


@adapter("numel")
def _numel(e: FxEmitter, x: Expr) -> Any:
    return math.prod(shape_of(x))  # pyright: ignore[reportArgumentType] (extents multiply)


# Functions whose rows in the table have other arguments.

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _losses(name: str, row: str) -> None:
    def call(e: FxEmitter, x: Expr, target: Expr, *args: Any, reduction: str = "mean", **kwargs: Any) -> Any:
        return table_row(e, row, x, target, *args, reduction=_REDUCTIONS[reduction], **_known(kwargs))

    _ADAPTERS.add(name, call)


def _known(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in kwargs.items() if v is not None}


_losses("mse_loss", "mse_loss")
_losses("l1_loss", "l1_loss")


@adapter("cross_entropy")
def _cross_entropy(
    e: FxEmitter, x: Expr, target: Expr, weight: Expr | None = None, ignore_index: int = -100,
    reduction: str = "mean", label_smoothing: float = 0.0, **kwargs: Any,
) -> Any:  # fmt: skip
    return table_row(e, "cross_entropy_loss", x, target, weight, _REDUCTIONS[reduction], ignore_index, label_smoothing)


@adapter("nll_loss")
def _nll_loss(
    e: FxEmitter, x: Expr, target: Expr, weight: Expr | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    return table_row(e, "nll_loss_nd", x, target, weight, _REDUCTIONS[reduction], ignore_index)


@adapter("embedding")
def _embedding(e: FxEmitter, input: Expr, weight: Expr, *args: Any, **kwargs: Any) -> Any:
    """Look up rows of `weight`; here the indices come first, in the table second."""
    return table_row(e, "embedding", weight, input)


@adapter("layer_norm")
def _layer_norm(e: FxEmitter, input: Expr, normalized_shape: Any, weight: Any = None, bias: Any = None,
                eps: float = 1e-5, cudnn_enable: bool = True) -> Any:  # fmt: skip
    return table_row(e, "layer_norm", input, list(normalized_shape), weight, bias, eps)


@adapter("batch_norm")
def _batch_norm(e: FxEmitter, input: Expr, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
                training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Any:  # fmt: skip
    return table_row(e, "batch_norm", input, weight, bias, running_mean, running_var, False, momentum, eps, False)


@adapter("einsum")
def _einsum(e: FxEmitter, equation: str, *tensors: Any) -> Any:
    return table_row(e, "einsum", equation, _sizes(tensors))


@adapter("masked_fill", "masked_fill_")
def _masked_fill(e: FxEmitter, x: Expr, mask: Expr, value: Any) -> Any:
    return table_row(e, "masked_fill", x, mask, value)


@adapter("softsign")
def _softsign(e: FxEmitter, x: Expr) -> Any:
    return R.divide(x, e.emit(R.add(e.emit(R.abs(x)), const(1, dtype_of(x)))))


@adapter("tanhshrink")
def _tanhshrink(e: FxEmitter, x: Expr) -> Any:
    return R.subtract(x, e.emit(R.tanh(x)))


@adapter("softmin")
def _softmin(e: FxEmitter, x: Expr, dim: int | None = None, **kwargs: Any) -> Any:
    return R.nn.softmax(e.emit(R.negative(x)), axis=_implicit_dim(x) if dim is None else dim)


_METHODS = {"nearest": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic"}


def _pool(name: str) -> None:
    def call(e: FxEmitter, x: Expr, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
             ceil_mode: bool = False, return_indices: bool = False) -> Any:  # fmt: skip
        if return_indices:
            raise UnsupportedError("the positions of the maxima are results")
        return table_row(e, name, x, kernel_size, stride or (), padding, dilation, ceil_mode)

    _ADAPTERS.add(name, call)


for _name in ("max_pool1d", "max_pool2d", "max_pool3d"):
    _pool(_name)


@adapter("interpolate", "upsample")
def _interpolate(
    e: FxEmitter, x: Expr, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: Any = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """Resize images."""
    if mode not in _METHODS or rank_of(x) != 4 or antialias:
        raise UnsupportedError("images are resized in two dimensions, by nearest, bilinear or bicubic", found=mode)
    old = shape_of(x)[2:]
    new = _pair(size) if size is not None else [_times(n, s) for n, s in zip(old, _pair(scale_factor), strict=True)]
    exact = all(isinstance(a, int) and isinstance(b, int) and b and a % b == 0 for a, b in zip(old, new, strict=True))
    where = "asymmetric" if mode == "nearest" else "align_corners" if align_corners else "half_pixel"
    return R.image.resize2d(
        x, ShapeExpr(new), layout="NCHW", method=_METHODS[mode], coordinate_transformation_mode=where,
        rounding_method="round" if exact or mode != "nearest" else "floor",
        cubic_alpha=-0.75 if mode == "bicubic" else -0.5,
    )  # fmt: skip


def _pair(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | ShapeExpr) else [value, value]


def _times(extent: Any, scale: Any) -> Any:
    if not isinstance(extent, int):
        if float(scale).is_integer():
            return extent * int(scale)
        raise UnsupportedError("a symbolic size is scaled by a number that is no integer")
    return math.floor(extent * scale)


@adapter("masked_scatter")
def _masked_scatter(e: FxEmitter, x: Expr, mask: Expr, source: Expr) -> Any:
    """Return the elements of `source`, in order, at the positions where the mask is set."""
    shape = shape_of(x)
    flat = mask if len(shape) == 1 else e.emit(R.reshape(mask, (-1,)))
    values = source if rank_of(source) == 1 else None
    place = e.emit(R.subtract(e.emit(R.cumsum(flat, axis=0, dtype="int32", exclusive=False)), const(1, "int32")))
    values = e.emit(R.reshape(source, (-1,))) if values is None else values
    taken = e.emit(R.take(values, place, axis=0))
    return R.where(mask, taken if len(shape) == 1 else e.emit(R.reshape(taken, ShapeExpr(shape))), x)
