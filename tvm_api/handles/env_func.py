"""Functions known by name: `ir.EnvFunc.get("my.function")` resolves to the registered function when it is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...runtime import get_global_func


@dataclass(frozen=True)
class EnvFunc:
    """A registered function, compared by name, so that nodes can contain it."""

    name: str

    @staticmethod
    def get(name: str) -> EnvFunc:
        """Return the function registered as `name`. Raises `NameLookupError` if there is none."""
        get_global_func(name)
        return EnvFunc(name)

    @property
    def func(self) -> Any:
        """The registered function. Raises `NameLookupError` if it has been removed."""
        return get_global_func(self.name)

    def __repr__(self) -> str:
        return f"EnvFunc({self.name})"

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)
