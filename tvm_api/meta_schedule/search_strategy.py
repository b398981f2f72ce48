"""`tvm.meta_schedule.search_strategy`."""

from ...tuning.search import EvolutionarySearch, ReplayFunc, ReplayTrace, SearchStrategy
from ...tuning.types import MeasureCandidate

PySearchStrategy = SearchStrategy
create = SearchStrategy.create

__all__ = [
    "EvolutionarySearch",
    "MeasureCandidate",
    "PySearchStrategy",
    "ReplayFunc",
    "ReplayTrace",
    "SearchStrategy",
    "create",
]
