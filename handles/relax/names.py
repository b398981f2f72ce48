"""All handles on Relax: expressions (`expr`, `call`), functions and bindings (`function`) and `struct_info`."""

from __future__ import annotations

from ..base_func import *  # noqa: F403
from ..struct_info import *  # noqa: F403
from .call import Attrs as Attrs
from .call import Call as Call
from .expr import *  # noqa: F403
from .expr import Expr
from .function import *  # noqa: F403
from .op import Op as Op

RelaxExpr = Expr
