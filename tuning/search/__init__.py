"""Search: which schedules of a design space are measured."""

from __future__ import annotations

from .evolutionary import EvolutionarySearch
from .replay import ReplayFunc, ReplayTrace
from .strategy import SearchStrategy

__all__ = ["EvolutionarySearch", "ReplayFunc", "ReplayTrace", "SearchStrategy"]
