"""The `tir` dialect: loops over buffers. `types`, `expressions` (PrimExpr) and `statements` (Stmt, PrimFunc)."""

from __future__ import annotations

from xdsl.ir import Dialect

from .expressions import *  # noqa: F403
from .expressions import EXPRESSION_OPS
from .statements import *  # noqa: F403
from .statements import STATEMENT_OPS
from .types import *  # noqa: F403
from .types import BufferType, HandleType

Tir = Dialect("tir", [*STATEMENT_OPS, *EXPRESSION_OPS], [BufferType, HandleType])
