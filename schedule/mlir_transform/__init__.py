"""Schedules as programs of MLIR's dialect `transform`: ours written, and theirs applied."""
