"""ViT: images to the scores of their classes, by a transformer over patches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tirax.tvm_api.relax.frontend import nn

from . import numpy_layers as np_layers
from .layers import PreNormBlock, attention_flop, op
from .workload import Array, Size, Workload


@dataclass(frozen=True)
class Vit(Workload):
    """ViT-base; `(batch, 3, size, size)` -> `(batch, classes)`."""

    name: ClassVar[str] = "vit"
    size: int = 224
    patch: int = 16
    hidden: int = 768
    heads: int = 12
    layers: int = 12
    classes: int = 1000
    epsilon: float = 1e-6

    @property
    def places(self) -> int:
        """The length of the sequence: the class token and the patches."""
        return 1 + (self.size // self.patch) ** 2

    def module(self) -> nn.Module:
        return Model(self)

    def spec(self, batch: Size, length: Size | None) -> dict[str, Any]:
        return {"images": nn.spec.Tensor((batch, 3, self.size, self.size), "float32")}

    def inputs(self, batch: int, length: int | None, seed: int = 0) -> list[Array]:
        return [np.random.default_rng(seed).standard_normal((batch, 3, self.size, self.size), dtype=np.float32)]

    def reference(self, weights: Mapping[str, Array], *inputs: Array) -> Array:
        (images,) = inputs
        patches = np_layers.convolution(images, weights["patches.weight"], self.patch, 0)
        patches = patches + weights["patches.bias"][:, None, None]
        patches = patches.reshape(*patches.shape[:2], self.places - 1).swapaxes(1, 2)
        token = np.broadcast_to(weights["token"], (len(images), 1, self.hidden))
        x = np.concatenate([token, patches], 1) + weights["places"]
        for i in range(self.layers):
            x = np_layers.pre_norm_block(weights, f"blocks.{i}", x, self.heads, self.epsilon)
        x = np_layers.layer_norm(weights, "norm", x, self.epsilon)
        return np_layers.linear(weights, "head", x[:, 0])

    def flop(self, batch: int, length: int | None) -> int:
        blocks = 2 * batch * self.places * 12 * self.hidden**2 + attention_flop(batch, self.places, self.hidden)
        patches = 2 * (self.places - 1) * self.hidden * 3 * self.patch**2
        return self.layers * blocks + batch * (patches + 2 * self.hidden * self.classes)


class Model(nn.Module):
    """The embedding of patches, the blocks, and a linear map of the class token."""

    def __init__(self, config: Vit):
        super().__init__()
        hidden = config.hidden
        self.patches = nn.Conv2D(3, hidden, config.patch, stride=config.patch)
        self.token = nn.Parameter((1, 1, hidden))
        self.places = nn.Parameter((1, config.places, hidden))
        blocks = [PreNormBlock(hidden, config.heads, 4 * hidden, config.epsilon) for _ in range(config.layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(hidden, config.epsilon)
        self.head = nn.Linear(hidden, config.classes)

    def forward(self, images: Any) -> Any:
        """`(batch, 3, size, size)` -> `(batch, classes)`."""
        patches = self.patches(images)
        batch, hidden, rows, columns = patches.shape
        patches = op.permute_dims(op.reshape(patches, [batch, hidden, rows * columns]), [0, 2, 1])
        x = op.concat([op.broadcast_to(self.token, [batch, 1, hidden]), patches], 1) + self.places
        x = self.norm(self.blocks(x))
        token, _ = op.split(x, [1], axis=1)
        return self.head(op.reshape(token, [batch, hidden]))
