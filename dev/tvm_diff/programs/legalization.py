"""The tensor functions of operators that TVM's `topi` writes in stages of its own: each option, static and symbolic."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..rows import Row

_SHAPES = {
    "pool1d": ("2, 4, 32",),
    "pool2d": ("2, 4, 32, 32",),
    "pool3d": ("2, 4, 32, 32, 32",),
    "blocked": ("2, 4, 32, 32, 16",),
    "conv1d": ("2, 3, 28", "4, 3, 3"),
    "conv2d": ("2, 3, 28, 28", "4, 3, 3, 3"),
    "channels last": ("2, 28, 28, 3", "4, 3, 3, 3"),
    "grouped": ("2, 128, 28, 28", "48, 16, 3, 3"),
    "conv1d_transpose": ("2, 3, 28", "3, 4, 3"),
    "conv2d_transpose": ("2, 3, 28, 28", "3, 4, 3, 3"),
    "classes": ("3, 5, 10, 10", "3, 10, 10: int64", "5"),
    "one sample": ("5", ": int64", "5"),
    "gradient": ("3, 2, 6, 5", "3, 2, 10, 10"),
    "rows": ("2, 3, 4, 5", "4, 5", "4, 5"),
}
_STEPS = ("pool_size=3", "pool_size=5, strides=2, padding=1", "pool_size=3, strides=2, ceil_mode=True")
_CALLS = {
    "pool1d": tuple(f"nn.max_pool1d(x, {s})" for s in _STEPS),
    "pool2d": (
        *(f"nn.{kind}_pool2d(x, {s})" for kind in ("max", "avg") for s in (*_STEPS, "pool_size=3, dilation=2")),
        'nn.max_pool2d(x, out_layout="NHWC")',
        'nn.avg_pool2d(x, pool_size=3, layout="NHWC")',
        "nn.avg_pool2d(x, pool_size=3, padding=1, count_include_pad=True)",
        "nn.adaptive_avg_pool2d(x, 8)",
        "nn.adaptive_avg_pool2d(x, [8, 1])",
        'nn.adaptive_avg_pool2d(x, out_layout="NHWC")',
    ),
    "pool3d": ("nn.max_pool3d(x, pool_size=[2, 3, 3], strides=2)", "nn.adaptive_avg_pool3d(x, 1)"),
    "blocked": (
        'nn.max_pool2d(x, layout="NCHW16c", pool_size=2)',
        'nn.avg_pool2d(x, layout="NCHW16c", pool_size=2)',
        'nn.adaptive_avg_pool2d(x, 1, layout="NCHW16c")',
    ),
    "conv1d": (
        "nn.conv1d(x, y, padding=1)",
        "nn.conv1d(x, y, padding=[1, 3], strides=2, dilation=2)",
        'nn.conv1d(x, y, out_layout="NWC")',
    ),
    "conv2d": (
        "nn.conv2d(x, y, padding=1)",
        "nn.conv2d(x, y, strides=(2, 1), dilation=2)",
        'nn.conv2d(x, y, out_layout="NHWC")',
        'nn.conv2d(x, y, out_dtype="float16")',
    ),
    "channels last": ('nn.conv2d(x, y, data_layout="NHWC", kernel_layout="OHWI", padding=1)',),
    "grouped": ("nn.conv2d(x, y, groups=8)",),
    "conv1d_transpose": (
        "nn.conv1d_transpose(x, y, padding=1)",
        "nn.conv1d_transpose(x, y, strides=2, padding=1, output_padding=1)",
        "nn.conv1d_transpose(x, y, groups=3)",
        "nn.conv1d_transpose(x, y, dilation=2)",
    ),
    "conv2d_transpose": (
        "nn.conv2d_transpose(x, y)",
        "nn.conv2d_transpose(x, y, strides=3, output_padding=[2, 1])",
        "nn.conv2d_transpose(x, y, groups=3)",
        'nn.conv2d_transpose(x, y, out_layout="NHWC")',
    ),
    "classes": (
        *(f'nn.nll_loss(x, y, z, reduction="{r}")' for r in ("mean", "sum", "none")),
        'nn.nll_loss(x, y, reduction="sum", ignore_index=1)',
    ),
    "one sample": ('nn.nll_loss(x, y, z, reduction="sum")',),
    "gradient": (
        "grad.avg_pool2d_backward(x, y, (5, 5), (2, 2), (2, 1, 2, 1), (1, 1), True)",
        "grad.max_pool2d_backward(x, y, (5, 5), (2, 2), (2, 1, 2, 1), (1, 1), True)",
    ),
    "rows": ("nn.layer_norm(x, y, z, axes=[-2, -1])", "nn.rms_norm(x, y, axes=[-2, -1])"),
}
_RECIPROCAL = "0.20 multiplies by the reciprocal of a constant"
_CHANNELS = "the block of channels of a result is that of the layout"
_ORDER = "the terms of an extent are in another order"
_REASONS = (
    (
        r"adaptive_avg_pool2d\(x, (8|\[8, 1\])\)$|pool3d, .*adaptive\S*\(x, 1\)$|blocked, .*adaptive.*c\"\)$",
        _RECIPROCAL,
    ),
    (r"adaptive_avg.*symbolic", "windows of symbolic extents are not known to be equal"),
    (r"blocked, .*symbolic", _CHANNELS),
    (r"grouped, .*symbolic", "0.20 keeps groups of symbolic channels as operators"),
    (r"conv\dd_transpose\(x, y(, (padding|strides|groups).*)?\), symbolic", _ORDER),
    (r"conv1d_transpose\(x, y, dilation", "0.20 keeps dilated kernels as operators"),
    (r"classes, .*mean|one sample", "0.20 numbers a block without axes by an int32"),
    (r"gradient, .*avg|gradient, .*symbolic", "0.20 leaves quotients that round towards zero as they are"),
    (r"rows, .*layer_norm", "0.20 sums elements and squares in one pass"),
    (r"rows, .*rms_norm\(x, y, axes=\[-2, -1\]\)$", _RECIPROCAL),
)
"""By a pattern of branches."""


def _annotation(shape: str, symbolic: bool) -> tuple[str, list[str]]:
    extents, _, dtype = shape.partition(":")
    names = [e.strip() for e in extents.split(",") if e.strip()]
    own = [f"d{e}" if symbolic and e != "1" else e for e in names]
    texts = [f'"{e}"' if e.startswith("d") else e for e in own]
    info = f'R.Tensor(({"".join(f"{t}, " for t in texts)}), "{dtype.strip() or "float32"}")'
    return info, [e for e in own if e.startswith("d")]


def _rows() -> Iterator[Row]:
    for kind, calls in _CALLS.items():
        for call in calls:
            for symbolic in (False, True):
                used = [n for n in "xyz" if re.search(rf"\b{n}\b", call)]
                infos = [_annotation(s, symbolic) for s in _SHAPES[kind]]
                params = ", ".join(f"{n}: {info}" for n, (info, _) in zip("xyz", infos, strict=False) if n in used)
                branch = f"{kind}, {call}{', symbolic' if symbolic else ''}"
                program = f"@R.function\ndef main({params}):\n    gv = R.{call}\n    return gv\n"
                reason = next((text for pattern, text in _REASONS if re.search(pattern, branch)), "")
                yield Row("relax.LegalizeOps()", branch, program, reason=reason)


ROWS = list(_rows())
