"""Elementary functions as arithmetic: the pass `expand-math` replaces calls of the C library by polynomials.

`functions.py` is the table of the expanded functions, with their errors; the formulas are in one file per family,
written with the operations of `lanes.py`; `coefficients.py` is generated. docs/vector_math.md documents the accuracy.
"""

from .expand import ExpandMath

__all__ = ["ExpandMath"]
