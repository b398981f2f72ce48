"""`tvm.meta_schedule.mutator`."""

from ...tuning.mutators import MutateComputeLocation, MutateParallel, MutateTileSize, MutateUnroll, Mutator

PyMutator = Mutator

__all__ = ["MutateComputeLocation", "MutateParallel", "MutateTileSize", "MutateUnroll", "Mutator", "PyMutator"]
