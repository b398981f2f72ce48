"""Handles on Relax: expressions, functions, struct info, builders, functors.

Expressions, calls and functions have methods that create one another. If a class depends on a module that imports it,
the dependency is a class variable that this module sets; `handles` imports all of them.
"""

from . import calls as calls
