"""What time is attributed to: a place in a program."""

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
    """What is called; of host code, the function itself."""
    function: str
    """The function that calls."""
    result: str = ""
    """The variable of Relax that the call gives, where it has a name."""
    place: str = ""
    """`file:line:column` of the call, where that is known."""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Site:
        """Return the inverse of `to_json`."""
        return cls(**{key: str(value) for key, value in data.items()})
