"""The signature of a compiled model: how calls of users become calls of the native function, and back."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..runtime.errors import ArgumentError
from .structure import LEAF, Constant, Leaf, Structure, flatten, from_json, to_json, unflatten


@dataclass(frozen=True)
class Signature:
    """Parameters by name, with the structure of each, and the structure of the result.

    Calls may leave out parameters with a constant structure. If `result` is None, the native
    result is returned as it is; otherwise its first leaves fill the structure.
    """

    parameters: Mapping[str, Structure]
    result: Structure | None = None

    @staticmethod
    def of_names(names: list[str]) -> Signature:
        """Return the signature of a function of arrays, which returns what the native function returns."""
        return Signature(dict.fromkeys(names, LEAF))

    @property
    def is_flat(self) -> bool:
        """Whether all parameters are arrays, so that positional arguments need no work."""
        return all(isinstance(s, Leaf) and not s.is_complex for s in self.parameters.values())

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the native arguments of a call. Raises `ArgumentError`, with all problems of names at once."""
        values = self._bound(args, kwargs)
        return [leaf for name, s in self.parameters.items() for leaf in flatten(s, values[name], name)]

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        names = list(self.parameters)
        values: dict[str, Any] = dict(zip(names, args, strict=False))
        problems = [f"takes {len(names)} arguments, not {len(args)}"] if len(args) > len(names) else []
        problems += [f"'{name}' is given twice" for name in kwargs if name in values]
        problems += [f"has no parameter '{name}'" for name in kwargs if name not in self.parameters]
        values.update((name, value) for name, value in kwargs.items() if name in self.parameters)
        for name, structure in self.parameters.items():
            if name not in values and isinstance(structure, Constant):
                values[name] = structure.value
        problems += [f"'{name}' is missing" for name in names if name not in values]
        if problems:
            raise ArgumentError(f"the function {'; '.join(problems)}", expected=", ".join(names) or "no arguments")
        return values

    def restoring(self, is_tuple: bool) -> Callable[[Any], Any] | None:
        """Return what makes the result of a call from the native one, which may be a tuple; None if both are equal."""
        result = self.result
        if result is None or (result == LEAF and not is_tuple):
            return None
        if result == LEAF:
            return operator.itemgetter(0)
        return lambda native: unflatten(result, iter(native if is_tuple else (native,)))

    def to_json(self) -> dict[str, Any]:
        """Return the signature as data of JSON."""
        parameters = {name: to_json(s) for name, s in self.parameters.items()}
        return {"parameters": parameters, "result": None if self.result is None else to_json(self.result)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Signature:
        """Return the signature of `to_json`. Raises `KeyError`, `TypeError` or `ValueError` for other data."""
        parameters = {str(name): from_json(s) for name, s in data["parameters"].items()}
        return Signature(parameters, None if data["result"] is None else from_json(data["result"]))
