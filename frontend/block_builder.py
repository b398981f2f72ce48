"""`BlockBuilder`: Relax functions built from Python, with operators and with tensor expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ..ir.builder import Builder, module_of
from ..ir.expr import Call, Expr, Var
from ..ir.module import IRModule


class BlockBuilder(Builder):
    """Builds Relax functions.

        bb = BlockBuilder()
        with bb.function("main", [x, w]):
            with bb.dataflow():
                lv = bb.emit(R.matmul(x, w))
                gv = bb.emit_output(R.nn.relu(lv))
            bb.emit_func_output(gv)
        mod = bb.get()
    """

    _current: list[BlockBuilder] = []

    def __init__(self, mod: IRModule | ModuleOp | None = None):
        super().__init__(module_of(mod))

    @staticmethod
    def current() -> BlockBuilder | None:
        """The builder whose function is being built, None outside of functions."""
        return BlockBuilder._current[-1] if BlockBuilder._current else None
