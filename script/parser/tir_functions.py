"""Calls in a prim_func of what is no function of `T`: other functions of the module, and macros."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, cast

from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Attribute, BlockArgument, SSAValue

from ...diagnostics import suggestion
from ...dialects import tir
from ...dialects.dtypes import dtype_name, is_scalable, lanes_of, scalar_of
from ...dialects.names import name_of
from ...dialects.sym.expr import product
from ...dialects.tir.types import HANDLE
from ...ir.passes.limits import check_limit
from .scope import Environment, Scope
from .source import Source
from .tir_calls import TirCalls
from .values import Access, CallSite, GlobalRef, Method, Ref, describe

MACROS = (Ref("tir", "macro"), Ref("tir", "inline"))
"""The decorators of macros."""
_MAX_DEPTH = 64


def _access_ptr(p: TirCalls, buffer: SSAValue, site: CallSite) -> SSAValue:
    """`A.access_ptr("rw", offset=8)`: the address of a part of a buffer."""
    mode, _, lanes, offset, extent = site.bind("access_mask ptr_type= content_lanes= offset= extent=")
    t = cast(tir.BufferType, buffer.type)
    mask = sum(bit for letter, bit in (("r", 1), ("w", 2)) if letter in mode) if isinstance(mode, str) else mode
    if lanes not in (None, 1) or not isinstance(mask, int):
        raise site.error("the mask is a string of 'r' and 'w', and the lanes are 1", found=describe(mode))
    start = 0 if offset is None else offset
    count = p.operate("sub", product(t.dims), start, site.node) if extent is None else extent
    if t.elem_offset is not None:
        start = p.operate("add", t.elem_offset, start, site.node)
    ptype = p.emit(tir.CallIntrinOp("type_annotation", [], t.dtype), site.node)
    data = p.emit(tir.BufferDataOp(buffer), site.node)
    rest = [p.expr(v, site.node) for v in (start, count, mask)]
    return p.emit(tir.CallIntrinOp("tvm_access_ptr", [ptype, data, *rest], HANDLE), site.node)


def _vload(p: TirCalls, buffer: SSAValue, site: CallSite) -> SSAValue:
    """`A.vload([i, j], "float32x4")`: a vector from an element on; lanes that a `predicate` leaves out are 0."""
    begin, dtype, predicate = site.bind("begin dtype= predicate=")
    t = cast(tir.BufferType, buffer.type)
    wanted = p.dtype(dtype, site.node, dtype_name(t.dtype))
    indices = _vector_indices(p, t, begin, wanted, site)
    if predicate is None:
        return p.emit(tir.LoadOp(buffer, indices), site.node)
    return p.emit(tir.MaskedLoadOp(buffer, *_masked(p, buffer, indices, predicate, site)), site.node)


def _vstore(p: TirCalls, buffer: SSAValue, site: CallSite) -> None:
    """`A.vstore([i, j], value)`: a statement that stores a vector from an element on, where a `predicate` holds."""
    begin, value, predicate = site.bind("begin value predicate=")
    stored = p.expr(value, site.node)
    indices = _vector_indices(p, cast(tir.BufferType, buffer.type), begin, stored.type, site)
    if predicate is None:
        p.emit(tir.StoreOp(stored, buffer, indices), site.node)
    else:
        p.emit(tir.MaskedStoreOp(stored, buffer, *_masked(p, buffer, indices, predicate, site)), site.node)


def _masked(
    p: TirCalls, buffer: SSAValue, indices: list[SSAValue], predicate: Any, site: CallSite
) -> tuple[SSAValue, SSAValue]:
    """The index of a flat buffer, and the mask of its lanes."""
    mask, wanted = p.expr(predicate, site.node), tir.element_type(buffer, indices)
    if len(indices) != 1:
        raise site.error("a predicate is for a buffer of one dimension", found=f"{len(indices)} dimensions")
    if not isinstance(wanted, VectorType) or mask.type != tir.with_lanes(i1, wanted):
        raise site.error("a predicate is as many booleans as there are lanes", expected=wanted, found=mask.type)
    return indices[0], mask


def _vector_indices(p: TirCalls, t: tir.BufferType, begin: Any, wanted: Attribute, site: CallSite) -> list[SSAValue]:
    """The indices of as many elements as `wanted` has lanes."""
    given = cast("list[Any]", begin) if isinstance(begin, tuple | list) else [begin]
    indices = [p.as_index(p.expr(i, site.node), site.node) for i in given]
    if scalar_of(wanted) != t.dtype or len(indices) != t.rank:
        raise site.error("the elements or the number of indices do not fit", found=f"{len(indices)} for {t}")
    if isinstance(wanted, VectorType) and not isinstance(indices[-1].type, VectorType):
        one = p.cast(1, indices[-1].type, site.node)
        indices[-1] = p.emit(tir.RampOp(indices[-1], one, lanes_of(wanted), is_scalable(wanted)), site.node)
    return indices


_BUFFER_METHODS: dict[str, Callable[[TirCalls, SSAValue, CallSite], SSAValue | None]] = {
    "access_ptr": _access_ptr,
    "vload": _vload,
    "vstore": _vstore,
}


@dataclass(frozen=True)
class Macro:
    """Statements that are read again wherever the macro is called, with its parameters in place of the arguments.

    Names that it does not bind mean what they mean in `environment`; without one, what they mean where it is called.
    """

    node: ast.FunctionDef
    source: Source
    environment: Environment | None


class Callee(NamedTuple):
    """What a call needs to know of a prim_func, which may still be read: a function may call itself."""

    name: str
    params: Sequence[SSAValue]
    ret_type: Attribute | None

    @staticmethod
    def of(func: tir.FuncOp) -> Callee:
        """That of a function."""
        return Callee(func.sym_name.data, func.params, func.ret_type)


class TirModule(Protocol):
    """What a prim_func sees of its module."""

    def tensor_function(self, name: str, site: CallSite) -> Callee:
        """The function `name`; raises a located error where there is none."""
        ...

    def has_function(self, name: str) -> bool: ...

    def function_names(self) -> list[str]: ...

    def imported(self, value: Any) -> GlobalRef | None: ...


class TirFunctions(TirCalls):
    """The evaluator with calls of functions and macros; `body` reads statements."""

    module: TirModule | None = None

    def __init__(self, source: Source, scope: Scope):
        super().__init__(source, scope)
        self._macro_depth = 0
        self._macro_calls = 0
        self.entry = self.block
        self.handles: dict[int, str] = {}
        """Position -> name of the parameters that are handles."""
        self.function: ast.FunctionDef | None = None
        """What is read."""

    def is_said_once(self, name: str) -> bool:
        """Whether the function has a variable of its own that it mentions in one place only."""
        names = [] if self.function is None else [n for n in ast.walk(self.function) if isinstance(n, ast.Name)]
        uses = [n.ctx for n in names if n.id == name]
        return sorted(isinstance(ctx, ast.Load) for ctx in uses) == [False, True]

    def subscript_of(self, value: SSAValue, indices: tuple[Any, ...], node: ast.AST) -> Access:
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            handle = self.handles.get(value.index) if isinstance(value, BlockArgument) else None
            if handle == node.value.id and value.owner is self.entry and name_of(value) not in (None, handle):
                raise self.error(node, "a handle has no elements", expected=f"elements of '{name_of(value)}'")
        return super().subscript_of(value, indices, node)

    def body(self, statements: Sequence[ast.stmt]) -> None:
        raise NotImplementedError

    def member_of_module(self, name: str, node: ast.AST) -> Any:
        if self.module is None or not self.module.has_function(name):
            known = [] if self.module is None else self.module.function_names()
            raise self.error(node, f"the module has no function '{name}'", hint=suggestion(name, known))
        return GlobalRef(name)

    def call_value(self, target: Any, site: CallSite) -> Any:
        if isinstance(target, Macro):
            self._expand(target, site)
            return None
        if isinstance(target, Method) and target.name in _BUFFER_METHODS:
            return _BUFFER_METHODS[target.name](self, target.value, site)
        found = None if self.module is None else self.module.imported(target)
        if found is not None:
            return self._call_function(found.name, site)
        return super().call_value(target, site)

    # Functions

    def call_ref(self, target: Ref, site: CallSite) -> Any:
        callee = site.args[0] if site.args and target == Ref("tir", "call_tir") else None
        if isinstance(callee, GlobalRef):
            return self._call_function(callee.name, replace(site, args=site.args[1:]))
        return super().call_ref(target, site)

    def _call_function(self, name: str, site: CallSite) -> SSAValue:
        assert self.module is not None
        callee = self.module.tensor_function(name, site)
        if site.kwargs or len(site.args) != len(callee.params):
            names = ", ".join(name_of(p) or "" for p in callee.params)
            wanted = f"{len(callee.params)}: {names}"
            raise site.error("wrong number of arguments", expected=wanted, found=len(site.args))
        args = [self._argument(p, a, site) for p, a in zip(callee.params, site.args, strict=True)]
        result = tir.VOID if callee.ret_type is None else callee.ret_type
        return self.emit(tir.CallOp(callee.name, args, result), site.node)

    def _argument(self, param: SSAValue, given: Any, site: CallSite) -> SSAValue:
        """A buffer is given by its address, a scalar as the type of the parameter."""
        if not isinstance(param.type, tir.BufferType | tir.HandleType):
            return self.cast(given, param.type, site.node)
        if isinstance(given, SSAValue) and isinstance(given.type, tir.BufferType):
            given = self.emit(tir.BufferDataOp(given), site.node)
        if not (isinstance(given, SSAValue) and isinstance(given.type, tir.HandleType)):
            what = f"parameter '{name_of(param)}' is a buffer"
            raise site.error(what, expected="an address: A.data", found=describe(given))
        return given

    # Macros

    def define_macro(self, node: ast.FunctionDef) -> None:
        """A macro inside of a function: its free names are those of the function."""
        if not is_macro(self, node):
            raise self.error(node, "a function may not stand in a prim_func", expected="@T.macro or @T.inline")
        self.scope.define(node.name, Macro(node, self.source, None))

    def _expand(self, macro: Macro, site: CallSite) -> None:
        try:
            bound = _signature(macro.node.args).bind(*site.args, **site.kwargs)
        except TypeError as error:
            raise site.error(str(error), expected=ast.unparse(macro.node.args)) from None
        given = set(bound.arguments)
        bound.apply_defaults()
        if self._macro_depth >= _MAX_DEPTH:
            raise site.error("macros call each other without end", expected=f"at most {_MAX_DEPTH} levels")
        self._macro_calls += 1
        check_limit("parse.macros", self._macro_calls, "macros call each other too often", site.source.place(site.node))
        around = self.scope, self.source
        self._macro_depth += 1
        try:
            self.scope = self.scope if macro.environment is None else Scope(macro.environment)
            self.source = macro.source
            with self.scope.frame() as frame:
                for name, value in bound.arguments.items():
                    frame[name] = self.visit(value) if name not in given and isinstance(value, ast.AST) else value
                self.body(macro.node.body)
        finally:
            self._macro_depth -= 1
            self.scope, self.source = around


def _signature(arguments: ast.arguments) -> inspect.Signature:
    """The parameters of a macro; the defaults are their nodes, which are read where they are needed."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = {a.arg: d for a, d in zip(reversed(plain), reversed(arguments.defaults), strict=False)}
    defaults |= {a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None}
    kinds = [
        (inspect.Parameter.POSITIONAL_ONLY, arguments.posonlyargs),
        (inspect.Parameter.POSITIONAL_OR_KEYWORD, arguments.args),
        (inspect.Parameter.VAR_POSITIONAL, [a for a in [arguments.vararg] if a is not None]),
        (inspect.Parameter.KEYWORD_ONLY, arguments.kwonlyargs),
        (inspect.Parameter.VAR_KEYWORD, [a for a in [arguments.kwarg] if a is not None]),
    ]
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [inspect.Parameter(a.arg, kind, default=defaults.get(a.arg, empty)) for kind, args in kinds for a in args]
    )


def is_macro(evaluator: Any, node: ast.FunctionDef) -> bool:
    """Whether a function is decorated as a macro."""
    return any(evaluator.visit(d.func if isinstance(d, ast.Call) else d) in MACROS for d in node.decorator_list)


def hygienic(evaluator: Any, node: ast.FunctionDef) -> bool:
    """What `@T.macro(hygienic=…)` says."""
    calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
    given = [evaluator.visit(k.value) for d in calls for k in d.keywords if k.arg == "hygienic"]
    return not given or bool(given[0])
