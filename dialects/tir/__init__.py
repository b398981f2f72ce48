"""The `tir` dialect: loops over buffers, one file per group of ops."""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from ..assembly import operations_in
from . import (
    arithmetic,
    blocks,
    buffers,
    calls,
    control_flow,
    devices,
    expressions,
    function,
    masked,
    reductions,
    statements,
    vectors,
)
from .arithmetic import *  # noqa: F403
from .blocks import *  # noqa: F403
from .buffers import *  # noqa: F403
from .calls import *  # noqa: F403
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
from .vectors import *  # noqa: F403

_EXPRESSIONS = (expressions, arithmetic, vectors, calls)
_FILES = (blocks, buffers, control_flow, devices, *_EXPRESSIONS, function, masked, reductions, statements)
EXPRESSION_OPS: list[type[Operation]] = [
    *(op for file in (*_EXPRESSIONS, reductions) for op in operations_in(file)),
    DeviceCallOp,
    MaskedLoadOp,
]

Tir = Dialect(
    "tir",
    [op for file in _FILES for op in operations_in(file)],
    [BufferType, HandleType, ReadBufferAttr, TargetAttr],
)
