"""TVM modules that consist of names alone: rows of a table instead of files.

    provide(__name__, {"struct_info": {"handles.struct_info": "StructInfo TensorStructInfo"}})

creates the module `….struct_info`, for `import` and `from … import` alike, with names defined in tirax's
`handles/struct_info.py`. `new=old` renames one. `*` re-exports all names of a module; names without a row
are looked up there. Names are imported on first use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ._refused import why_refused
from ._refused_names import REFUSED_NAMES

Sources = Mapping[str, str]
"""Names by the tirax module that defines them."""


class NamesOnly(ModuleType):
    """A module whose names are defined elsewhere and imported on first use."""

    def __init__(self, name: str, sources: Sources):
        super().__init__(name, f"`{name.replace('tirax.tvm_api', 'tvm')}`: names of {', '.join(sources)}.")
        self.__path__: list[str] = []  # it may contain modules, also for other ways of importing
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        rows = [(source, *row.partition("=")) for source, names in sources.items() for row in names.split()]
        self._names = {name: (source, old or name) for source, name, _, old in rows if name != "*"}
        self._star_sources = [source for source, name, *_ in rows if name == "*"]

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            value: Any = list(self._exported())
        elif name.startswith("__"):
            raise AttributeError(name)
        elif name in self._names:
            source, path = self._names[name]
            value = reduce(getattr, path.split("."), _module(source))
        else:
            value = self._looked_up(name)
        setattr(self, name, value)
        return value

    def _looked_up(self, name: str) -> Any:
        for source in self._star_sources:
            try:
                return getattr(_module(source), name)
            except AttributeError:
                refused = why_refused(f"{_inside(self.__name__)}.{name}") or is_refused(self.__name__, name)
                if source == self._star_sources[-1] and not refused:
                    raise
        raise no_attribute(self.__name__, name)

    def _exported(self) -> Iterator[str]:
        yield from self._names
        yield from (n for n, value in vars(self).items() if isinstance(value, ModuleType) and n not in self._names)
        for source in self._star_sources:
            module = _module(source)
            names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
            yield from (n for n in names if n not in self._names)

    def __dir__(self) -> list[str]:
        return sorted(self._exported())

    def names(self, name: str) -> bool:
        """Return whether a row contains a name."""
        return name in self._names


def _module(source: str) -> ModuleType:
    return import_module(source) if source in ("ast", "builtins") else import_module(f"..{source}", __package__)


def _inside(module: str) -> str:
    """Return the path of a TVM module without `tvm.`; empty for `tvm` itself."""
    return module.removeprefix(__package__ or "").removeprefix(".")


def is_refused(module: str, name: str) -> bool:
    """Return whether a name is in the table of unsupported names."""
    return name in REFUSED_NAMES.get(_inside(module), {})


def no_attribute(module: str, name: str) -> AttributeError:
    """Return the error for a missing attribute, with the reason if a table of unsupported names has one."""
    path = f"{_inside(module)}.{name}".removeprefix(".")
    reason = why_refused(path)
    known = REFUSED_NAMES.get(_inside(module), {}).get(name)
    if reason is None and known is not None:
        reason = f"tvm.{path} is not provided: {known}"
    return AttributeError(reason or f"module '{module}' has no attribute '{name}'")


def refusing(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that has a file and no lazy names."""

    def getattr_(name: str) -> Any:
        raise no_attribute(module, name)

    return getattr_


def provide(package: str, modules: Mapping[str, Sources]) -> None:
    """Create modules of `package` that consist of names alone."""
    for path, sources in modules.items():
        add_module(NamesOnly(f"{package}.{path}", sources))


def add_module(module: ModuleType) -> None:
    """Register a module without a file, also as an attribute of its parent unless the parent defines that name."""
    sys.modules[module.__name__] = module
    around, _, name = module.__name__.rpartition(".")
    parent = sys.modules[around]
    if not hasattr(parent, "__path__"):
        parent.__path__ = []  # a file that has modules in it, all of them without files
    if not (parent.names(name) if isinstance(parent, NamesOnly) else name in vars(parent)):
        setattr(parent, name, module)
