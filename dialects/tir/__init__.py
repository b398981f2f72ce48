"""The `tir` dialect: loops over buffers, one file per group of ops."""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from ..assembly import operations_in
from . import blocks, buffers, control_flow, devices, expressions, function, masked, reductions, statements
from .blocks import *  # noqa: F403
from .buffers import *  # noqa: F403
from .control_flow import *  # noqa: F403
from .devices import *  # noqa: F403
from .devices import DeviceCallOp
from .expressions import *  # noqa: F403
from .function import *  # noqa: F403
from .intrinsics import *  # noqa: F403
from .masked import *  # noqa: F403
from .masked import MaskedLoadOp
from .reductions import *  # noqa: F403
from .statements import *  # noqa: F403
from .targets import *  # noqa: F403
from .targets import TargetAttr
from .types import *  # noqa: F403
from .types import BufferType, HandleType, ReadBufferAttr

_FILES = (blocks, buffers, control_flow, devices, expressions, function, masked, reductions, statements)
EXPRESSION_OPS: list[type[Operation]] = [
    *operations_in(expressions),
    *operations_in(reductions),
    DeviceCallOp,
    MaskedLoadOp,
]

Tir = Dialect(
    "tir",
    [op for file in _FILES for op in operations_in(file)],
    [BufferType, HandleType, ReadBufferAttr, TargetAttr],
)
