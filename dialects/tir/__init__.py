"""The `tir` dialect: loops over buffers. `types`, `expressions` (PrimExpr) and `statements` (Stmt, PrimFunc)."""

from __future__ import annotations

from xdsl.ir import Dialect

from . import expressions, statements, types
from .expressions import *  # noqa: F403
from .expressions import BINARY, EXPRESSION_OPS, BinaryExpr, CallExpr, CompareExpr, element_type, with_lanes
from .statements import *  # noqa: F403
from .statements import STATEMENT_OPS, Bound, ForKind, IterKind, RegionOp, body_region
from .types import HANDLE, BufferType, HandleType

Tir = Dialect("tir", [*STATEMENT_OPS, *EXPRESSION_OPS], [BufferType, HandleType])
