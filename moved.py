"""Modules that moved in 0.2: their old paths still import them, with a `DeprecationWarning`, until 0.4."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "tirax.frontend.gguf": "tirax.llm.gguf",
    "tirax.frontend.language": "tirax.llm.checkpoints",
    "tirax.frontend.language.chat": "tirax.llm.chat",
    "tirax.frontend.language.tokenizers": "tirax.llm.tokenizers",
    "tirax.frontend.nn.llm": "tirax.llm.nn",
    "tirax.language": "tirax.llm",
    "tirax.lowering.build": "tirax.driver.build",
    "tirax.lowering.pipelines": "tirax.driver.pipelines",
    "tirax.lowering.run": "tirax.driver.run",
    "tirax.lowering.timings": "tirax.driver.timings",
    "tirax.lowering.tracing": "tirax.driver.tracing",
    "tirax.runtime.kv_cache": "tirax.llm.cache",
    "tirax.tools.fuzz": "tirax.dev.fuzz",
    "tirax.tools.reference": "tirax.dev.reference",
}
"""Old module and package paths (0.1) and their current ones; modules of a package moved with it."""


def current_path(path: str) -> str | None:
    """Return the current path of a module that moved, None for any other."""
    package, _, rest = path.rpartition(".")
    return MOVED.get(path) or (f"{MOVED[package]}.{rest}" if package in MOVED else None)


class MovedFinder(MetaPathFinder, Loader):
    """A finder that imports the current module under its old path, as the same object."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for a path in `MOVED`, None for any other."""
        return ModuleSpec(fullname, self) if current_path(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module at the current path."""
        path = current_path(spec.name) or spec.name
        warnings.warn(f"{spec.name} is now {path}", DeprecationWarning, stacklevel=2)
        module = import_module(path)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec; it was executed already."""
        spec = module.__spec__
        if spec is not None:
            module.__spec__ = spec.loader_state


def install_finder() -> None:
    """Install the finder before those of the file system, which would load a moved package's modules twice."""
    if not any(isinstance(finder, MovedFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedFinder())


__all__ = ["MOVED", "MovedFinder", "current_path", "install_finder"]
