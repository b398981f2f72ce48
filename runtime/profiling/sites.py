"""Sites: the places of a program that time is attributed to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Site:
    """A call of a kernel or a packed function, or the host code of a function around such calls."""

    kind: str
    """`kernel`, `packed` or `host`."""
    name: str
    """The callee; for host code, the function itself."""
    function: str
    """The calling function."""
    result: str = ""
    """The name of the Relax variable bound to the call, if it has one."""
    place: str = ""
    """`file:line:column` of the call, if known."""

    def to_json(self) -> dict[str, Any]:
        """Return the site as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Site:
        """Return the inverse of `to_json`."""
        return cls(**{key: str(value) for key, value in data.items()})
