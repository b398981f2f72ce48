"""The options of `tirax.compile`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..runtime.errors import ArgumentError


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
    fallback: str = "auto"
    validate: str | None = None

    def fallback_in(self, framework: str) -> str:
        """Return the option `fallback` of an importer. Raises `ArgumentError` for an unknown one."""
        if self.fallback not in ("auto", "error"):
            raise ArgumentError(f"unknown fallback '{self.fallback}'", expected="auto or error")
        return framework if self.fallback == "auto" else "error"
