"""What holds for the statements in it: `T.attr` and `T.launch_thread`, with `with` and without."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...dialects import tir
from ...dialects.dtypes import dtype_name
from ...dialects.names import set_name
from .attributes import attribute
from .tir_functions import TirFunctions
from .tir_reduce import CommReducer, reducer_value
from .values import EnvThread, Ref, describe

_OPENING = ("attr", "launch_thread")
"""What holds for all that follows where it stands without `with`."""


class TirAttributes(TirFunctions):
    """The evaluator with statements that hold for others."""

    @contextmanager
    def into(self, block: Block) -> Iterator[None]:
        """Let ops go into `block`, with a frame of names of its own."""
        outer, self.block = self.block, block
        try:
            with self.scope.frame():
                yield
        finally:
            self.block = outer

    def opened(self, statement: ast.stmt) -> AbstractContextManager[None] | None:
        """What `T.attr(…)` or `x = T.launch_thread(…)` without `with` opens: it holds for all that follows."""
        call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in _OPENING:
            return None
        target = self.visit(call.func)
        if target == Ref("tir", "attr") and isinstance(statement, ast.Expr):
            return self.attr_context(call, None)
        if target != Ref("tir", "launch_thread"):
            return None
        return self.launch_context(call, statement.targets[0] if isinstance(statement, ast.Assign) else None)

    @contextmanager
    def attr_context(self, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
        about, key, value = self.call_site(node, Ref("tir", "attr")).bind("node attr_key value")
        on = self.about(about, node)
        if not isinstance(key, str):
            raise self.error(node, "the key of an attribute is a string", found=describe(key))
        if isinstance(value, str):
            ssa: SSAValue = self.emit(tir.StringImmOp(value), node)
        else:
            ssa = self.expr(value, node)
        body = Block()
        with self.into(body):
            yield
        self.emit(tir.AttrOp(key, ssa, Region(body), on), node)

    @contextmanager
    def launch_context(self, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
        """`with T.launch_thread("threadIdx.x", 32) as x:`, or with what `T.env_thread` gave in place of the tag."""
        site = self.call_site(node, Ref("tir", "launch_thread"))
        thread, size = site.bind("thread extent")
        extent = self.cast(size, thread.dtype, node) if isinstance(thread, EnvThread) else self.expr(size, node)
        if not isinstance(thread, EnvThread | str):
            raise site.error("threads are launched by their tag", expected='"threadIdx.x", …', found=describe(thread))
        if not isinstance(extent.type, IntegerType):
            raise site.error("the number of threads is an integer", found=dtype_name(extent.type))
        body = Block(arg_types=[extent.type])
        (index,) = body.args
        with self.into(body):
            if isinstance(thread, EnvThread):
                names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and self.scope.lookup(n.id) is thread]
                self._thread_name(names[0], index)
            if target is not None:
                if not isinstance(target, ast.Name):
                    raise self.error(target, "a thread has one name")
                self._thread_name(target.id, index)
            yield
        self.emit(tir.LaunchThreadOp(thread if isinstance(thread, str) else thread.tag, extent, Region(body)), node)

    def _thread_name(self, name: str, index: SSAValue) -> None:
        set_name(index, name)
        self.scope.define(name, index)

    def about(self, value: Any, node: ast.AST) -> Attribute | SSAValue | None:
        """What an attribute is about: a string, a dictionary, a value; 0 is nothing."""
        if value in (0, None):
            return None
        if isinstance(value, CommReducer):
            return reducer_value(self, value, node)
        if isinstance(value, str | dict | tir.TargetAttr):
            return attribute(self.source, node, value)
        if isinstance(value, SSAValue) and isinstance(value.type, tir.BufferType):
            return value
        return self.expr(value, node)
