"""Operators of `nn.op`: layers, attention, calls of tensor functions and packed functions, and printing."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ...diagnostics import ShapeError, TiraxError, UnsupportedError, unknown_name
from ...dialects.sym.expr import SymExpr
from ...handles.relax.calls import binary, call_operator, call_pure_packed, call_tir, call_tir_inplace, to_expr
from ...handles.relax.expr import Expr, PrimValue, ShapeExpr, StringImm, const
from ...handles.struct_info import ObjectStructInfo
from ...handles.tir.dims import Dim
from ...handles.tir.prim_expr import PrimExpr
from ...handles.tir.prim_func import PrimFunc
from .exporter import Exporter
from .extern import emit_dps, infos_of, wrap_like
from .tensor import Tensor, current_builder, emit, get_default_dtype, unwrap, wrap_nested

Sizes = int | Sequence[int] | str | None


def _convolution(
    operator: str, x: Tensor, weight: Tensor, bias: Tensor | None, layout: str, name: str, **attrs: Any
) -> Tensor:
    """Emit a convolution, and add the bias along its channels."""
    call = call_operator(
        f"relax.nn.{operator}", unwrap(x), unwrap(weight), data_layout=layout, out_layout=layout, **attrs
    )
    if bias is not None:
        shape = [bias.shape[0] if axis == "C" else 1 for axis in layout]
        call = binary("add", call, call_operator("relax.reshape", unwrap(bias), tuple(shape)))
    return wrap_nested(call, name)


def _window(weight: Tensor, kernel: str, stride: Any, padding: Sizes, dilation: Any, layout: str) -> dict[str, Any]:
    """Return the attributes of a convolution window; padding may be "valid" or "same" as in PyTorch."""
    return {
        "strides": stride,
        "padding": _padding(weight, kernel, stride, padding, dilation),
        "dilation": dilation,
        "kernel_layout": kernel,
    }


def _padding(weight: Tensor, kernel: str, stride: Any, padding: Sizes, dilation: Any) -> Any:
    if not isinstance(padding, str):
        return padding
    if padding not in ("valid", "same"):
        raise unknown_name("padding", padding, ("valid", "same"))
    if padding == "valid":
        return 0
    if any(s != 1 for s in _each(stride, len(kernel) - 2)):
        raise TiraxError('padding "same" keeps the extents', expected="stride 1", found=stride)
    sizes = [size for size, axis in zip(weight.shape, kernel, strict=True) if axis not in "OI"]
    known = _known(sizes, 'padding "same" needs a kernel of known size')
    total = [d * (s - 1) for s, d in zip(known, _each(dilation, len(sizes)), strict=True)]
    return [*(t // 2 for t in total), *(t - t // 2 for t in total)]


def _known(extents: Sequence[Dim], message: str) -> list[int]:
    static = [extent for extent in extents if isinstance(extent, int)]
    if len(static) < len(extents):
        raise ShapeError(message, found=list(extents))
    return static


def _each(value: Any, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Sizes = 0,
    dilation: Any = 1,
    groups: int = 1,
    name: str = "conv1d",
) -> Tensor:
    """Convolution of NCW data with an OIW kernel."""
    window = _window(weight, "OIW", stride, padding, dilation, "NCW")
    return _convolution("conv1d", x, weight, bias, "NCW", name, groups=groups, **window)


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Sizes = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    name: str = "conv2d",
) -> Tensor:
    """Convolution of NCHW images with an OIHW kernel."""
    window = _window(weight, "OIHW", stride, padding, dilation, data_layout)
    return _convolution("conv2d", x, weight, bias, data_layout, name, groups=groups, **window)


def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Sizes = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCDHW",
    name: str = "conv3d",
) -> Tensor:
    """Convolution of NCDHW volumes with an OIDHW kernel."""
    window = _window(weight, "OIDHW", stride, padding, dilation, data_layout)
    return _convolution("conv3d", x, weight, bias, data_layout, name, groups=groups, **window)


def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Sizes = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    name: str = "conv1d_transpose",
) -> Tensor:
    """Transposed convolution of NCW data with an IOW kernel."""
    window = _window(weight, "IOW", stride, padding, dilation, "NCW")
    return _convolution(
        "conv1d_transpose", x, weight, bias, "NCW", name, groups=groups, output_padding=output_padding, **window
    )


def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str = "layer_norm",
) -> Tensor:
    """Normalization over the last dimensions, with optional scale and shift."""
    dims = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    gamma, beta = _scale(weight, dims, x.dtype, 1.0), _scale(bias, dims, x.dtype, 0.0)
    return emit("nn.layer_norm", x, gamma, beta, axes=list(range(-len(dims), 0)), epsilon=eps, name=name)


def _scale(scale: Tensor | None, shape: Sequence[Dim], dtype: str, neutral: float) -> Expr:
    """Return the scale or shift, or a neutral constant if it is None. Raises `ShapeError` if the shape is unknown."""
    if scale is not None:
        return scale.expr_handle
    return const(np.full(_known(shape, "without weight or bias the extents must be known"), neutral), dtype)


def rms_norm(
    x: Tensor, weight: Tensor, axes: int | Sequence[int], epsilon: float = 1e-5, name: str = "rms_norm"
) -> Tensor:
    """x / sqrt(mean(x * x) + epsilon) * weight over `axes`."""
    return emit("nn.rms_norm", x, weight, axes=axes, epsilon=epsilon, name=name)


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float = 1e-5,
    channel_axis: int = 1,
    axes: Sequence[int] | None = None,
    name: str = "group_norm",
) -> Tensor:
    """Normalization of groups of channels, over the channels of a group and `axes` (None: all from axis 2 on)."""
    channels = [x.shape[channel_axis]]
    gamma, beta = _scale(weight, channels, x.dtype, 1.0), _scale(bias, channels, x.dtype, 0.0)
    over = list(range(2, x.ndim)) if axes is None else list(axes)
    where = {"num_groups": num_groups, "channel_axis": channel_axis, "axes": over}
    return emit("nn.group_norm", x, gamma, beta, **where, epsilon=eps, name=name)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool | None = False,
    scale: float | None = None,
    name: str = "scaled_dot_product_attention",
) -> Tensor:
    """softmax(query @ key.T * scale + attn_mask) @ value of tensors `(batch, length, heads, size)`."""
    causal = "TopLeft" if is_causal else None
    return emit("nn.attention", query, key, value, attn_mask, scale=scale, causal_mask=causal, name=name)


_METHODS = {
    "nearest": ("nearest_neighbor", "asymmetric"),
    "nearest_neighbor": ("nearest_neighbor", "asymmetric"),
    "bilinear": ("linear", "half_pixel"),
    "bicubic": ("cubic", "half_pixel"),
}
"""PyTorch's modes -> the interpolation method and the coordinate transformation."""


def interpolate(
    x: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool | None = None,
    data_layout: str = "NCHW",
    name: str = "interpolate",
) -> Tensor:
    """Resize images to `size`, or by `scale_factor`.

    Raises `NameLookupError` for other modes, and `TiraxError` for `recompute_scale_factor`, `antialias`, or if
    both size and factor are missing.
    """
    if recompute_scale_factor or antialias:
        raise TiraxError("images are interpolated without recompute_scale_factor and antialias")
    if mode not in _METHODS:
        raise unknown_name("mode", mode, _METHODS)
    method, transformation = _METHODS[mode]
    if align_corners and method != "nearest_neighbor":
        transformation = "align_corners"
    extents = [extent for extent, axis in zip(x.shape, data_layout, strict=True) if axis not in "NC"]
    return emit(
        "image.resize2d",
        x,
        tuple(_resized(extents, size, scale_factor)),
        layout=data_layout,
        method=method,
        coordinate_transformation_mode=transformation,
        cubic_alpha=-0.75 if method == "cubic" else -0.5,
        name=name,
    )


def _resized(extents: Sequence[Dim], size: Any, factor: Any) -> list[Any]:
    if size is not None:
        return [size] * len(extents) if not isinstance(size, tuple | list) else list(size)
    if factor is None:
        raise TiraxError("neither size nor scale_factor is given")
    known = _known(extents, "scale_factor needs images of known size")
    factors = [factor] * len(extents) if isinstance(factor, int | float) else list(factor)
    return [int(extent * f) for extent, f in zip(known, factors, strict=True)]


def get_timestep_embedding(
    x: Tensor,
    embedding_dim: int,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1,
    scale: float = 1,
    max_period: int = 10000,
    name: str = "get_timestep_embedding",
) -> Tensor:
    """Return sinusoidal embeddings of time steps, with decreasing frequencies: `(n,)` -> `(n, embedding_dim)`.

    The last column is 0 if `embedding_dim` is odd.
    """
    half = embedding_dim // 2
    steps = call_operator("relax.expand_dims", call_operator("relax.astype", unwrap(x), "float32"), 1)
    places = call_operator("relax.arange", 0, half, 1, dtype="float32")
    falling = binary("multiply", const(-math.log(max_period), "float32"), places)
    powers = call_operator("relax.exp", binary("divide", falling, const(half - downscale_freq_shift, "float32")))
    angles = binary("multiply", steps, call_operator("relax.expand_dims", powers, 0))
    if scale != 1:
        angles = binary("multiply", const(scale, "float32"), angles)
    angles = unwrap(wrap_nested(angles, "lv"))
    order = ("cos", "sin") if flip_sin_to_cos else ("sin", "cos")
    result = call_operator("relax.concat", [call_operator(f"relax.{f}", angles) for f in order], axis=-1)
    if embedding_dim % 2:
        result = call_operator("relax.nn.pad", result, pad_width=[0, 0, 0, 1])
    return wrap_nested(call_operator("relax.astype", result, get_default_dtype()), name)


# Operators of `nn.op`: calls of tensor functions and packed functions, and printing.


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any],
    name_hint: str,
    args: Sequence[Any],
    *,
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Call the tensor function that `tensor_expr_func` defines by tensor expressions; `name_hint` is its name."""
    operands = [PrimValue(a) if isinstance(a, SymExpr) else a for a in unwrap(list(args))]
    call = current_builder().emit_te(tensor_expr_func, *operands, primfunc_name_hint=name_hint, primfunc_attrs=attrs)
    return wrap_nested(call, name_hint)


def tensor_ir_op(func: PrimFunc, name_hint: str, args: Any, out: Any) -> Any:
    """Call a tensor function, and return its results, tensors like `out`: one, or a list or tuple of them.

    Symbolic integers, or at most one shape, among `args` are passed as scalars.
    """
    tensors, scalars = _tir_arguments(args)
    gv = current_builder().add_func(func, name_hint)
    return wrap_like(current_builder().emit(call_tir(gv, tensors, infos_of(out), scalars)), name_hint, out)


def tensor_ir_inplace_op(
    func: PrimFunc, name_hint: str, args: Any, inplace_indices: int | Sequence[int], out: Any
) -> Any:
    """Like `tensor_ir_op`, but output i is written to argument `inplace_indices[i]`, or to a new tensor if that is
    -1.
    """
    tensors, scalars = _tir_arguments(args)
    gv = current_builder().add_func(func, name_hint)
    call = call_tir_inplace(gv, tensors, inplace_indices, infos_of(out), scalars)
    return wrap_like(current_builder().emit(call), name_hint, out)


def _tir_arguments(args: Any) -> tuple[list[Any], Any]:
    """Split arguments into tensors and scalars (None if there are none). Raises `TiraxError`."""
    unwrapped = cast("list[Any]", unwrap(list(args) if isinstance(args, tuple | list) else [args]))
    shapes = [a for a in unwrapped if isinstance(a, ShapeExpr)]
    scalars = [a for a in unwrapped if isinstance(a, SymExpr | PrimExpr | int)]
    tensors = [a for a in unwrapped if not isinstance(a, ShapeExpr | SymExpr | PrimExpr | int)]
    if len(shapes) + bool(scalars) > 1:
        raise TiraxError("scalars of a tensor function are one shape, or integers", found=len(shapes) + len(scalars))
    return tensors, shapes[0].values if shapes else scalars or None


def extern(name: str, args: Sequence[Any], out: Any) -> Any:
    """Call a packed function that writes to tensors like `out`, and return these: one, or a list or tuple of them."""
    return emit_dps(name, args, out)


def debug_func(name: str, *args: Any, _line_info: str | None = None) -> None:
    """Call a packed function `f(line, *args)` at run time. Raises `TiraxError` without `debug=True`."""
    io = Exporter.current().io_effect
    if io is None:
        raise TiraxError(f"{name} needs the effect of input and output", hint="export_tvm(…, debug=True)")
    line = _line_info or _caller()
    values = [PrimValue(a) if isinstance(a, int | float) else to_expr(a) for a in unwrap(list(args))]
    call = call_pure_packed(
        "vm.builtin.invoke_debug_func",
        io.state,
        StringImm(name),
        StringImm(line),
        *values,
        sinfo_args=[ObjectStructInfo()],
    )
    io.set_state([current_builder().emit(call, "_io")])


def print_(tensor: Tensor) -> None:
    """Print a tensor and the source line at run time. Raises as `debug_func`."""
    debug_func("vm.builtin.debug_print", tensor, _line_info=_caller())


def _caller() -> str:
    """Return the line of the model that calls an operator, `file:line`."""
    frame = sys._getframe(2)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _one_worker(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name} exchanges tensors between workers", hint="a program of tirax runs in one process; leave it out"
    )


def ccl_allreduce(x: Tensor, op_type: str = "sum", in_group: bool = True, name: str = "ccl_allreduce") -> Tensor:
    """Unsupported (`UnsupportedError`): there is only one worker."""
    raise _one_worker(name)


def ccl_allgather(x: Tensor, num_workers: int, name: str = "ccl_allgather") -> Tensor:
    """Unsupported (`UnsupportedError`): there is only one worker."""
    raise _one_worker(name)


def ccl_broadcast_from_worker0(x: Tensor, name: str = "broadcast_from_worker") -> Tensor:
    """Unsupported (`UnsupportedError`): there is only one worker."""
    raise _one_worker(name)
