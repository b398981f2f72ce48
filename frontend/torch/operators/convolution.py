"""Convolutions and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr, ShapeExpr
from ....topi import windows
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, dtype_of, plain, rank_of, shape_of
from ..table import add_rows, row

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def each(value: Any, rank: int) -> list[Any]:
    """Expand a number, or a list of one element, to a list of `rank` elements."""
    values = [value] if isinstance(value, int) else list(value)
    return values * rank if len(values) == 1 else values


def spatial_rank(weight: Expr) -> int:
    """Return the number of spatial dimensions of a window. Raises `UnsupportedError` for unsupported numbers."""
    spatial = rank_of(weight) - 2
    if spatial not in SPATIAL:
        raise UnsupportedError("convolutions have one to three dimensions", found=spatial)
    return spatial


def batched(e: Emitter, x: Expr, spatial: int) -> tuple[Expr, bool]:
    """Add a batch dimension if x has none, and return whether it was added."""
    alone = rank_of(x) == spatial + 1
    return (e.emit(R.expand_dims(x, 0)) if alone else x), alone


def unbatched(x: Expr, alone: bool) -> Expr:
    """Remove the batch dimension that `batched` added."""
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
    before, after = _widths_of_same(weight, dilation)
    return [*before, *after]


def _widths_of_same(weight: Expr, dilation: list[int]) -> tuple[list[Extent], list[Extent]]:
    """Return the elements in front of and after each dimension that keep its extent."""
    total = [d * (k - 1) for d, k in zip(dilation, shape_of(weight)[2:], strict=True)]
    return [t // 2 for t in total], [t - t // 2 for t in total]


def convolution_call(data: Expr, weight: Expr, stride: Any, padding: Any, dilation: Any, groups: int) -> Expr:
    """Return a convolution of a batch, unbound."""
    spatial = rank_of(weight) - 2
    letters = SPATIAL[spatial]
    layouts = {"data_layout": f"NC{letters}", "kernel_layout": f"OI{letters}", "out_layout": f"NC{letters}"}
    steps, gaps = each(stride, spatial), each(dilation, spatial)
    return getattr(R.nn, f"conv{spatial}d")(
        data, weight, strides=steps, padding=_padding(padding, weight, gaps), dilation=gaps, groups=groups,
        out_dtype=dtype_of(data), **layouts,
    )  # fmt: skip


def transposed_call(
    data: Expr, weight: Expr, stride: Any, padding: Any, dilation: Any, groups: int, output_padding: Any
) -> Expr:
    """Return a transposed convolution of a batch, unbound."""
    spatial = rank_of(weight) - 2
    letters = SPATIAL[spatial]
    layouts = {"data_layout": f"NC{letters}", "kernel_layout": f"IO{letters}", "out_layout": f"NC{letters}"}
    return getattr(R.nn, f"conv{spatial}d_transpose")(
        data, weight, strides=each(stride, spatial), padding=each(padding, spatial),
        output_padding=each(output_padding, spatial), dilation=each(dilation, spatial), groups=groups,
        out_dtype=dtype_of(data), **layouts,
    )  # fmt: skip


def _convolution(spatial: int) -> Any:
    def convert(
        e: Emitter, input: Expr, weight: Expr, bias: Expr | None = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Expr:  # fmt: skip
        data, alone = batched(e, input, spatial)
        if padding == "same" and not all(isinstance(k, int) for k in shape_of(weight)[2:]):
            before, after = _widths_of_same(weight, each(dilation, spatial))
            pairs = zip(reversed(before), reversed(after), strict=True)
            data, padding = e.bound(padded(e, data, [w for pair in pairs for w in pair], "constant")), 0
        result = convolution_call(data, weight, stride, padding, dilation, groups)
        return unbatched(_with_bias(e, result, bias, spatial), alone)

    return convert


def _transposed(spatial: int) -> Any:
    def convert(
        e: Emitter, input: Expr, weight: Expr, bias: Expr | None = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Expr:  # fmt: skip
        data, alone = batched(e, input, spatial)
        result = transposed_call(data, weight, stride, padding, dilation, groups, output_padding)
        return unbatched(_with_bias(e, result, bias, spatial), alone)

    return convert


CONVOLUTIONS = {spatial: _convolution(spatial) for spatial in SPATIAL}
TRANSPOSED = {spatial: _transposed(spatial) for spatial in SPATIAL}
add_rows((f"conv{s}d", convert) for s, convert in CONVOLUTIONS.items())
add_rows((f"conv_transpose{s}d" + (".input" if s > 1 else ""), convert) for s, convert in TRANSPOSED.items())


@row("convolution")
def convolution(
    e: Emitter, input: Expr, weight: Expr, bias: Expr | None, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> Expr:  # fmt: skip
    """Return a convolution of one to three dimensions."""
    spatial = spatial_rank(weight)
    if transposed:
        return TRANSPOSED[spatial](e, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return CONVOLUTIONS[spatial](e, input, weight, bias, stride, padding, dilation, groups)


# Padding.


def _widths(rank: int, pad: Sequence[Extent]) -> list[Any]:
    """Convert PyTorch's widths, which start from the last dimension, to those of `nn.pad`."""
    pairs = [(pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    pairs += [(0, 0)] * (rank - len(pairs))
    return [width for pair in reversed(pairs) for width in pair]


def padded(e: Emitter, x: Expr, pad: Sequence[Any], mode: str, value: Any = None) -> Expr:
    """Pad x; negative widths crop it."""
    widths = _widths(rank_of(x), pad)
    if not all(isinstance(p, int) for p in pad):
        return _padded_by_sizes(e, x, widths, mode, value)
    filler = {} if value is None else {"pad_value": float(value)}
    if dtype_of(x) == "bool" and value:
        around = padded(e, R.astype(x, dtype="uint8"), pad, mode, 1)
        return R.astype(around, dtype="bool")
    if any(w > 0 for w in widths):
        x = R.nn.pad(x, pad_width=[max(w, 0) for w in widths], pad_mode=mode, **filler)
    return _cropped(e, x, [max(-w, 0) for w in widths])


def _padded_by_sizes(e: Emitter, x: Expr, widths: Sequence[Extent], mode: str, value: Any) -> Expr:
    """Pad x by symbolic widths."""
    before, after = widths[::2], widths[1::2]
    if mode == "constant":
        return e.builder.call_te(windows.pad_constant, x, before, after, value or 0)
    return e.builder.call_te(windows.pad_by, x, list(zip(before, after, strict=True)), mode)


def _cropped(e: Emitter, x: Expr, widths: Sequence[int]) -> Expr:
    """Remove elements at both ends of x."""
    axes = [a for a in range(len(widths) // 2) if widths[2 * a] or widths[2 * a + 1]]
    if not axes:
        return x
    x = e.bound(x)
    shape = shape_of(x)
    ends = [plain(shape[a] - widths[2 * a + 1]) for a in axes]
    return R.strided_slice(x, axes=axes, begin=[widths[2 * a] for a in axes], end=ends)


@row("constant_pad_nd")
def constant_pad_nd(e: Emitter, x: Expr, pad: Sequence[Any], value: Any = 0) -> Expr:
    """Pad x with a constant."""
    return padded(e, x, pad, "constant", value)


@row("pad")
def pad_(e: Emitter, x: Expr, pad: Sequence[Any], mode: str = "constant", value: Any = None) -> Expr:
    """Pad x with a constant, by reflection, replication or circularly."""
    return padded(e, x, pad, mode, 0 if value is None and mode == "constant" else value)


def _edge(mode: str) -> Any:
    return lambda e, x, padding: padded(e, x, padding, mode)


add_rows((f"reflection_pad{s}d", _edge("reflect")) for s in SPATIAL)
add_rows((f"replication_pad{s}d", _edge("replicate")) for s in SPATIAL)
