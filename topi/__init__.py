"""The operator library: tensor operators as tensor expressions, with TVM's names for functions and blocks."""

from __future__ import annotations

from ..script.parser.relax_state import RelaxState
from ..te.emit import call_te
from . import nn
from .broadcast import *  # noqa: F403
from .creation import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .fast_math import *  # noqa: F403
from .indexing import *  # noqa: F403
from .linear_algebra import matmul as matmul
from .manipulation import *  # noqa: F403
from .rearrangement import *  # noqa: F403
from .reduction import *  # noqa: F403
from .sequences import *  # noqa: F403

RelaxState.call_te = staticmethod(call_te)

__all__ = ["nn"]
