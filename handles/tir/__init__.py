"""Handles on TIR: scalar expressions, buffers, statements, functions, index maps.

Expressions, buffers and statements have methods that make one another. What a class needs from a file that builds on it
is a class variable of it, which that file fills in; importing this folder imports all of them.
"""

from . import buffer_access as buffer_access
from . import expr_kinds as expr_kinds
from . import stmt as stmt
