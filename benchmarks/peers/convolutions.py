"""Convolutions with constant weights, in both layouts: what the rows are, and the same in jax and torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tirax.tvm_api import relax

Array = np.ndarray


@dataclass(frozen=True)
class Convolution:
    """A square image of `size`² places, `channels` to `made` channels by a window of `window`², batch 1."""

    name: str
    size: int
    channels: int
    outputs: int
    window: int
    stride: int = 1
    groups: int = 1

    @property
    def padding(self) -> int:
        return self.window // 2

    @property
    def out_size(self) -> int:
        return (self.size + 2 * self.padding - self.window) // self.stride + 1

    @property
    def flop(self) -> int:
        return 2 * self.out_size**2 * self.outputs * self.channels // self.groups * self.window**2

    def arrays(self) -> tuple[Array, Array]:
        """The image in NCHW and the weights in OIHW."""
        rng = np.random.default_rng(self.size)
        shapes = (
            (1, self.channels, self.size, self.size),
            (self.outputs, self.channels // self.groups, *[self.window] * 2),
        )
        image, weights = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
        return image, weights


CONVOLUTIONS = (
    Convolution("conv3x3 56x56x64", 56, 64, 64, 3),
    Convolution("conv1x1 56x56x64", 56, 64, 64, 1),
    Convolution("conv3x3/2 56x56x128", 56, 128, 128, 3, stride=2),
    Convolution("conv7x7/2 224x224x3", 224, 3, 64, 7, stride=2),
    Convolution("grouped3x3 56x56x128", 56, 128, 128, 3, groups=32),
    Convolution("depthwise3x3 56x56x128", 56, 128, 128, 3, groups=128),
)
LAYOUTS = {"NCHW": "OIHW", "NHWC": "HWIO"}
"""Of the data, and of the kernel beside it."""


def module(conv: Convolution, layout: str) -> Any:
    """The Relax module: `forward` of one image."""
    image, weights = _in_layout(conv, layout)
    x = relax.Var("x", relax.TensorStructInfo(image.shape, "float32"))
    builder = relax.BlockBuilder()
    options = {"strides": conv.stride, "padding": conv.padding, "groups": conv.groups}
    with builder.function("forward", [x]):
        with builder.dataflow():
            kernel = relax.const(weights, "float32")
            named = {"data_layout": layout, "kernel_layout": LAYOUTS[layout]}
            out = builder.emit_output(relax.op.nn.conv2d(x, kernel, **options, **named))
        builder.emit_func_output(out)
    return builder.get()


def image(conv: Convolution, layout: str) -> Array:
    """What `forward` is called with."""
    return _in_layout(conv, layout)[0]


def _in_layout(conv: Convolution, layout: str) -> tuple[Array, Array]:
    x, weights = conv.arrays()
    if layout == "NHWC":
        x, weights = x.transpose(0, 2, 3, 1), weights.transpose(2, 3, 1, 0)
    return np.ascontiguousarray(x), np.ascontiguousarray(weights)


def in_numpy(conv: Convolution, layout: str, dtype: Any, *_: Any) -> Array:
    """A product of matrices for each place of the window; the image is `image(conv, layout)`."""
    x, weights = (a.astype(dtype) for a in conv.arrays())
    x = np.pad(x, [(0, 0), (0, 0), *[(conv.padding, conv.padding)] * 2])
    step, size = conv.stride, conv.out_size
    x = x.reshape(conv.groups, -1, *x.shape[2:])
    weights = weights.reshape(conv.groups, -1, *weights.shape[1:])
    out = np.zeros((conv.groups, weights.shape[1], size**2), dtype)
    for dy, dx in np.ndindex(conv.window, conv.window):
        places = x[:, :, dy:, dx:][:, :, : step * size : step, : step * size : step]
        out += weights[..., dy, dx] @ places.reshape(conv.groups, -1, size**2)
    actual = out.reshape(1, conv.outputs, size, size)
    return actual if layout == "NCHW" else actual.transpose(0, 2, 3, 1)


def in_jax(conv: Convolution, layout: str, x: Any) -> Any:
    """The convolution of jax.lax."""
    import jax

    pads, numbers = [(conv.padding, conv.padding)] * 2, (layout, LAYOUTS[layout], layout)
    weights = _in_layout(conv, layout)[1]
    return jax.lax.conv_general_dilated(
        x, weights, (conv.stride, conv.stride), pads, dimension_numbers=numbers, feature_group_count=conv.groups
    )


def in_torch(conv: Convolution, layout: str) -> Any:
    """The convolution of torch, which has NHWC as a format of the memory."""
    import torch

    weights = torch.from_numpy(conv.arrays()[1])
    options = {"stride": conv.stride, "padding": conv.padding, "groups": conv.groups}
    if layout == "NCHW":
        return lambda x: torch.nn.functional.conv2d(x, weights, **options)
    weights = weights.to(memory_format=torch.channels_last)
    return lambda x: torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), weights, **options).permute(0, 2, 3, 1)


FRAMEWORKS = {
    "numpy": lambda conv, layout: partial(in_numpy, conv, layout, np.float32),
    "jax.numpy": lambda conv, layout: partial(in_jax, conv, layout),
    "torch": in_torch,
}
"""By the name of the array module: `(convolution, layout)` -> the function of the image."""


def in_array_module(conv: Convolution, layout: str) -> Callable[..., Any]:
    """`array(xp, x)`: the convolution as the framework of an array module has it."""
    result: dict[str, Callable[..., Any]] = {}

    def array(xp: Any, x: Any) -> Any:
        if xp.__name__ not in result:
            result[xp.__name__] = FRAMEWORKS[xp.__name__](conv, layout)
        return result[xp.__name__](x)

    return array
