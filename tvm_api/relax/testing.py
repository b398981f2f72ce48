"""`tvm.relax.testing`: small layers, packed functions and passes for tests."""

from __future__ import annotations

from types import ModuleType

from ...frontend import relax_testing as relax_testing  # registers the packed functions
from .._names import provide

nn: ModuleType
transform: ModuleType
vm: ModuleType
provide(
    __name__,
    {
        "nn": {
            "frontend.relax_testing": """
                Linear LogSoftmax Module Parameter Placeholder ReLU Sequential emit emit_te init_params
            """
        },
        "transform": {"frontend.relax_testing": "ApplyEmptyCppMutator"},
        "vm": {
            "frontend.relax_testing": """
                add add_scalar check_if_defined check_saved_func equal_zero identity_packed move mul subtract_one
                tile_packed
            """
        },
    },
)

__all__ = ["nn", "transform", "vm"]
