"""Handles on Relax: expressions, functions, struct info, builders, functors.

Expressions, calls and functions have methods that make one another. What a class needs from a file that builds on it
is a class variable of it, which that file fills in; `handles` imports all of them.
"""

from . import calls as calls
