"""Convolutions and pooling, images resized, edges padded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr, ShapeExpr
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, dtype_of, rank_of, shape_of
from ..table import add_rows, row

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def each(value: Any, rank: int) -> list[Any]:
    """A number, or a list of one or of all, as a list of all."""
    values = [value] if isinstance(value, int) else list(value)
    return values * rank if len(values) == 1 else values


def batched(e: Emitter, x: Expr, spatial: int) -> tuple[Expr, bool]:
    """x with a dimension of batch, and whether it had none."""
    alone = rank_of(x) == spatial + 1
    return (e.emit(R.expand_dims(x, 0)) if alone else x), alone


def unbatched(x: Expr, alone: bool) -> Expr:
    """x without the dimension of batch that `batched` added."""
    return R.squeeze(x, axis=[0]) if alone else x


def _with_bias(e: Emitter, result: Expr, bias: Expr | None, spatial: int) -> Expr:
    result = e.emit(result)
    if bias is None:
        return result
    return e.emit(R.add(result, e.emit(R.reshape(bias, ShapeExpr([1, shape_of(bias)[0], *[1] * spatial])))))


def _padding(padding: Any, weight: Expr, dilation: list[int]) -> list[Extent]:
    spatial = len(dilation)
    if not isinstance(padding, str):
        return each(padding, spatial)
    if padding == "valid":
        return [0] * spatial
    total = [d * (k - 1) for d, k in zip(dilation, shape_of(weight)[2:], strict=True)]
    return [*(t // 2 for t in total), *(t - t // 2 for t in total)]


def _convolution(spatial: int) -> Any:
    letters = _SPATIAL[spatial]
    layouts = {"data_layout": f"NC{letters}", "kernel_layout": f"OI{letters}", "out_layout": f"NC{letters}"}
    build = getattr(R.nn, f"conv{spatial}d")

    def convert(
        e: Emitter, input: Expr, weight: Expr, bias: Expr | None = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Expr:  # fmt: skip
        data, alone = batched(e, input, spatial)
        steps, gaps = each(stride, spatial), each(dilation, spatial)
        result = build(
            data, weight, strides=steps, padding=_padding(padding, weight, gaps), dilation=gaps, groups=groups,
            out_dtype=dtype_of(input), **layouts,
        )  # fmt: skip
        return unbatched(_with_bias(e, result, bias, spatial), alone)

    return convert


def _transposed(spatial: int) -> Any:
    letters = _SPATIAL[spatial]
    layouts = {"data_layout": f"NC{letters}", "kernel_layout": f"IO{letters}", "out_layout": f"NC{letters}"}
    build = getattr(R.nn, f"conv{spatial}d_transpose")

    def convert(
        e: Emitter, input: Expr, weight: Expr, bias: Expr | None = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Expr:  # fmt: skip
        data, alone = batched(e, input, spatial)
        result = build(
            data, weight, strides=each(stride, spatial), padding=each(padding, spatial),
            output_padding=each(output_padding, spatial), dilation=each(dilation, spatial), groups=groups,
            out_dtype=dtype_of(input), **layouts,
        )  # fmt: skip
        return unbatched(_with_bias(e, result, bias, spatial), alone)

    return convert


CONVOLUTIONS = {spatial: _convolution(spatial) for spatial in _SPATIAL}
TRANSPOSED = {spatial: _transposed(spatial) for spatial in _SPATIAL}
add_rows((f"conv{s}d", convert) for s, convert in CONVOLUTIONS.items())
add_rows((f"conv_transpose{s}d" + (".input" if s > 1 else ""), convert) for s, convert in TRANSPOSED.items())


@row("convolution")
def convolution(
    e: Emitter, input: Expr, weight: Expr, bias: Expr | None, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> Expr:  # fmt: skip
    """A convolution of any number of dimensions."""
    spatial = rank_of(weight) - 2
    if spatial not in _SPATIAL:
        raise UnsupportedError("convolutions have one to three dimensions", found=spatial)
    if transposed:
        return TRANSPOSED[spatial](e, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return CONVOLUTIONS[spatial](e, input, weight, bias, stride, padding, dilation, groups)


# Pooling.


def _pool_layout(spatial: int) -> dict[str, str]:
    layout = f"NC{_SPATIAL[spatial]}"
    return {"layout": layout, "out_layout": layout}


def _max_pool(spatial: int) -> Any:
    build = getattr(R.nn, f"max_pool{spatial}d")

    def convert(
        e: Emitter, x: Expr, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Expr:  # fmt: skip
        data, alone = batched(e, x, spatial)
        size = each(kernel_size, spatial)
        steps = each(stride, spatial) if isinstance(stride, int) or stride else size
        result = build(
            data, pool_size=size, strides=steps, dilation=each(dilation, spatial), padding=each(padding, spatial),
            ceil_mode=ceil_mode, **_pool_layout(spatial),
        )  # fmt: skip
        return unbatched(result, alone)

    return convert


def _avg_pool(spatial: int) -> Any:
    build = getattr(R.nn, f"avg_pool{spatial}d")

    def convert(
        e: Emitter, x: Expr, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Expr:  # fmt: skip
        if divisor_override is not None:
            raise UnsupportedError("a mean with a divisor of its own")
        data, alone = batched(e, x, spatial)
        size = each(kernel_size, spatial)
        steps = each(stride, spatial) if isinstance(stride, int) or stride else size
        pads = each(padding, spatial)
        counted = {"count_include_pad": count_include_pad} if any(pads) else {}
        result = build(
            data, pool_size=size, strides=steps, dilation=[1] * spatial, padding=pads, ceil_mode=ceil_mode,
            **_pool_layout(spatial), **counted,
        )  # fmt: skip
        return unbatched(result, alone)

    return convert


def _adaptive_avg_pool(spatial: int) -> Any:
    build = getattr(R.nn, f"adaptive_avg_pool{spatial}d")

    def convert(e: Emitter, x: Expr, output_size: Any) -> Expr:
        data, alone = batched(e, x, spatial)
        return unbatched(build(data, output_size=each(output_size, spatial), **_pool_layout(spatial)), alone)

    return convert


MAX_POOLS = {spatial: _max_pool(spatial) for spatial in _SPATIAL}
add_rows((f"max_pool{s}d", convert) for s, convert in MAX_POOLS.items())
add_rows((f"avg_pool{s}d", _avg_pool(s)) for s in _SPATIAL)
add_rows((f"adaptive_avg_pool{s}d", _adaptive_avg_pool(s)) for s in _SPATIAL)
add_rows((f"_adaptive_avg_pool{s}d", _adaptive_avg_pool(s)) for s in (2, 3))


@row("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool_with_indices(
    e: Emitter, x: Expr, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> list[Any]:  # fmt: skip
    """The greatest of each window. Its position is not computed."""
    spatial = len(kernel_size)
    result = MAX_POOLS[spatial](e, x, kernel_size, stride, padding, dilation, ceil_mode)
    return [e.bound(result), None]


# Padding.


def _widths(rank: int, pad: Sequence[int]) -> list[int]:
    """As `nn.pad` has them of what PyTorch counts from the last dimension."""
    pairs = [(pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    pairs += [(0, 0)] * (rank - len(pairs))
    return [width for pair in reversed(pairs) for width in pair]


def padded(e: Emitter, x: Expr, pad: Sequence[Any], mode: str, value: Any = None) -> Expr:
    """x with elements around it; negative widths take some away."""
    if not all(isinstance(p, int) for p in pad):
        raise UnsupportedError("as many elements are put around a tensor as a size says")
    widths = _widths(rank_of(x), pad)
    shape = shape_of(x)
    cut = [(a, max(-widths[2 * a], 0), max(-widths[2 * a + 1], 0)) for a in range(len(shape))]
    for axis, begin, end in cut:
        if begin or end:
            stop = shape[axis] - end
            x = e.emit(R.strided_slice(x, axes=[axis], begin=[begin], end=[stop]))
    widths = [max(w, 0) for w in widths]
    if not any(widths):
        return x
    filler = {} if value is None else {"pad_value": float(value)}
    return R.nn.pad(x, pad_width=widths, pad_mode=mode, **filler)


@row("constant_pad_nd")
def constant_pad_nd(e: Emitter, x: Expr, pad: Sequence[Any], value: Any = 0) -> Expr:
    """x with a value around it."""
    return padded(e, x, pad, "constant", value)


@row("pad")
def pad_(e: Emitter, x: Expr, pad: Sequence[Any], mode: str = "constant", value: Any = None) -> Expr:
    """x with a value, its mirror image, its edge or itself around it."""
    return padded(e, x, pad, mode, 0 if value is None and mode == "constant" else value)


def _edge(mode: str) -> Any:
    return lambda e, x, padding: padded(e, x, padding, mode)


add_rows((f"reflection_pad{s}d", _edge("reflect")) for s in _SPATIAL)
add_rows((f"replication_pad{s}d", _edge("replicate")) for s in _SPATIAL)
