"""ResNet: images to the scores of their classes, by convolutions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tirax.tvm_api import relax
from tirax.tvm_api.relax.frontend import nn

from . import numpy_layers as np_layers
from .layers import mean, op
from .workload import Array, Size, Workload

EPSILON = 1e-5
WIDER = 4
"""What comes out of a block has so many times the channels of what is computed inside of it."""


@dataclass(frozen=True)
class ResNet(Workload):
    """ResNet-50; `(batch, 3, size, size)` -> `(batch, classes)`."""

    name: ClassVar[str] = "resnet"
    size: int = 224
    width: int = 64
    depths: tuple[int, ...] = (3, 4, 6, 3)
    classes: int = 1000

    def module(self) -> nn.Module:
        return Model(self)

    def spec(self, batch: Size, length: Size | None) -> dict[str, Any]:
        return {"images": nn.spec.Tensor((batch, 3, self.size, self.size), "float32")}

    def inputs(self, batch: int, length: int | None, seed: int = 0) -> list[Array]:
        return [np.random.default_rng(seed).standard_normal((batch, 3, self.size, self.size), dtype=np.float32)]

    def blocks(self) -> Iterator[tuple[int, int, int]]:
        """The channels that come in, those inside, and the stride of each block."""
        channels = self.width
        for stage, depth in enumerate(self.depths):
            inner = self.width << stage
            for i in range(depth):
                yield channels, inner, 2 if stage and not i else 1
                channels = inner * WIDER

    def reference(self, weights: Mapping[str, Array], *inputs: Array) -> Array:
        (images,) = inputs
        x = np.maximum(_normalized(weights, "stem", images, 2, 3), 0)
        x = np_layers.max_pool(x, 3, 2, 1)
        for i, (_, _, stride) in enumerate(self.blocks()):
            name = f"blocks.{i}"
            y = np.maximum(_normalized(weights, f"{name}.reduce", x, 1, 0), 0)
            y = np.maximum(_normalized(weights, f"{name}.window", y, stride, 1), 0)
            y = _normalized(weights, f"{name}.expand", y, 1, 0)
            shortcut = f"{name}.shortcut"
            if f"{shortcut}.convolution.weight" in weights:
                x = _normalized(weights, shortcut, x, stride, 0)
            x = np.maximum(x + y, 0)
        return np_layers.linear(weights, "head", x.mean((2, 3)))

    def flop(self, batch: int, length: int | None) -> int:
        rows = self.size // 2
        total = 2 * rows**2 * 3 * self.width * 49
        rows //= 2
        for channels, inner, stride in self.blocks():
            total += 2 * rows**2 * channels * inner
            rows //= stride
            total += 2 * rows**2 * inner * (9 * inner + WIDER * inner)
            if channels != inner * WIDER:
                total += 2 * rows**2 * channels * inner * WIDER
        return batch * (total + 2 * channels_out(self) * self.classes)


def channels_out(config: ResNet) -> int:
    """The channels of the last block's result."""
    return (config.width << len(config.depths) - 1) * WIDER


def _normalized(w: Mapping[str, Array], name: str, x: Array, stride: int, padding: int) -> Array:
    y = np_layers.convolution(x, w[f"{name}.convolution.weight"], stride, padding)
    scale = w[f"{name}.norm.weight"] / np.sqrt(w[f"{name}.norm.variance"] + EPSILON)
    return y * scale[:, None, None] + (w[f"{name}.norm.bias"] - w[f"{name}.norm.mean"] * scale)[:, None, None]


class BatchNorm(nn.Module):
    """Normalization by channel with the mean and variance of the training data."""

    def __init__(self, channels: int):
        super().__init__()
        self.weight, self.bias, self.mean, self.variance = (nn.Parameter((channels,)) for _ in range(4))

    def forward(self, x: Any) -> Any:
        """The first of the three results of the operator: the others are the mean and variance, as they were."""
        values = (p.expr_handle for p in (x, self.weight, self.bias, self.mean, self.variance))
        return op.wrap_nested(relax.op.nn.batch_norm(*values, axis=1, epsilon=EPSILON, training=False), "batch_norm")[0]


class Convolution(nn.Module):
    """A convolution without a bias, and its norm."""

    def __init__(self, channels: int, out: int, size: int, stride: int = 1):
        super().__init__()
        self.convolution = nn.Conv2D(channels, out, size, stride, size // 2, bias=False)
        self.norm = BatchNorm(out)

    def forward(self, x: Any) -> Any:
        """NCHW."""
        return self.norm(self.convolution(x))


class Block(nn.Module):
    """A bottleneck: 1×1, 3×3 with the stride, 1×1, added to what came in."""

    def __init__(self, channels: int, inner: int, stride: int):
        super().__init__()
        out = inner * WIDER
        self.reduce = Convolution(channels, inner, 1)
        self.window = Convolution(inner, inner, 3, stride)
        self.expand = Convolution(inner, out, 1)
        self.shortcut = Convolution(channels, out, 1, stride) if channels != out else nn.Identity()

    def forward(self, x: Any) -> Any:
        """`(batch, channels, rows, columns)` -> `(batch, 4 * inner, rows / stride, columns / stride)`."""
        y = op.relu(self.window(op.relu(self.reduce(x))))
        return op.relu(self.shortcut(x) + self.expand(y))


class Model(nn.Module):
    """The stem, the blocks, and a linear map of the mean over all places."""

    def __init__(self, config: ResNet):
        super().__init__()
        self.stem = Convolution(3, config.width, 7, 2)
        self.blocks = nn.ModuleList([Block(*sizes) for sizes in config.blocks()])
        self.head = nn.Linear(channels_out(config), config.classes)

    def forward(self, images: Any) -> Any:
        """`(batch, 3, size, size)` -> `(batch, classes)`."""
        x = op.relu(self.stem(images))
        pooled = relax.op.nn.max_pool2d(x.expr_handle, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
        x = self.blocks(op.wrap_nested(pooled, "max_pool"))
        return self.head(mean(x, (2, 3)))
