"""The front door: `tirax.compile` and `tirax.load`."""

from .compile import compile
from .compiled import Compiled
from .load import load

__all__ = ["Compiled", "compile", "load"]
