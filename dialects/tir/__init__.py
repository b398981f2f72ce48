"""The `tir` dialect: loops over buffers, one file for each kind of op."""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from .blocks import *  # noqa: F403
from .blocks import BlockOp, InitOp, ReadsOp, WritesOp
from .buffers import *  # noqa: F403
from .buffers import AllocateOp, AllocBufferOp, AllocConstOp, DeclBufferOp, MatchBufferOp
from .control_flow import *  # noqa: F403
from .control_flow import ForOp, IfOp, WhileOp
from .expressions import *  # noqa: F403
from .expressions import BASIC_EXPRESSION_OPS
from .function import *  # noqa: F403
from .function import FuncOp, ReturnOp
from .masked import *  # noqa: F403
from .masked import MaskedLoadOp, MaskedStoreOp
from .reductions import *  # noqa: F403
from .reductions import ReduceOp
from .statements import *  # noqa: F403
from .statements import AssertOp, AttrOp, EvaluateOp, LetOp, StoreOp
from .types import *  # noqa: F403
from .types import BufferType, HandleType

EXPRESSION_OPS: list[type[Operation]] = [*BASIC_EXPRESSION_OPS, MaskedLoadOp, ReduceOp]
STATEMENT_OPS: list[type[Operation]] = [
    FuncOp,
    ReturnOp,
    ForOp,
    BlockOp,
    ReadsOp,
    WritesOp,
    InitOp,
    StoreOp,
    MaskedStoreOp,
    EvaluateOp,
    LetOp,
    IfOp,
    WhileOp,
    AssertOp,
    AttrOp,
    AllocateOp,
    AllocBufferOp,
    AllocConstOp,
    DeclBufferOp,
    MatchBufferOp,
]

Tir = Dialect("tir", [*STATEMENT_OPS, *EXPRESSION_OPS], [BufferType, HandleType])
