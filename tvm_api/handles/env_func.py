"""Functions known by name: `ir.EnvFunc.get("my.function")` is what is registered under it when it is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...runtime import get_global_func


@dataclass(frozen=True)
class EnvFunc:
    """A registered function; two of one name are equal, and it is what the name says, so that nodes may hold it."""

    name: str

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The function registered as `name`. Raises `NameLookupError` where there is none."""
        get_global_func(name)
        return EnvFunc(name)

    @property
    def func(self) -> Any:
        """The function itself. Raises `NameLookupError` where it was removed since."""
        return get_global_func(self.name)

    def __repr__(self) -> str:
        return f"EnvFunc({self.name})"

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)
