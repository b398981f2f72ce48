"""Mutators: small changes of the decisions in a trace, from which evolution goes on."""

from __future__ import annotations

from .compute_location import MutateComputeLocation
from .mutator import Mutator
from .parallel import MutateParallel
from .tile_size import MutateTileSize
from .unroll import MutateUnroll

__all__ = ["MutateComputeLocation", "MutateParallel", "MutateTileSize", "MutateUnroll", "Mutator"]
