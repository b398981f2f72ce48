"""Operations of `bufferization` that xDSL lacks, or whose text MLIR has changed."""

from __future__ import annotations

from .forms import formed, generic

OPERATIONS = (
    formed("bufferization.to_tensor", "% unit:restrict unit:writable {} : T to R"),
    formed("bufferization.to_buffer", "% unit:read_only {} : T to R"),
    formed("bufferization.to_memref", "% unit:read_only {} : T to R"),
    formed("bufferization.dealloc_tensor", "% {} : T"),
    formed("bufferization.materialize_in_destination", "% in unit:restrict unit:writable % {} : F"),
    generic("bufferization.dealloc"),
)
"""What the dialect `bufferization` has in addition to xDSL's operations, or instead of those of these names."""
