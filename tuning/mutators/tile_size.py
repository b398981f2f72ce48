"""Moving a factor from one tile to another."""

from __future__ import annotations

from ...schedule import Trace
from ...schedule.primitives.sampling import prime_factors
from ...schedule.random import Random
from .mutator import Mutator


class MutateTileSize(Mutator):
    """Move a prime factor between two tiles of a loop, the product stays."""

    def apply(self, trace: Trace, random: Random) -> Trace | None:
        found = []
        for inst in trace.insts:
            if inst.SPEC.name == "sample_perfect_tile" and inst.decision and len(inst.decision) > 1:
                weight = len(prime_factors(_product(inst.decision)))
                if weight:
                    found.append((inst, weight))
        while found:
            at = random.index([weight for _, weight in found])
            inst, _ = found.pop(at)
            tiles = _moved(list(inst.decision), int(inst.args["max_innermost_factor"]), random)
            if tiles is not None:
                return trace.with_decision(inst, tiles, remove_postproc=True)
        return None


def _product(values: list[int]) -> int:
    out = 1
    for v in values:
        out *= v
    return out


def _moved(tiles: list[int], largest: int, random: Random) -> list[int] | None:
    """The tiles with a factor of one in another; None where none can move."""
    moves = [
        (source, target, factor)
        for source, size in enumerate(tiles)
        for factor in dict.fromkeys(prime_factors(size))
        for target in range(len(tiles))
        if target != source and not (target == len(tiles) - 1 and 0 < largest < tiles[target] * factor)
    ]
    if not moves:
        return None
    source, target, factor = moves[random.integer(0, len(moves))]
    tiles[source] //= factor
    tiles[target] *= factor
    return tiles
