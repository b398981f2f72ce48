"""Convolutions, transposed convolutions, integer convolutions, and Col2Im."""

from __future__ import annotations

from ....handles.relax.expr import Expr
from ....topi.sampling import deformable_convolution
from ....topi.windows import col2im
from ..node import Node
from ..table import MICROSOFT, converter
from ..values import Value, as_value, op
from .activations import activation
from .windows import LAYOUTS, by_channel, padded, spatial_rank, window_of


def convolved(node: Node, x: Value, weight: Value, out_dtype: str | None = None) -> Expr:
    """Return the convolution of a node, without its bias."""
    rank = spatial_rank(node, x)
    layout = LAYOUTS[rank]
    window = window_of(node, x, weight.sizes[2:] if weight.type.dims is not None else node.attr("kernel_shape"))
    data, padding = padded(node, x, window, 0)
    more = {} if out_dtype is None else {"out_dtype": out_dtype}
    return op(
        f"nn.conv{rank}d",
        data,
        weight,
        strides=list(window.strides),
        padding=padding,
        dilation=list(window.dilations),
        groups=node.attr("group", 1),
        data_layout=layout,
        kernel_layout=f"OI{layout[2:]}",
        **more,
    )


@converter("Conv")
def conv(node: Node, x: Value, weight: Value, bias: Value | None = None) -> Expr:
    """Return a convolution over one to three dimensions."""
    y = convolved(node, x, weight)
    return y if bias is None else op("add", y, by_channel(bias, x.rank - 2))


@converter("FusedConv", domain=MICROSOFT)
def fused_conv(node: Node, x: Value, weight: Value, bias: Value | None = None, addend: Value | None = None) -> Expr:
    """Return the activation of a convolution plus an optional addend."""
    y = conv(node, x, weight, bias)
    y = y if addend is None else op("add", y, addend)
    name = node.attr("activation")
    parameters = node.attr("activation_params", [])
    return y if not name else activation(node, name, *parameters)(as_value(node.emit(y)))


@converter("ConvInteger")
def conv_integer(
    node: Node, x: Value, weight: Value, x_zero: Value | None = None, weight_zero: Value | None = None
) -> Expr:
    """Return the integer sums; padding has the value of the zero point, so that it contributes nothing."""
    return convolved(node, shifted(x, x_zero), shifted(weight, weight_zero, 0), "int32")


def shifted(x: Value, zero: Value | None, axis: int | None = None) -> Value:
    """Return `x` minus its zero point as 32-bit integers; the zero point is a scalar or a vector along `axis`."""
    wide, by = op("astype", x, dtype="int32"), zero_point(zero, x, axis)
    return as_value(wide if by is None else op("subtract", wide, by))


def zero_point(zero: Value | None, x: Value, axis: int | None) -> Expr | None:
    """Return a zero point as int32, broadcast to `x`: a scalar or a vector along `axis`; None if it is 0."""
    if zero is None or (zero.array is not None and not zero.array.any()):
        return None
    wide = op("astype", zero, dtype="int32")
    if axis is not None and zero.rank == 1 and zero.dims[0].constant != 1:
        return op("reshape", wide, [-1 if i == axis else 1 for i in range(x.rank)])
    return op("reshape", wide, ()) if zero.rank else wide


@converter("ConvTranspose")
def conv_transpose(node: Node, x: Value, weight: Value, bias: Value | None = None) -> Expr:
    rank = spatial_rank(node, x)
    layout, size = LAYOUTS[rank], weight.sizes[2:]
    strides, dilations = node.attr("strides") or [1] * rank, node.attr("dilations") or [1] * rank
    extra = list(node.attr("output_padding") or [0] * rank)
    padding = _transposed_padding(node, x, size, strides, dilations, extra)
    y = op(
        f"nn.conv{rank}d_transpose",
        x,
        weight,
        strides=strides,
        padding=padding,
        output_padding=extra,
        dilation=dilations,
        groups=node.attr("group"),
        data_layout=layout,
        kernel_layout=f"IO{layout[2:]}",
    )
    return y if bias is None else op("add", y, by_channel(bias, rank))


@converter("ConvTransposeWithDynamicPads", domain=MICROSOFT)
def conv_transpose_of_pads(
    node: Node, x: Value, weight: Value, pads: Value | None = None, bias: Value | None = None
) -> Expr:
    own = {} if pads is None else {"pads": node.ints("pads", pads)}
    return conv_transpose(node.with_attributes({"group": 1, **node.attributes, **own}), x, weight, bias)


def _transposed_padding(
    node: Node, x: Value, size: list[int], strides: list[int], dilations: list[int], extra: list[int]
) -> list[int]:
    """Return the padding [before…, after…]; `extra` is added at the end if the result exceeds the data."""
    shape, mode, rank = node.attr("output_shape"), node.attr("auto_pad", "NOTSET"), len(size)
    if not shape and mode in ("NOTSET", "VALID"):
        return node.attr("pads") if mode == "NOTSET" and node.attr("pads") else [0] * (2 * rank)
    before, after = [0] * rank, [0] * rank
    for i, (k, s, d) in enumerate(zip(size, strides, dilations, strict=True)):
        total = (k - 1) * d + 1 - s + extra[i]
        if shape:
            total += (x.sizes[2 + i]) * s - shape[-rank:][i]
        if total < 0:
            extra[i] -= total
            total = 0
        less = total // 2
        before[i], after[i] = (total - less, less) if mode == "SAME_LOWER" else (less, total - less)
        if shape and mode != "SAME_UPPER":
            before[i], after[i] = total - less, less
    return before + after


@converter("Col2Im")
def col_to_image(node: Node, x: Value, image: Value, block: Value) -> Expr:
    """Place blocks at their positions in an image, adding overlapping ones."""
    size = node.ints("block_shape", block)
    rank = len(size)
    strides, dilations = node.attr("strides") or [1] * rank, node.attr("dilations") or [1] * rank
    pads = node.attr("pads") or [0] * (2 * rank)
    padding = list(zip(pads[:rank], pads[rank:], strict=True))
    return node.call_te(col2im, x, node.extents(image), size, strides, dilations, padding)


@converter("DeformConv")
def deform_conv(
    node: Node, x: Value, weight: Value, offset: Value, bias: Value | None = None, mask: Value | None = None
) -> Expr:
    """Return a convolution with sampling points moved by `offset` and weighted by `mask`."""
    window = window_of(node, x, weight.sizes[2:])
    if window.padding is None or len(window.size) != 2:
        raise node.unsupported("windows over other than two dimensions")
    y = node.call_te(
        deformable_convolution,
        x,
        weight,
        offset,
        mask,
        list(zip(window.padding[:2], window.padding[2:], strict=True)),
        list(window.strides),
        list(window.dilations),
        node.attr("group"),
        node.attr("offset_group"),
    )
    return y if bias is None else op("add", y, by_channel(bias, 2))
