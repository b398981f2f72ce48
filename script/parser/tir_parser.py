"""Prim_funcs: parameters, the end of a function, and the tables that define the language `T`."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...diagnostics import suggestion
from ...dialects import tir
from ...dialects.dtypes import DTYPES
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import SymExpr, Var, i32, i64
from ...dialects.tir.types import HANDLE, HandleType
from ...ir.verification.as_written import remember
from .attributes import without_symbol
from .evaluator import RAISE, Language, Policy, check_plain_parameters
from .scope import Environment, Scope
from .source import Source
from .tir_accesses import attribute_of, element_of
from .tir_blocks import BLOCK_FORMS, read_body
from .tir_buffers import BUFFER_CALLS
from .tir_calls import CALLS, FORMS, typed
from .tir_foreign import DEVICE_NAMES, FOREIGN_CALLS
from .tir_functions import call_builtin, call_function, call_value, member
from .tir_operators import binary, unary
from .tir_state import Builder, ModuleContext, TirParser, TirState
from .tir_statements import CALLED, STATEMENTS
from .tir_unsupported import unsupported
from .tir_values import dtype_by_name
from .values import Access, CallSite, FreshVar, GlobalRef, Imm, Ref


def tir_parser(source: Source, environment: Environment, module: ModuleContext, policy: Policy = RAISE) -> TirParser:
    """Return the parser of one prim_func of a module."""
    entry = Block()
    return TirParser(source, Scope(environment), TIR, TirState(entry, module), block=entry, policy=policy)


def parse_tir(p: TirParser, function: ast.FunctionDef, *, private: bool = False) -> tir.FuncOp:
    """Parse a function into an op. Raises `ScriptError` or another located `TiraxError`."""
    p.check_names(function)
    p.state.function = function
    _parameters(p, function.args)
    read_body(p, function.body)
    _erase_unused(p.state.entry)
    names = _handle_names(p)
    attrs = p.state.attrs if private else without_symbol(p.state.attrs, function.name)
    op = tir.FuncOp(
        function.name,
        Region(p.state.entry),
        private=private,
        attrs=attrs,
        handle_names=names,
        ret_type=p.state.ret_type,
    )
    op.location = p.source.attr(function)
    if p.state.ret_type is not None and function.returns is None:
        remember(op).declared = tir.VOID
    return op


def _parameters(p: TirParser, arguments: ast.arguments) -> None:
    check_plain_parameters(p.source, arguments)
    annotated = [(a, a.annotation) for a in arguments.args]
    types: list[Attribute | None] = [_scalar_parameter(p, a, n) for a, n in annotated]
    for i, (arg, annotation) in enumerate(annotated):
        dtype = types[i]
        if dtype is None:
            dtype = _buffer_parameter(p, arg, annotation)
        value = p.state.entry.insert_arg(dtype, i, p.source.attr(arg))
        set_name(value, arg.arg)
        if isinstance(dtype, HandleType):
            p.state.handles[i] = arg.arg
        if dtype in (i32, i64):
            p.state.scalars[Var(arg.arg, cast(IntegerType, dtype))] = value
        else:
            p.scope.define(arg.arg, value)


def _scalar_parameter(p: TirParser, arg: ast.arg, annotation: ast.expr | None) -> Attribute | None:
    """Return the type of a scalar or handle. Integer parameters may be used by name in the shapes of all buffers."""
    if annotation is None:
        raise p.error(arg, f"parameter '{arg.arg}' has no type", expected="T.handle, T.Buffer(…) or T.int32, …")
    if isinstance(annotation, ast.Call):
        target = p.visit(annotation.func)
        if target in (Ref("tir", "handle"), Ref("tir", "ptr"), Ref("tir", "Ptr")):
            return cast(FreshVar, p.visit(annotation)).dtype
        return None
    value = p.visit(annotation)
    dtype = dtype_by_name(value.path) if isinstance(value, Ref) and value.dialect == "tir" else None
    if isinstance(value, Ref) and value.path == "handle":
        return HANDLE
    if dtype is None:
        raise p.error(annotation, "a parameter's type is expected", expected="T.handle, T.Buffer(…) or T.int32, …")
    if dtype in (i32, i64):
        p.scope.define(arg.arg, Var(arg.arg, cast(IntegerType, dtype)))
    return dtype


def _buffer_parameter(p: TirParser, arg: ast.arg, annotation: ast.expr | None) -> Attribute:
    value = p.visit(cast(ast.expr, annotation))
    if not isinstance(value, tir.BufferType):
        raise p.error(cast(ast.expr, annotation), f"the type of parameter '{arg.arg}' is not known")
    return value


def _handle_names(p: TirParser) -> list[str] | None:
    """Return the names of the handles, or None if they equal the names that the printer generates."""
    if not p.state.handles:
        return None
    names: list[str] = []
    usual: list[str] = []
    for i, value in enumerate(p.state.entry.args):
        own = name_of(value) or ""
        default = f"var_{own}" if isinstance(value.type, tir.BufferType) else own
        usual.append(default)
        names.append(p.state.handles.get(i, default))
    return None if names == usual else names


_EFFECTS = (tir.CallExternOp, tir.CallPackedOp, tir.CallOp, tir.CallLLVMEffectOp, tir.DeviceCallOp, tir.YieldOp)


_ERASABLE = tuple(op for op in tir.EXPRESSION_OPS if op not in _EFFECTS)


def _erase_unused(block: Block) -> None:
    """Erase unused expressions, such as the ends of slices."""
    for op in reversed(list(block.walk())):
        if isinstance(op, (*_ERASABLE, ValueOp)) and not any(r.uses for r in op.results):
            op.detach()
            op.erase()


EXPRESSIONS: dict[str, Builder] = {**CALLS, **FOREIGN_CALLS}
"""Functions of `T` that return expressions, by name."""
FUNCTIONS: dict[str, Builder] = {**EXPRESSIONS, **BUFFER_CALLS, **CALLED}
"""All functions of `T` by name."""
SPECIAL = {**FORMS, **BLOCK_FORMS}
"""Functions that evaluate their arguments themselves."""
_DTYPE_FIRST = frozenset(
    {"call_extern", "call_pure_extern", "call_intrin", "call_llvm_intrin", "call_llvm_pure_intrin"}
)
"""Calls whose first argument may be passed as `dtype=`."""
_OF_A_DTYPE = frozenset(
    (
        "Cast", "FloatImm", "IntImm", "SizeVar", "Var", "cast", "const", "handle", "infinity", "max_value", "min_value",
        "get_active_lane_mask", "reinterpret", "type_annotation", "var", "vectorcombine", "vectorhigh", "vectorlow",
    )
)  # fmt: skip
"""Calls with a parameter `dtype`. Other calls accept and ignore one."""
_DTYPE_DROPPED = frozenset(CALLS.keys() | FOREIGN_CALLS.keys()) - DEVICE_NAMES.keys() - _OF_A_DTYPE


def _call(p: TirParser, target: Ref, site: CallSite) -> Any:
    """Evaluate a call such as `T.max(a, b)` or `T.float32(0)`."""
    name = target.path
    if target.dialect != "tir":
        raise site.error("only functions of T can be called in a prim_func")
    build = FUNCTIONS.get(name)
    if build is not None:
        if "dtype" in site.kwargs and name in _DTYPE_DROPPED:
            dtype = site.kwargs.pop("dtype")  # the operands alone determine the result type
            if name in _DTYPE_FIRST:
                site.args.insert(0, dtype)
        return build(p, site)
    dtype = dtype_by_name(name)
    if dtype is not None:
        return typed(p, dtype, site)
    if name == "call_tir" and site.args and isinstance(site.args[0], GlobalRef):
        return call_function(p, site.args[0].name, replace(site, args=site.args[1:]))
    known = unsupported(p.source, site.node, name)
    hint = suggestion(name, [*EXPRESSIONS, *DTYPES, *CALLED])
    raise known or p.error(site.node, f"T has no '{name}'", hint=hint)


TIR = Language(
    name="tir",
    where="a prim_func",
    values=(SSAValue, SymExpr, Imm, Access),
    special=SPECIAL,
    statements=STATEMENTS,
    call=_call,
    call_value=call_value,
    call_builtin=call_builtin,
    binary=binary,
    unary=unary,
    attribute=attribute_of,
    member=member,
    element=element_of,
)
"""The expressions and statements of a prim_func."""
