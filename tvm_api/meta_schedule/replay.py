"""Search strategies that replay, as in TVM: what was measured already may be measured again."""

from __future__ import annotations

from ...tuning import search


class ReplayTrace(search.ReplayTrace):
    """Replay the traces of the design spaces with newly sampled decisions."""

    may_repeat = True


class ReplayFunc(search.ReplayFunc):
    """Generate the design space again for each candidate, with newly sampled decisions."""

    may_repeat = True


__all__ = ["ReplayFunc", "ReplayTrace"]
