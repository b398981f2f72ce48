"""Random decisions. A sampling primitive takes a decision or draws one, and returns its outputs and the decision."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from math import prod
from typing import Any

from ...dialects import tir
from ...dialects.tir import IterKind
from .. import checks
from .. import state as st
from ..registry import primitive
from ..state import State, fail
from ..trace import Location
from .inline import can_compute_inline


@primitive()
def sample_categorical(
    state: State, candidates: Sequence[Any], probs: Sequence[float], decision: int | None = None
) -> tuple[int, int]:
    """Return one of `candidates`, with the probabilities `probs`; the decision is its index.

    Raises `ScheduleError` if the lists differ in length, or if the decision is out of range.
    """
    if len(candidates) != len(probs) or not candidates:
        fail("there is a probability for each candidate", expected=len(candidates), found=len(probs))
    chosen = state.random.index(probs) if decision is None else int(decision)
    if not 0 <= chosen < len(candidates):
        fail("the decision is a position in candidates", expected=f"0 to {len(candidates) - 1}", found=chosen)
    return candidates[chosen], chosen


@primitive()
def sample_perfect_tile(
    state: State, loop: tir.ForOp, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
) -> tuple[list[int], list[int]]:
    """Return `n` factors whose product is the extent of `loop`, the last one at most `max_innermost_factor`.

    If the extent is not constant, all factors are 1 except the first, which is -1 (inferred). A decision whose
    product is not the extent gets a new first factor, if the others divide the extent. Raises `ScheduleError` if
    `n` is not positive.
    """
    if n < 1:
        fail("there is at least one factor", loop, found=n)
    extent = st.constant_extent(loop)
    if extent is None:
        return _undecided(n)
    if decision is None:
        tiles = _perfect_tile(state, extent, n, max_innermost_factor)
    else:
        tiles = _fitted([int(d) for d in decision], extent, n, loop)
    return list(tiles), list(tiles)


@primitive()
def sample_partitioned_tile(
    state: State,
    loop: tir.ForOp,
    n: int,
    partition_pos: int = 0,
    innerpart_factor: int = 1,
    decision: Sequence[int] | None = None,
) -> tuple[list[int], list[int]]:
    """Return `n` factors whose product is the extent of `loop`; `innerpart_factor` divides the product from
    `partition_pos`.

    If the extent is not a constant multiple of `innerpart_factor`, all factors are 1 except the first, which is -1
    (inferred). A decision for another extent is adapted as by `sample_perfect_tile`; if it does not fit, a new one
    is drawn. Raises `ScheduleError` if `n` or the factor is not positive, or if `partition_pos` is not in [0, n).
    """
    if n < 1 or innerpart_factor < 1:
        fail("n and innerpart_factor are positive", loop, found=f"{n} and {innerpart_factor}")
    if not 0 <= partition_pos < n:
        fail("partition_pos is the position of a factor", loop, expected=f"0 to {n - 1}", found=partition_pos)
    extent = st.constant_extent(loop)
    if extent is None or extent % innerpart_factor:
        return _undecided(n)
    tiles = None if decision is None else _fitted([int(d) for d in decision], extent, n, loop)
    while tiles is None or prod(tiles[partition_pos:]) % innerpart_factor:
        tiles = _tile(state, extent, n)
    return list(tiles), list(tiles)


def _undecided(n: int) -> tuple[list[int], list[int]]:
    tiles = [-1] + [1] * (n - 1)
    return tiles, list(tiles)


def _fitted(decision: list[int], extent: int, n: int, loop: tir.ForOp) -> list[int]:
    """Adapt a decision to another extent: keep its inner factors if they divide the extent, otherwise use a single
    factor.
    """
    if len(decision) != n:
        fail("the decision has a factor for each of n", loop, expected=n, found=decision)
    length = extent
    for factor in decision[1:]:
        if factor < 1 or length % factor:
            return [extent, *([1] * (n - 1))]
        length //= factor
    return [length, *decision[1:]]


def _perfect_tile(state: State, extent: int, n: int, largest: int) -> list[int]:
    while True:
        tiles = _tile(state, extent, n)
        if largest == -1 or tiles[-1] <= largest:
            return tiles


def _tile(state: State, extent: int, n: int) -> list[int]:
    """Draw `n` factors of the extent: for each prime, all distributions of its exponent are equally probable.

    A distribution is a choice of n - 1 bars among exponent + n - 1 positions; a tile gets the positions between two
    bars.
    """
    tiles = [1] * n
    for prime, group in groupby(prime_factors(extent)):
        exponent = sum(1 for _ in group)
        if exponent == 1 and n != 2:
            tiles[state.random.integer(0, n)] *= prime
            continue
        places = exponent + n - 1
        bars = [-1, *sorted(state.random.distinct(places, n - 1)), places]
        for k in range(n):
            tiles[k] *= prime ** (bars[k + 1] - bars[k] - 1)
    return tiles


@primitive()
def sample_compute_location(
    state: State, block: tir.BlockOp, decision: int | None = None
) -> tuple[tir.ForOp | Location, int]:
    """Return a location for `compute_at`: a loop around its consumers, `inline` if that is possible, or `root`.

    The decision is the position of the loop among those of the first consumer, -1 for `root`, -2 for `inline`; a
    decision that is not a candidate is replaced by the next candidate, or by the last one. Loops that run once,
    reductions after the last spatial loop, and spatial loops after a reduction are not candidates.
    """
    places = _locations(block)
    positions = sorted(places)
    if decision is None:
        chosen = list(places)[state.random.integer(0, len(places))]
    else:
        chosen = next((p for p in positions if p >= int(decision)), positions[-1])
    return places[chosen], chosen


def _locations(block: tir.BlockOp) -> dict[int, tir.ForOp | Location]:
    """Return the candidates by their position."""
    places: dict[int, tir.ForOp | Location] = {-2: Location.INLINE} if can_compute_inline(block) else {}
    places[-1] = Location.ROOT
    consumers = st.consumers(block)
    if not consumers:
        return places
    nests = [st.loops_above(c) for c in consumers]
    shared = [lp for lp in nests[0] if all(lp in nest for nest in nests)]
    spatial = [_is_spatial(lp) for lp in shared]
    last = max((k for k, parallel in enumerate(spatial) if parallel), default=-1)
    reduced = False
    for k, (lp, parallel) in enumerate(zip(shared, spatial, strict=True)):
        if st.constant_extent(lp) == 1:
            continue
        reduced = reduced or not parallel
        if (parallel and reduced) or (not parallel and k > last):
            break
        places[k] = lp
    return places


def _is_spatial(loop: tir.ForOp) -> bool:
    """Return whether a loop drives spatial iterators only."""
    return all(checks.kinds_driven(block, loop) <= {IterKind.SPATIAL} for block in st.blocks_below(loop))


@lru_cache(maxsize=4096)
def prime_factors(number: int) -> tuple[int, ...]:
    """Return the prime factors of a positive number in ascending order, with multiplicity."""
    factors: list[int] = []
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    return (*factors, number) if number > 1 else tuple(factors)
