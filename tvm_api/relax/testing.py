"""`tvm.relax.testing`: small layers, packed functions and passes for tests."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any, cast

from ...frontend import relax_testing as relax_testing  # registers the packed functions
from .._names import NamesOnly, no_attribute, provide
from ..handles.ast_printer import dump_ast

ast_printer: ModuleType
nn: ModuleType
runtime_builtin: ModuleType
transform: ModuleType
vm: ModuleType
provide(
    __name__,
    {
        "ast_printer": {"tvm_api.handles.ast_printer": "ASTPrinter dump_ast"},
        "nn": {
            "frontend.relax_testing": """
                Linear LogSoftmax Module Parameter Placeholder ReLU Sequential emit emit_te init_params
            """,
            "frontend.training.checkpoint": "checkpoint emit_checkpoint emit_checkpoint_sequential",
        },
        "runtime_builtin": {"runtime.shape_builtins": "MakeShapeCode MatchShapeCode"},
        "transform": {"frontend.relax_testing": "ApplyEmptyCppMutator"},
        "vm": {
            "frontend.relax_testing": """
                add add_scalar check_if_defined check_saved_func equal_zero identity_packed move mul subtract_one
                tile_packed
            """
        },
    },
)


def __getattr__(name: str) -> Any:
    """Return a layer of `nn`, which TVM re-exports here."""
    layers = cast(NamesOnly, import_module(".nn", __name__))
    if layers.names(name):
        return getattr(layers, name)
    raise no_attribute(__name__, name)


__all__ = ["ast_printer", "dump_ast", "nn", "runtime_builtin", "transform", "vm"]
