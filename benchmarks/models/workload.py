"""What the models of the benchmarks share: how they are exported, given weights, and checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tirax.tvm_api import relax
from tirax.tvm_api.relax.frontend import nn

Array = np.ndarray
Size = int | str
"""An extent, or the name of a symbolic one."""


class Workload(ABC):
    """A model and the sizes it is made for: a frozen dataclass whose fields are those sizes.

    The defaults are the sizes of the published model, so that tests can ask for small ones.
    """

    name: ClassVar[str]
    default_length: ClassVar[int | None] = None
    """The length of the sequences that are measured; None where the model reads images."""

    @abstractmethod
    def module(self) -> nn.Module:
        """The model itself, its method `forward` the one that is exported."""

    @abstractmethod
    def spec(self, batch: Size, length: Size | None) -> dict[str, Any]:
        """The specs of the inputs of `forward` by name."""

    @abstractmethod
    def inputs(self, batch: int, length: int | None, seed: int = 0) -> list[Array]:
        """Random inputs in the order of `spec`."""

    @abstractmethod
    def reference(self, weights: Mapping[str, Array], *inputs: Array) -> Array:
        """The result in numpy, in the precision of the weights."""

    @abstractmethod
    def flop(self, batch: int, length: int | None) -> int:
        """Floating-point operations of the matrix products and convolutions of a call."""


def export(workload: Workload, batch: Size = "batch", length: Size | None = "length") -> Any:
    """The Relax module of a workload, its weights parameters behind the inputs; any of the sizes may be symbolic."""
    mod, _ = workload.module().export_tvm({"forward": workload.spec(batch, length)})
    return mod


def bind(mod: Any, weights: Mapping[str, Array]) -> Any:
    """The module with its weights as constants."""
    params = {name.replace(".", "_"): value for name, value in weights.items()}
    return relax.transform.BindParams("forward", params)(mod)


def random_weights(workload: Workload, seed: int = 0) -> dict[str, Array]:
    """Weights in float32 such that what goes through the layers keeps its magnitude, from a seed."""
    rng = np.random.default_rng(seed)
    parameters = workload.module().named_parameters()
    return {name: _random(rng, name, tuple(int(d) for d in p.shape)) for name, p in parameters}


def _random(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> Array:
    drawn = rng.standard_normal(shape, dtype=np.float32)
    if len(shape) > 1:
        return drawn / np.float32(np.sqrt(np.prod(shape[1:])))
    if name.endswith(("norm.weight", "variance")):
        return np.float32(1) + np.float32(0.1) * np.abs(drawn)
    return np.float32(0.1) * drawn


def in_double(weights: Mapping[str, Array]) -> dict[str, Array]:
    """The weights in float64, for references."""
    return {name: value.astype(np.float64) for name, value in weights.items()}


def difference(actual: Array, expected: Array) -> float:
    """The greatest absolute difference, as a part of the greatest magnitude that is wanted."""
    return float(np.max(np.abs(actual - expected), initial=0) / np.max(np.abs(expected), initial=1e-30))


def token_ids(vocabulary: int, batch: int, length: int | None, seed: int) -> Array:
    """Random tokens, `(batch, length)` in int64."""
    return np.random.default_rng(seed).integers(0, vocabulary, (batch, length), dtype=np.int64)
