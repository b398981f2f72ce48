"""`from_fx` with the results of TVM 0.20, including those that differ from what the model computes.

The differences are rows here, which take precedence over the table. Each describes its difference, which is
reported to the user as a warning (`TvmDifference`) once per import. `frontend.torch.fx.from_fx` is the
exact importer.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...handles.module import IRModule
from ...handles.relax.expr import Expr, ShapeExpr, TupleGetItem, const
from ...tables import Table
from ..block_builder import BlockBuilder
from ..importing.relax_operators import R
from .emitter import axes_of, dtype_of, rank_of, shape_of
from .fx import FxImporter, InputInfo
from .fx_functions import FxEmitter
from .graph import CustomConverter
from .promotion import operands
from .table import Converter, lookup


class TvmDifference(UserWarning):
    """A warning that TVM's import computes something other than the model."""


def from_fx(
    model: Any,
    input_info: InputInfo,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: Mapping[Any, CustomConverter] | None = None,
) -> IRModule:
    """Like `frontend.torch.fx.from_fx`, with the results of TVM 0.20. Warns with `TvmDifference`."""
    emitter = FxEmitter(BlockBuilder(), {name: _warned(name) for name in _ROWS}, keeps_items=True)
    importer = FxImporter(model, emitter, custom_convert_map or {}, keep_params_as_input)
    return importer.module(input_info, unwrap_unit_return_tuple, no_bind_return_tuple)


_ROWS: Table[tuple[Converter, str]] = Table("form of TVM")


def _row(name: str, difference: str = "") -> Callable[[Converter], Converter]:
    def add(converter: Converter) -> Converter:
        _ROWS.add(name, (converter, difference))
        return converter

    return add


def _warned(name: str) -> Converter:
    """Return a row that warns once of its difference."""
    converter, difference = _ROWS[name]
    warned: list[str] = []

    def call(e: FxEmitter, *args: Any, **kwargs: Any) -> Any:
        if difference and not warned:
            warned.append(name)
            text = f"{name.split('.')[0]}: {difference}; tirax.frontend.torch.fx.from_fx imports what PyTorch computes"
            warnings.warn(text, TvmDifference, stacklevel=2)
        return converter(e, *args, **kwargs)

    return call


@_row("remainder", "the sign of a remainder is that of the dividend")
def _remainder(e: FxEmitter, x: Any, other: Any) -> Expr:
    return R.mod(*operands(e, x, other))


@_row("std.correction", "the deviation is divided by the number of elements, and not by one less")
def _std(e: FxEmitter, x: Expr, dim: Any, correction: Any, keepdim: bool) -> Expr:
    return R.std(x, axis=_axes(x, dim), keepdims=keepdim)


@_row("var.correction", "the variance is divided by the number of elements, and not by one less")
def _var(e: FxEmitter, x: Expr, dim: Any, correction: Any, keepdim: bool) -> Expr:
    return R.variance(x, axis=_axes(x, dim), keepdims=keepdim)


def _axes(x: Expr, dim: Any) -> list[int] | None:
    return None if dim is None else axes_of(dim, rank_of(x))


@_row("sort", "the positions of the elements are left out")
def _sort(e: FxEmitter, x: Expr, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Expr:
    return R.sort(x, axis=dim, descending=descending)


@_row("take", "positions below 0 are not counted from the end")
def _take(e: FxEmitter, x: Expr, index: Expr) -> Expr:
    return R.take(x, e.emit(R.astype(index, dtype="int32")))


@_row("avg_pool2d", "padding is not counted, and a divisor is passed over")
def _avg_pool2d(
    e: FxEmitter, x: Expr, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Expr:  # fmt: skip
    window = _pair(kernel_size)
    return R.nn.avg_pool2d(
        x, pool_size=window, strides=_pair(stride) if stride else window, padding=_pair(padding),
        ceil_mode=ceil_mode, layout="NCHW",
    )  # fmt: skip


def _pair(value: Any) -> list[int]:
    return list(value) if isinstance(value, Sequence) else [value, value]


@_row("batch_norm", "the statistics are marked as those of training, which legalize-ops passes over in TVM")
def _batch_norm(
    e: FxEmitter, input: Expr, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5, cudnn_enabled: bool = True,
) -> Expr:  # fmt: skip
    channels = shape_of(input)[1]
    assert isinstance(channels, int)
    parameters = [
        weight or const([1.0] * channels, dtype_of(input)), bias or const([0.0] * channels, dtype_of(input))
    ]  # fmt: skip
    result = R.nn.batch_norm(input, *parameters, running_mean, running_var, axis=1, epsilon=eps)
    return e.emit(TupleGetItem(e.emit(result), 0))


def _transposed(name: str) -> Converter:
    table = lookup(*name.split("."))
    layout = {"conv_transpose1d": "OIW", "conv_transpose2d.input": "OIHW"}[name]
    operator = {"conv_transpose1d": R.nn.conv1d_transpose, "conv_transpose2d.input": R.nn.conv2d_transpose}[name]

    def call(
        e: FxEmitter, input: Expr, weight: Expr, bias: Expr | None = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Expr:  # fmt: skip
        assert table is not None
        result = e.emit(
            operator(input, weight, strides=stride, padding=padding, output_padding=output_padding, dilation=dilation,
                     groups=groups, kernel_layout=layout, out_dtype=dtype_of(input))
        )  # fmt: skip
        if bias is None:
            return result
        ones = [1] * (rank_of(input) - 2)
        return R.add(result, e.emit(R.reshape(bias, ShapeExpr([1, *shape_of(bias), *ones]))))

    return call


for _name in ("conv_transpose1d", "conv_transpose2d.input"):
    _row(_name, "the kernel is read with its dimensions of input and output channels exchanged")(_transposed(_name))


@_row("clamp")
def _clamp(e: FxEmitter, x: Expr, min: Any = None, max: Any = None) -> Expr:
    """Broadcast tensor bounds to the shape of x, and clip the result between infinities, which gives the same
    values.
    """
    low, high = -math.inf if min is None else min, math.inf if max is None else max
    if isinstance(min, Expr):
        x, low = e.emit(R.maximum(x, e.emit(R.broadcast_to(min, ShapeExpr(shape_of(x)))))), -math.inf
    if isinstance(max, Expr):
        x, high = e.emit(R.minimum(x, e.emit(R.broadcast_to(max, ShapeExpr(shape_of(x)))))), math.inf
    return R.clip(x, low, high)


def _logarithm(base: float) -> Converter:
    return lambda e, x: R.divide(e.emit(R.log(x)), const(math.log(base), dtype_of(x)))


_row("log2")(_logarithm(2.0))
_row("log10")(_logarithm(10.0))


@_row("log1p", "it is not exact near 0")
def _log1p(e: FxEmitter, x: Expr) -> Expr:
    return R.log(R.add(x, const(1, dtype_of(x))))


@_row("sym_size.int")
def _sym_size(e: FxEmitter, x: Expr, dim: int) -> Any:
    """Return a size; a constant one is bound to a variable."""
    extent = shape_of(x)[dim]
    return e.emit(const(extent, "int32")) if isinstance(extent, int) else extent
