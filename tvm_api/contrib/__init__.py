"""`tvm.contrib`: helpers for tests and scripts."""

from .._names import refusing
from . import utils

__getattr__ = refusing(__name__)

__all__ = ["utils"]
