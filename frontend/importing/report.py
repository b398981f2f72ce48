"""Reports of a model's operators: counts, support status, and places."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from .errors import UnsupportedOperators

if TYPE_CHECKING:
    from rich.table import Table

_PLACES = 3
"""The maximal number of places of an operator in a report."""


class Status(Enum):
    """How an operator is handled."""

    CONVERTED = "converted"
    EXPANDED = "expanded"
    """Imported by expanding its definition in terms of other operators."""
    FALLBACK = "runs in its framework"
    UNSUPPORTED = "unsupported"


@dataclass
class OperatorUse:
    """An operator of a model. `places` are names of nodes or source lines; `reason` explains why it is not
    supported, if
    there is more to say than that it has no converter.
    """

    operator: str
    status: Status
    count: int = 0
    places: list[str] = field(default_factory=list[str])
    reason: str = ""


class Coverage:
    """The operators of one model, in order of first occurrence."""

    def __init__(self):
        self._uses: dict[tuple[str, Status, str], OperatorUse] = {}

    def __iter__(self) -> Iterator[OperatorUse]:
        return iter(self._uses.values())

    def add(self, operator: str, status: Status, place: str = "", reason: str = "") -> None:
        """Count one node of `operator` at `place`."""
        key = (operator, status, reason)
        use = self._uses.setdefault(key, OperatorUse(operator, status, reason=reason))
        use.count += 1
        if place and place not in use.places:
            use.places.append(place)

    @property
    def total(self) -> int:
        """The number of nodes."""
        return sum(use.count for use in self)

    @property
    def unsupported(self) -> list[OperatorUse]:
        """The operators without a converter."""
        return [use for use in self if use.status is Status.UNSUPPORTED]

    @property
    def fallbacks(self) -> list[OperatorUse]:
        """The operators that run in the model's framework."""
        return [use for use in self if use.status is Status.FALLBACK]

    @property
    def percent(self) -> float:
        """The percentage of nodes that can be imported; 100 for a model without nodes."""
        missing = sum(use.count for use in self.unsupported)
        return 100.0 * (self.total - missing) / self.total if self.total else 100.0

    def require_supported(self, hint: str | None = None) -> None:
        """Raise `UnsupportedOperators` with all operators without a converter, if there are any."""
        missing = self.unsupported
        if missing:
            raise UnsupportedOperators(
                sorted({use.operator for use in missing}), [_note(use) for use in missing], hint=hint
            )

    def table(self) -> Table:
        """Return the report as a table, unsupported operators first, then by count."""
        from rich.table import Table

        table = Table("operator", "count", "status", "where", title=f"{self.percent:.1f} % of {self.total} nodes")
        for use in sorted(self, key=lambda u: (u.status is not Status.UNSUPPORTED, -u.count, u.operator)):
            status = f"{use.status.value}: {use.reason}" if use.reason else use.status.value
            table.add_row(use.operator, str(use.count), status, _some(use.places))
        return table


def _note(use: OperatorUse) -> str:
    where = f" at {_some(use.places)}" if use.places else ""
    why = f": {use.reason}" if use.reason else ""
    return f"{use.operator}, {use.count} ×{where}{why}"


def _some(places: list[str]) -> str:
    more = len(places) - _PLACES
    return ", ".join(places[:_PLACES]) + (f" and {more} more" if more > 0 else "")


class FallbackWarning(UserWarning):
    """Some operators of a model run in its framework."""


_FRAMEWORKS = {"torch": "PyTorch", "onnx": "the reference implementation of ONNX, which is slow"}


def warn_of_fallbacks(coverage: Coverage, framework: str) -> None:
    """Warn of the operators that run in a framework, if there are any, in one line."""
    names = sorted({use.operator for use in coverage.fallbacks})
    if names:
        place = _FRAMEWORKS[framework]
        text = f"these operators run in {place}, as tirax has no code for them: {', '.join(names)}"
        warnings.warn(f"{text}; fallback='error' refuses them", FallbackWarning, stacklevel=4)
