"""`tvm.relax.frontend.nn.exporter`: exporting modules."""

from .....frontend.nn import exporter as _exporter
from .....frontend.nn.exporter import *  # noqa: F403

__all__: list[str] = []
__all__ += _exporter.__all__
