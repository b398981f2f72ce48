"""Merge neighbouring symbols, the best pair first, until none can be merged."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

Priority = Callable[[str, str], float | None]
"""The priority of merging two neighbours, lowest first; None: never."""


def merged(symbols: Sequence[str], priority: Priority) -> list[str]:
    """Return the symbols after all merges. Among equal pairs the leftmost is merged first. O(n log n) for n symbols."""
    texts = list(symbols)
    after = list(range(1, len(texts) + 1))
    before = list(range(-1, len(texts) - 1))
    queue: list[tuple[float, int, int, str, str]] = []

    def push_pair(left: int, right: int) -> None:
        if left >= 0 and right < len(texts):
            rank = priority(texts[left], texts[right])
            if rank is not None:
                heapq.heappush(queue, (rank, left, right, texts[left], texts[right]))

    for i in range(1, len(texts)):
        push_pair(i - 1, i)
    while queue:
        _, left, right, left_text, right_text = heapq.heappop(queue)
        if texts[left] != left_text or texts[right] != right_text or after[left] != right:
            continue
        texts[left] += right_text
        texts[right] = ""
        after[left] = after[right]
        if after[right] < len(texts):
            before[after[right]] = left
        push_pair(before[left], left)
        push_pair(left, after[left])
    return [text for text in texts if text]
