"""Handles on TIR: scalar expressions, buffers, statements, functions, index maps.

Expressions, buffers and statements have methods that create one another. If a class depends on a module that imports
it, the dependency is a class variable that this module sets; importing this package imports all of them.
"""

from . import block_views as block_views
from . import buffer_access as buffer_access
from . import control_flow as control_flow
from . import expr_kinds as expr_kinds
from . import stmt as stmt
from . import storage as storage
