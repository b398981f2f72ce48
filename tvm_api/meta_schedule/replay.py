"""Search strategies that replay, as in TVM: what was measured already may be measured again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ...tuning import context, relax_integration, search, tir_integration


class ReplayTrace(search.ReplayTrace):
    """Replay the traces of the design spaces with newly sampled decisions."""

    may_repeat = True


class ReplayFunc(search.ReplayFunc):
    """Generate the design space again for each candidate, with newly sampled decisions."""

    may_repeat = True


_BY_NAME: dict[str, type[search.SearchStrategy]] = {"replay-trace": ReplayTrace, "replay-func": ReplayFunc}


def create(kind: search.SearchStrategy | str = "evolutionary", **options: Any) -> search.SearchStrategy:
    """Return `kind` if it is a strategy, or a new one: `evolutionary`, `replay-trace` or `replay-func`."""
    by_name = _BY_NAME.get(kind) if isinstance(kind, str) else None
    return search.SearchStrategy.create(kind, **options) if by_name is None else by_name(**options)


class TuneContext(context.TuneContext):
    """A module to tune for a target. Names of strategies are those of this file."""

    def __post_init__(self) -> None:
        if isinstance(self.search_strategy, str):
            self.search_strategy = create(self.search_strategy)
        super().__post_init__()


def _of_these_strategies(tune: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(tune)

    @functools.wraps(tune)
    def tune_by_name(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        if "strategy" in bound.arguments:
            bound.arguments["strategy"] = create(bound.arguments["strategy"])
        return tune(*bound.args, **bound.kwargs)

    return tune_by_name


tune_tir = _of_these_strategies(tir_integration.tune_tir)
tune_relax = _of_these_strategies(relax_integration.tune_relax)

__all__ = ["ReplayFunc", "ReplayTrace", "TuneContext", "create", "tune_relax", "tune_tir"]
