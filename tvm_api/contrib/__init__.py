"""`tvm.contrib`: helpers for tests and scripts."""

from .._names import provide, refusing
from . import utils

provide(__name__, {"clang": {"tvm_api._refused_functions": "create_llvm find_clang"}})
__getattr__ = refusing(__name__)

__all__ = ["utils"]
