"""`tvm.te`: tensor expressions."""

from .. import te as _te
from ..te import *  # noqa: F403

__all__: list[str] = []
__all__ += _te.__all__
