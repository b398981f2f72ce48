"""`BlockBuilder`: Relax functions built from Python, with operators and with tensor expressions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp

from ..dialects import relax
from ..handles.module import IRModule
from ..handles.relax.builder import Builder, module_of
from ..handles.relax.expr import Call, Expr, Tuple, TupleGetItem, Var
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
        """The builder whose function is being built, None outside of functions."""
        stack = _stack()
        return stack[-1] if stack else None

    @contextmanager
    def function(self, *args: Any, **options: Any) -> Iterator[None]:
        """Build a function `(name, params, attrs, pure, private)`; `emit_func_output` ends it."""
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
        """A call of the tensor function that `func` describes with tensor expressions; the function joins the module.

        Relax values among the arguments reach `func` as tensors, all else as it is. Raises `TiraxError` for values of
        unknown shape or dtype, and where `func` returns no tensors.
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
        """As `call_te`; the gradient is what the tensor function registered as `te_grad_name` gives.

        That is called with `te_grad_kwargs` besides the gradient of the result and the arguments.
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
        """Run `body` as long as `cond` holds: the last carried values, then what was collected, stacked.

        `cond(*carried)` gives a bool scalar; `body(*carried)` a sequence of the next carried values, and of `collected`
        tensors more, of the same shape each time. Both are called to build functions of the module, `body` perhaps more
        than once, and may use values from around them. A number that is carried is a symbolic variable in them
        (`number.struct_info.value`), and so is each extent that an iteration changes.

            total, squares = bb.while_loop(
                lambda i, s: R.less(i, n), lambda i, s: (i + one, s + i, i * i), [zero, zero], collected=1)[1:]

        Raises `ShapeError` and `DTypeError` where the values that `body` gives do not fit the carried ones.
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
        """As `while_loop`, `length` times (an integer or a symbolic expression): `body(i, *carried)` gets the number.

        What is collected is of known length. Raises as `while_loop`.
        """
        return control_flow.scan(self, body, init, length, collected, name_hint)

    def if_then_else(
        self, cond: Any, then: Callable[[], Any], other: Callable[[], Any], name_hint: str = ""
    ) -> list[Expr]:
        """The values that `then()` gives where `cond`, a bool scalar, is true, else those that `other()` does.

        Raises `ShapeError` where these are not as many, `TiraxError` in a dataflow block.
        """
        return control_flow.if_then_else(self, cond, then, other, name_hint)

    def _te_argument(self, value: Any) -> Any:
        """A Relax value as the SSA value that a tensor function is told of; what is not bound yet is bound."""
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
    """The builders whose functions this thread is building, innermost last."""
    if not hasattr(_local, "builders"):
        _local.builders = []
    return _local.builders
