"""Elementary functions as arithmetic: the pass `expand-math` writes polynomials in place of calls of the C library.

`functions.py` is the table of what is expanded, with its error; the formulas stand in a file for each family, written
with the vocabulary of `lanes.py`; `coefficients.py` is generated. docs/vector_math.md says what to expect.
"""

from .expand import ExpandMath

__all__ = ["ExpandMath"]
