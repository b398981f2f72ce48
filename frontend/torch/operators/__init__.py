"""The rows of the table, one file for each family of operators."""

from importlib import import_module

_FAMILIES = (
    "attention",
    "convolution",
    "counting",
    "creation",
    "elementwise",
    "factorization",
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
    "scan",
    "scatter",
    "vision",
    "segments",
    "special",
    "prims",  # from rows of the others
)


def load() -> None:
    """Import all families, which registers their rows in the table."""
    for family in _FAMILIES:
        import_module(f".{family}", __name__)
