"""The rows of the table, a family of operators a file."""

from importlib import import_module

_FAMILIES = (
    "attention",
    "convolution",
    "creation",
    "elementwise",
    "grad",
    "image",
    "indexing",
    "linear_algebra",
    "manipulation",
    "nn",
    "normalization",
    "pooling",
    "quantization",
    "random",
    "recurrent",
    "reduction",
    "scatter",
)


def load() -> None:
    """Read all families, which puts their rows into the table."""
    for family in _FAMILIES:
        import_module(f".{family}", __name__)
