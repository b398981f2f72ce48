"""Functions on memrefs, and loops over tensors, become tensor functions, statement by statement.

Memrefs are places in buffers; vectors and tensors, which are values, are buffers that only they use.
"""

from . import branches, loops, memory, tensors, vector_memory, vectors
from .core import STATEMENTS
from .function import inplace_function_of, kernel_of, region_of, statements_of

for room in (loops, memory, tensors, vectors, vector_memory, branches):
    STATEMENTS.update(room.STATEMENTS)

__all__ = ["STATEMENTS", "inplace_function_of", "kernel_of", "region_of", "statements_of"]
