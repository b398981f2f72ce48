"""A summary of a model, for inspection before the import."""

from __future__ import annotations

from dataclasses import dataclass

from .report import Coverage


@dataclass(frozen=True)
class Summary:
    """A model: format and versions, inputs and outputs as text (`x: float32[n, 3]`), weights, operators."""

    title: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights: int
    weight_bytes: int
    coverage: Coverage

    def __str__(self) -> str:
        return "\n".join(
            (
                self.title,
                *(f"input {text}" for text in self.inputs),
                *(f"output {text}" for text in self.outputs),
                f"weights: {self.weights}, {self.weight_bytes} bytes",
            )
        )


def tensor_text(name: str, dtype: str, shape: tuple[object, ...] | None) -> str:
    """Format a tensor as `x: float32[n, 3]`, with `...` for an unknown rank and `?` for an unnamed extent."""
    dims = "..." if shape is None else ", ".join("?" if d is None else str(d) for d in shape)
    return f"{name}: {dtype}[{dims}]"
