"""linalg's named operations: what each reads and writes, in a notation like einsum's, and what it computes.

    "n(h+y)(w+x)c, yxcf -> nhwf"

A letter is an iterator, parallel if the output has it, else a reduction. `(h+y)` is `h * stride + y * dilation` of the
next stride and dilation of the operation. Operands behind the first two of a product are zero points.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    """An operation: its notation, and how an element is computed: `product`, `max`, `min`, `sum` or `add`."""

    notation: str
    computes: str
    unsigned: bool = False


def _rows(computes: str, table: str, unsigned: bool = False) -> dict[str, Named]:
    rows = (line.split(":") for line in table.strip().splitlines())
    return {f"linalg.{name.strip()}": Named(notation.strip(), computes, unsigned) for name, notation in rows}


BLOCK_NAME = "tirax.block"
"""The attribute with the name of the block of tir that an operation was."""

NAMED: dict[str, Named] = {
    **_rows("product", """
        matmul: mk, kn -> mn
        quantized_matmul: mk, kn, , -> mn
        batch_matmul: bmk, bkn -> bmn
        quantized_batch_matmul: bmk, bkn, , -> bmn
        batch_reduce_matmul: bmk, bkn -> mn
        matvec: mn, n -> m
        vecmat: m, mn -> n
        batch_matvec: bmk, bk -> bm
        batch_vecmat: bk, bkn -> bn
        dot: m, m ->
        mmt4d: mkac, nkbc -> mnab
        batch_mmt4d: zmkac, znkbc -> zmnab
        conv_1d: [w+x], x -> w
        conv_2d: [h+y][w+x], yx -> hw
        conv_3d: [d+z][h+y][w+x], zyx -> dhw
        conv_1d_nwc_wcf: n(w+x)c, xcf -> nwf
        conv_1d_ncw_fcw: nc(w+x), fcx -> nfw
        conv_2d_nhwc_hwcf: n(h+y)(w+x)c, yxcf -> nhwf
        conv_2d_nhwc_hwcf_q: n(h+y)(w+x)c, yxcf, , -> nhwf
        conv_2d_nhwc_fhwc: n(h+y)(w+x)c, fyxc -> nhwf
        conv_2d_nhwc_fhwc_q: n(h+y)(w+x)c, fyxc, , -> nhwf
        conv_2d_nchw_fchw: nc(h+y)(w+x), fcyx -> nfhw
        conv_2d_nchw_fchw_q: nc(h+y)(w+x), fcyx, , -> nfhw
        conv_2d_ngchw_fgchw: ngc(h+y)(w+x), fgcyx -> ngfhw
        conv_2d_ngchw_gfchw: ngc(h+y)(w+x), gfcyx -> ngfhw
        conv_2d_ngchw_gfchw_q: ngc(h+y)(w+x), gfcyx, , -> ngfhw
        conv_2d_nhwgc_gfhwc: n(h+y)(w+x)gc, gfyxc -> nhwgf
        conv_2d_nhwgc_gfhwc_q: n(h+y)(w+x)gc, gfyxc, , -> nhwgf
        conv_3d_ndhwc_dhwcf: n(d+z)(h+y)(w+x)c, zyxcf -> ndhwf
        conv_3d_ndhwc_dhwcf_q: n(d+z)(h+y)(w+x)c, zyxcf, , -> ndhwf
        conv_3d_ncdhw_fcdhw: nc(d+z)(h+y)(w+x), fczyx -> nfdhw
        depthwise_conv_1d_nwc_wc: n(w+x)c, xc -> nwc
        depthwise_conv_1d_ncw_cw: nc(w+x), cx -> ncw
        depthwise_conv_1d_nwc_wcm: n(w+x)c, xcm -> nwcm
        depthwise_conv_2d_nhwc_hwc: n(h+y)(w+x)c, yxc -> nhwc
        depthwise_conv_2d_nchw_chw: nc(h+y)(w+x), cyx -> nchw
        depthwise_conv_2d_nhwc_hwc_q: n(h+y)(w+x)c, yxc, , -> nhwc
        depthwise_conv_2d_nhwc_hwcm: n(h+y)(w+x)c, yxcm -> nhwcm
        depthwise_conv_2d_nhwc_hwcm_q: n(h+y)(w+x)c, yxcm, , -> nhwcm
        depthwise_conv_3d_ndhwc_dhwc: n(d+z)(h+y)(w+x)c, zyxc -> ndhwc
        depthwise_conv_3d_ncdhw_cdhw: nc(d+z)(h+y)(w+x), czyx -> ncdhw
        depthwise_conv_3d_ndhwc_dhwcm: n(d+z)(h+y)(w+x)c, zyxcm -> ndhwcm
    """),
    **_rows("sum", """
        pooling_nhwc_sum: n(h+y)(w+x)c, yx -> nhwc
        pooling_nchw_sum: nc(h+y)(w+x), yx -> nchw
        pooling_nwc_sum: n(w+x)c, x -> nwc
        pooling_ncw_sum: nc(w+x), x -> ncw
        pooling_ndhwc_sum: n(d+z)(h+y)(w+x)c, zyx -> ndhwc
    """),
    **_rows("max", """
        pooling_nhwc_max: n(h+y)(w+x)c, yx -> nhwc
        pooling_nchw_max: nc(h+y)(w+x), yx -> nchw
        pooling_nwc_max: n(w+x)c, x -> nwc
        pooling_ncw_max: nc(w+x), x -> ncw
        pooling_ndhwc_max: n(d+z)(h+y)(w+x)c, zyx -> ndhwc
    """),
    **_rows("min", """
        pooling_nhwc_min: n(h+y)(w+x)c, yx -> nhwc
        pooling_nwc_min: n(w+x)c, x -> nwc
        pooling_ndhwc_min: n(d+z)(h+y)(w+x)c, zyx -> ndhwc
    """),
    **_rows("max", """
        pooling_nhwc_max_unsigned: n(h+y)(w+x)c, yx -> nhwc
        pooling_nwc_max_unsigned: n(w+x)c, x -> nwc
    """, unsigned=True),
    **_rows("min", """
        pooling_nhwc_min_unsigned: n(h+y)(w+x)c, yx -> nhwc
        pooling_nwc_min_unsigned: n(w+x)c, x -> nwc
    """, unsigned=True),
}  # fmt: skip
"""The named operations that have iterators of reduction, by name."""

UNARY = [
    "exp",
    "log",
    "abs",
    "ceil",
    "floor",
    "negf",
    "reciprocal",
    "round",
    "sqrt",
    "rsqrt",
    "square",
    "tanh",
    "erf",
    "copy",
]
BINARY = ["add", "sub", "mul", "div", "div_unsigned", "max", "min", "powf"]
ELEMENTWISE = {**dict.fromkeys(UNARY, 1), **dict.fromkeys(BINARY, 2), "select": 3}
"""The named operations on elements, with the number of their operands."""

Term = tuple[str, ...]
"""An index: an iterator, or two that are added, the second one within a window; `+` at the end without strides."""


def operands_of(notation: str) -> tuple[list[list[Term]], list[Term]]:
    """Return the indices of each input, and of the output."""
    inputs, output = notation.split("->")
    return [_terms(text) for text in inputs.split(",")], _terms(output)


def _terms(text: str) -> list[Term]:
    found = re.findall(r"\((\w)\+(\w)\)|\[(\w)\+(\w)\]|(\w)", text)
    return [(a, b) if a else (c, d, "+") if c else (e,) for a, b, c, d, e in found]


def iterators(inputs: Sequence[Sequence[Term]], output: Sequence[Term]) -> tuple[list[str], int]:
    """Return the iterators, those of the output first, and how many these are."""
    parallel = [letter for term in output for letter in term]
    rest = (letter for operand in inputs for term in operand for letter in term if letter != "+")
    every = list(dict.fromkeys([*parallel, *rest]))
    return every, len(parallel)
