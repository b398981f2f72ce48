"""`tvm.meta_schedule.mutator`."""

from ...tuning.mutators.compute_location import MutateComputeLocation
from ...tuning.mutators.mutator import Mutator
from ...tuning.mutators.parallel import MutateParallel
from ...tuning.mutators.tile_size import MutateTileSize
from ...tuning.mutators.unroll import MutateUnroll

PyMutator = Mutator

__all__ = ["MutateComputeLocation", "MutateParallel", "MutateTileSize", "MutateUnroll", "Mutator", "PyMutator"]
