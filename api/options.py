"""The options of `tirax.compile`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Options:
    """How a model is read and compiled; `tirax.compile` describes the fields."""

    args: tuple[Any, ...] | None = None
    kwargs: Mapping[str, Any] | None = None
    dynamic_shapes: Any = None
    input_shapes: Mapping[str, Sequence[Any]] | None = None
    params: Mapping[str, Any] | None = None
    target: Any = None
    pipeline: Any = "default-cpu"
    function: str | None = None
    fallback: str = "torch"
