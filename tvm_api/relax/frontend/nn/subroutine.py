"""`tvm.relax.frontend.nn.subroutine`: modules as functions of their own."""

from .....frontend.nn import subroutine as _subroutine
from .....frontend.nn.subroutine import *  # noqa: F403

__all__: list[str] = []
__all__ += _subroutine.__all__
