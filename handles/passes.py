"""Passes from Python functions: on modules, dataflow blocks, Relax functions and tensor functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..diagnostics import TiraxError
from ..dialects.names import name_of
from ..dialects.relax import DataflowOp
from ..ir.passes.transform import Pass, PassContext, PassInfo, module_op, replace_contents
from .module import IRModule
from .relax.binding_rewrite import replace_dataflow
from .relax.function import DataflowBlock, Function
from .tir.prim_func import PrimFunc


@dataclass(frozen=True)
class PythonPass(Pass):
    """A pass defined by a Python function `(IRModule, PassContext) -> IRModule`."""

    name = "python"
    function: Callable[[Any, PassContext], Any] = field(default=lambda mod, _ctx: mod)
    pass_info: PassInfo = PassInfo("python")

    def __str__(self) -> str:
        return self.pass_info.name

    @property
    def info(self) -> PassInfo:
        return self.pass_info

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        result = self.function(IRModule(op), PassContext.current())
        if result is None:
            raise TiraxError(f"the pass {self.info.name} returned nothing", expected="an IRModule", found="None")
        replace_contents(op, module_op(result))


def _pass_decorator(
    wrap: Callable[[Any], Callable[[Any, PassContext], Any]], what: Any, info: Callable[[str], PassInfo]
) -> Any:
    """Turn a function into a pass, and a class into one whose instances are passes."""
    if not isinstance(what, type):
        return PythonPass(wrap(what), info(what.__name__))

    class Wrapped(PythonPass):
        def __init__(self, *args: Any, **kwargs: Any):
            inner = what(*args, **kwargs)
            super().__init__(wrap(inner), info(what.__name__))
            object.__setattr__(self, "inner", inner)

        def __getattr__(self, attr: str) -> Any:
            return getattr(object.__getattribute__(self, "inner"), attr)

    Wrapped.__name__ = Wrapped.__qualname__ = what.__name__
    Wrapped.__doc__ = what.__doc__
    return Wrapped


def _on_dataflow_blocks(function: Callable[[Any, Any, PassContext], Any], mod: Any, ctx: PassContext) -> Any:
    for _, func in mod.functions_items():
        if not isinstance(func, Function):
            continue
        for op in [op for op in func.op.walk() if isinstance(op, DataflowOp)]:
            block = DataflowBlock(op)
            new = function(block, mod, ctx)
            if not isinstance(new, DataflowBlock):
                found = type(new).__name__
                raise TiraxError("a pass on dataflow blocks gives one", expected="a DataflowBlock", found=found)
            if not new.detached and not func.op.is_ancestor(new.op):
                raise TiraxError(
                    "a pass on dataflow blocks gave a block of another function",
                    hint="relax.DataflowBlock([…]) makes one that belongs to no function",
                )
            if new.detached:
                names = (n for inner in func.op.walk() for v in inner.results if (n := name_of(v)) is not None)
                replace_dataflow(op, new, names)
    return mod


def _on_functions(kind: type, inner: Any) -> Callable[[Any, PassContext], Any]:
    """Return a function that runs `inner`, or its method `transform_function`, on the functions of one kind."""
    function = getattr(inner, "transform_function", inner)

    def on_module(mod: Any, ctx: PassContext) -> Any:
        for gv, func in mod.functions_items():
            if isinstance(func, kind):
                mod.update_func(gv, function(func, mod, ctx))
        return mod

    return on_module


def _pass_maker(name: str, wrap: Callable[[Any], Callable[[Any, PassContext], Any]], doc: str) -> Callable[..., Any]:
    """Return TVM's decorator `name`, with its parameters: `wrap` applies the decorated function to a module."""

    def maker(
        pass_func: Any = None,
        opt_level: int = 0,
        name: str | None = None,
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> Any:
        def decorate(what: Any) -> Any:
            return _pass_decorator(wrap, what, lambda n: PassInfo(name or n, opt_level, tuple(required or ())))

        return decorate if pass_func is None else decorate(pass_func)

    maker.__name__ = maker.__qualname__ = name
    maker.__doc__ = doc
    return maker


module_pass = _pass_maker(
    "module_pass",
    lambda inner: getattr(inner, "transform_module", inner),
    "Make a pass of a function `(mod, ctx) -> mod`, or of a class with a method `transform_module(mod, ctx)`.",
)
dataflowblock_pass = _pass_maker(
    "dataflowblock_pass",
    lambda inner: partial(_on_dataflow_blocks, getattr(inner, "transform_dataflowblock", inner)),
    """Make a pass of a function `(block, mod, ctx) -> block`, or of a class with a method `transform_dataflowblock`.

    It runs on every dataflow block of the Relax functions; what a block outputs it must bind again, to the same
    variables.
    """,
)
function_pass = _pass_maker(
    "function_pass",
    partial(_on_functions, Function),
    """Make a pass of a function `(func, mod, ctx) -> func`, or of a class with a method `transform_function`.

    It runs on every Relax function of the module.
    """,
)
prim_func_pass = _pass_maker(
    "prim_func_pass",
    partial(_on_functions, PrimFunc),
    "As `function_pass`, for every tensor function of the module.",
)


def apply_to_prim_funcs(ftransform: Callable[[Any], Any]) -> PythonPass:
    """Return a pass that replaces every tensor function of a module by the result of a function."""
    applied = prim_func_pass(lambda func, _mod, _ctx: ftransform(func), name="Apply")
    return cast(PythonPass, applied)
