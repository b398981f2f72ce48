"""`BlockBuilder`: build Relax functions from Python, with operators and tensor expressions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp

from ..dialects import relax
from ..handles.module import IRModule
from ..handles.relax.builder import Builder, module_of
from ..handles.relax.call import Call
from ..handles.relax.expr import Expr, Tuple, TupleGetItem, Var
from ..handles.tir.attributes import attr_of
from ..handles.tir.prim_func import PrimFunc
from ..te.emit import call_te as te_call
from . import control_flow


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

    def __init__(self, mod: IRModule | ModuleOp | None = None):
        super().__init__(module_of(mod))

    @staticmethod
    def current() -> BlockBuilder | None:
        """Return the builder whose function is being built, or None outside of functions."""
        stack = _stack()
        return stack[-1] if stack else None

    @contextmanager
    def function(self, *args: Any, **options: Any) -> Iterator[None]:
        """Begin a function `(name, params, attrs, pure, private)`; `emit_func_output` ends it."""
        _stack().append(self)
        try:
            with super().function(*args, **options):
                yield
        finally:
            _stack().pop()

    def call_te(
        self,
        func: Callable[..., Any],
        *args: Any,
        primfunc_name_hint: str | None = None,
        primfunc_attrs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Call:
        """Return a call of the tensor function that `func` defines by tensor expressions, and add that function to the
        module.

        Relax values among the arguments are passed to `func` as tensors, other values unchanged. Raises
        `TiraxError` for values of unknown shape or dtype, and if `func` does not return tensors.
        """
        inputs = [self._te_argument(a) for a in args]
        named = {k: self._te_argument(v) for k, v in kwargs.items()}
        call = te_call(func, *inputs, primfunc_name_hint=primfunc_name_hint, primfunc_attrs=primfunc_attrs, **named)
        gv = self.add_func(PrimFunc.on(call.func), call.func.sym_name.data)
        return Call.on(call.call_op(gv.name_hint).result)

    def call_te_with_grad(
        self,
        func: Callable[..., Any],
        *args: Any,
        te_grad_name: str,
        te_grad_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Call:
        """Like `call_te`, with the gradient computed by the tensor function registered as `te_grad_name`.

        It is called with the gradient of the result, the arguments and `te_grad_kwargs`.
        """
        call = cast(relax.CallTIROp, self.call_te(func, *args, **kwargs).op_handle)
        attrs = None if te_grad_kwargs is None else cast(DictionaryAttr, attr_of(te_grad_kwargs))
        with_grad = relax.CallTIROp(
            call.callee_name, call.call_args, call.result.type, call.tir_vars, te_grad_name, attrs
        )
        return Call.on(with_grad.result)

    def emit_te(self, func: Callable[..., Any], *args: Any, name_hint: str = "", **kwargs: Any) -> Var:
        """Bind the result of `call_te` to a new variable."""
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)

    def while_loop(
        self,
        cond: Callable[..., Any],
        body: Callable[..., Any],
        init: Sequence[Any],
        collected: int = 0,
        name_hint: str = "loop",
    ) -> list[Expr]:
        """Run `body` while `cond` holds; return the final carried values, then the collected tensors, stacked.

        `cond(*carried)` returns a bool scalar; `body(*carried)` returns the next carried values followed by
        `collected` tensors, of the same shape in each iteration. Both are traced into functions of the module,
        `body` possibly more than once, and may capture values from the enclosing scope. In them a carried number is
        a symbolic variable (`number.struct_info.value`), and so is each extent that an iteration changes.

            total, squares = bb.while_loop(
                lambda i, s: R.less(i, n), lambda i, s: (i + one, s + i, i * i), [zero, zero], collected=1)[1:]

        Raises `ShapeError` and `DTypeError` if the results of `body` do not match the carried values.
        """
        return control_flow.while_loop(self, cond, body, init, collected, name_hint=name_hint)

    def scan(
        self,
        body: Callable[..., Any],
        init: Sequence[Any],
        length: Any,
        collected: int = 0,
        name_hint: str = "scan",
    ) -> list[Expr]:
        """Run `body(i, *carried)` for i from 0 to `length` - 1 (an integer or a symbolic expression), like
        `while_loop`.

        The stacked tensors have the known extent `length`. Raises as `while_loop`.
        """
        return control_flow.scan(self, body, init, length, collected, name_hint)

    def if_then_else(
        self, cond: Any, then: Callable[[], Any], other: Callable[[], Any], name_hint: str = ""
    ) -> list[Expr]:
        """Return the results of `then()` if the bool scalar `cond` is true, else those of `other()`.

        Raises `ShapeError` if their numbers differ, and `TiraxError` in a dataflow block.
        """
        return control_flow.if_then_else(self, cond, then, other, name_hint)

    def _te_argument(self, value: Any) -> Any:
        """Return the SSA value of a Relax value for a tensor function, binding it first if necessary."""
        if isinstance(value, tuple | list):
            return [self._te_argument(v) for v in cast("Sequence[Any]", value)]
        if isinstance(getattr(value, "expr_handle", None), Expr):
            value = value.expr_handle
        if isinstance(value, Tuple):
            return [self._te_argument(f) for f in value.fields]
        if isinstance(value, Call | TupleGetItem):
            return self.place(value)
        return self.resolve(value) if isinstance(value, Expr) else value


_local = threading.local()


def _stack() -> list[BlockBuilder]:
    """Return the builders that are building functions in this thread, innermost last."""
    if not hasattr(_local, "builders"):
        _local.builders = []
    return _local.builders
