"""`tvm.topi`: the operator library."""

from typing import Any

from .. import topi as _topi
from ..topi import nn


def __getattr__(name: str) -> Any:
    return getattr(_topi, name)


__all__ = ["nn"]
