"""Statements of a prim_func other than loops and blocks."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from ...dialects import tir
from ...dialects.dtypes import dtype_name, dtype_of, is_float
from ...dialects.names import name_of, set_name
from ...dialects.sym.expr import Var, i32, i64
from ...dialects.tir.types import HANDLE, HandleType
from .attributes import attribute_dict
from .folding import OPERATORS, is_constant
from .tir_accesses import as_buffer, element_of
from .tir_blocks import BLOCK_CALLS, BLOCK_CONTEXTS, read_body
from .tir_functions import define_macro
from .tir_loops import read_loop
from .tir_reduce import CommReducer
from .tir_state import Builder, Context, TirParser
from .tir_unsupported import unsupported
from .tir_values import (
    as_condition,
    cast_to,
    dtype_by_name,
    dtype_text,
    element,
    expr,
    imm_of,
    indices_of,
    lanes,
    load,
    type_of,
)
from .values import Access, CallSite, EnvThread, FreshVar, MetaVar, ModuleRef, Ref, describe, free_value


def _sub_body(p: TirParser, statements: Sequence[ast.stmt]) -> Region:
    block = Block()
    with p.into(block):
        read_body(p, statements)
    return Region(block)


def _assign(p: TirParser, node: ast.Assign) -> None:
    if len(node.targets) != 1:
        raise p.error(node, "only one target may be assigned")
    target = node.targets[0]
    if isinstance(target, ast.Subscript):
        _store(p, target, p.visit(node.value), node)
    else:
        _bind(p, target, p.visit(node.value), node)


def _bind(p: TirParser, target: ast.expr, value: Any, node: ast.AST) -> None:
    """Bind `value` to a name, or the elements of a tuple to several names."""
    if isinstance(target, ast.Tuple | ast.List):
        if isinstance(value, MetaVar) and isinstance(value.value, tuple | list):
            value = [MetaVar(each) for each in cast("list[Any]", value.value)]
        items = cast("list[Any]", list(value)) if isinstance(value, tuple | list) else [value]
        if len(items) != len(target.elts):
            raise p.error(node, "the numbers of names and values differ", expected=len(target.elts), found=len(items))
        for name, item in zip(target.elts, items, strict=True):
            _bind(p, name, item, node)
    elif isinstance(target, ast.Name):
        _check_new(p, target.id, node)
        p.scope.define(target.id, _named(p, target.id, value, node))
    else:
        raise p.error(target, "this cannot be assigned", expected="a name or an element of a buffer")


def _check_new(p: TirParser, name: str, node: ast.AST) -> None:
    """Reject rebinding a buffer or an iterator of the block that is being parsed."""
    known = p.scope.innermost(name)
    if not isinstance(known, SSAValue):
        return
    iterator = bool(p.state.blocks) and any(known is a for a in p.block.args)
    if iterator or isinstance(known.type, tir.BufferType) and not isinstance(known, BlockArgument):
        what = "an iterator of this block" if iterator else "a buffer"
        raise p.error(node, f"'{name}' is {what} already", hint="give it another name")


def _named(p: TirParser, name: str, value: Any, node: ast.AST) -> Any:
    """Return the value of a name after `name = value`; an expression becomes a let."""
    if isinstance(value, MetaVar):
        return value.value
    if isinstance(value, FreshVar):
        if value.dtype not in (i32, i64):
            return FreshVar(value.dtype, name)  # a name for T.Let
        return Var(name, cast(IntegerType, value.dtype))
    if isinstance(value, tir.BufferType):
        return free_value(value, name)
    if isinstance(value, SSAValue) and _is_definition(p, value):
        if name_of(value) is None:
            set_name(value, name)
        return value
    plain = is_constant(value) and not isinstance(value, int | float)
    if plain or isinstance(value, ModuleRef | Ref | CommReducer | EnvThread | tuple | list | dict):
        return value
    let = p.emit(tir.LetOp(expr(p, value, node)), node)
    set_name(let, name)
    return let


def _is_definition(p: TirParser, value: SSAValue) -> bool:
    """Return whether a value needs no let, as buffers and iterators of the innermost block."""
    if isinstance(value.type, tir.BufferType):
        return True
    if isinstance(value.owner, tir.LetOp | tir.AllocateOp) and name_of(value) is None:
        return True
    return bool(p.state.blocks) and any(value is a for a in p.block.args) and name_of(value) is None


def _annotated(p: TirParser, node: ast.AnnAssign) -> None:
    annotation = p.visit(node.annotation)
    if isinstance(annotation, FreshVar):
        dtype: Attribute | None = annotation.dtype
    else:
        dtype = dtype_by_name(annotation.path) if isinstance(annotation, Ref) else None
    if isinstance(annotation, Ref) and annotation.path == "handle":
        dtype = HANDLE
    if dtype is None:
        raise p.error(node.annotation, "a data type is expected", expected="T.int32, T.float32, …")
    if node.value is None:
        _bind(p, node.target, FreshVar(dtype), node)
        return
    value = p.visit(node.value)
    imm = imm_of(value)
    if imm is not None and (is_float(dtype) or not is_float(imm.dtype)):
        value = cast_to(p, value, dtype, node)
    value_type = type_of(p, value, node)
    if value_type != dtype:
        if not (isinstance(value_type, HandleType) and isinstance(dtype, HandleType)):
            raise p.error(node.value, "the value is not of the annotated type", expected=dtype, found=value_type)
        value = p.emit(tir.LetOp(expr(p, value, node), dtype), node)
    _bind(p, node.target, expr(p, value, node) if isinstance(value, Access) else value, node)


def _augmented(p: TirParser, node: ast.AugAssign) -> None:
    if not isinstance(node.target, ast.Subscript):
        raise p.error(
            node, "a variable cannot be changed", hint="use an element of a buffer, or give the result another name"
        )
    element = ast.copy_location(ast.Subscript(node.target.value, node.target.slice, ast.Load()), node.target)
    old = load(p, cast(Access, p.visit(element)))
    _store(p, node.target, p.operate(OPERATORS[type(node.op)], old, p.visit(node.value), node), node)


def _store(p: TirParser, target: ast.Subscript, value: Any, node: ast.AST) -> None:
    buffer = as_buffer(p, p.visit(target.value), target, "what is stored into")
    _store_value(p, buffer, p.subscripts(target), value, node, target)


def _store_value(
    p: TirParser, buffer: SSAValue, indices: tuple[Any, ...], value: Any, node: ast.AST, target: ast.AST | None = None
) -> None:
    """Store a value, converted to the element type of the buffer, with a warning if a float loses its fraction."""
    value = load(p, value) if isinstance(value, Access) else value
    access = element_of(p, buffer, indices, target or node)
    places = indices_of(p, access)
    stored = tir.element_type(buffer, places)
    source = type_of(p, value, node)
    if is_float(element(source)) and not is_float(element(stored)):
        text = f"a {dtype_name(source)} is stored into a buffer of {dtype_name(stored)}: its fraction is lost"
        warnings.warn(f"{p.source.place(node)}: {text}", stacklevel=2)
    if lanes(source) not in (1, lanes(stored)):
        raise p.error(node, "the vector has another length than its place", expected=lanes(stored), found=lanes(source))
    p.emit(tir.StoreOp(cast_to(p, value, stored, node), buffer, places), node)


def _expression(p: TirParser, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return
    value = p.visit(node.value)
    if value is not None:
        p.emit(tir.EvaluateOp(expr(p, value, node)), node)


def _if(p: TirParser, node: ast.If) -> None:
    cond = p.visit(node.test)
    if isinstance(cond, bool):
        read_body(p, node.body if cond else node.orelse)
        return
    value = as_condition(p, cond, node.test)
    then_region = _sub_body(p, node.body)
    else_region = _sub_body(p, node.orelse) if node.orelse else None
    p.emit(tir.IfOp(value, then_region, else_region), node)


def _while(p: TirParser, node: ast.While) -> None:
    if node.orelse:
        raise p.error(node, "while … else is not part of TVMScript")
    block = Block()
    with p.into(block):
        value = as_condition(p, p.visit(node.test), node.test)
        p.emit(tir.YieldOp(value), node.test)
    p.emit(tir.WhileOp(Region(block), _sub_body(p, node.body)), node)


def _assert(p: TirParser, node: ast.Assert) -> None:
    message = "" if node.msg is None else p.visit(node.msg)
    _emit_assert(p, p.visit(node.test), message, node)


def _emit_assert(p: TirParser, cond: Any, message: Any, node: ast.AST) -> None:
    if not isinstance(message, str):
        raise p.error(node, "the message of an assertion is a string", found=describe(message))
    p.emit(tir.AssertOp(as_condition(p, cond, node), message), node)


def _return(p: TirParser, node: ast.Return) -> None:
    if node.value is None:
        raise p.error(node, "return needs a value in a prim_func")
    _emit_return(p, p.visit(node.value), node)


def _emit_return(p: TirParser, value: Any, node: ast.AST) -> None:
    """Emit the end of the function with its result."""
    result = expr(p, value, node)
    p.state.ret_type = result.type
    p.emit(tir.ReturnOp(result), node)


def _with(p: TirParser, node: ast.With) -> None:
    _with_items(p, node.items, node)


def _with_items(p: TirParser, items: Sequence[ast.withitem], node: ast.With) -> None:
    if not items:
        read_body(p, node.body)
        return
    call = items[0].context_expr
    target = p.target_of(call)
    enter = CONTEXTS.get(target.path) if isinstance(target, Ref) and target.dialect == "tir" else None
    if enter is None or not isinstance(call, ast.Call):
        missing = unsupported(p.source, call, target.path) if isinstance(target, Ref) else None
        if missing is not None:
            raise missing
        known = ", ".join(f"T.{n}" for n in CONTEXTS)
        raise p.error(call, "'with' cannot be used so", expected=known, found=describe(target))
    with enter(p, call, items[0].optional_vars):
        _with_items(p, items[1:], node)


@contextmanager
def _let(p: TirParser, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
    """Parse `with T.LetStmt(value) as x:` or `with T.let(x, value):`."""
    site_name = cast(Ref, p.visit(node.func)).path
    site = p.call_site(node, Ref("tir", site_name))
    value, var = _let_arguments(site) if site_name == "LetStmt" else reversed(site.bind("v value"))
    with p.scope.frame():
        if target is not None:
            _bind(p, target, expr(p, value, node), node)
        elif isinstance(var, Var | FreshVar):
            _let_variable(p, node, value, var)
        else:
            raise p.error(node, "the variable is missing", expected="with T.LetStmt(value) as x:")
        yield


def _let_arguments(site: CallSite) -> tuple[Any, Any]:
    """Return the value and the variable of `T.LetStmt`, whose other argument, the type, is that of the value."""
    value, _, var = site.bind("value type_annotation= var=")
    return value, var


def _let_variable(p: TirParser, node: ast.Call, value: Any, var: Var | FreshVar) -> SSAValue:
    """Bind a declared variable."""
    variables = [n for n in (*node.args, *(k.value for k in node.keywords)) if isinstance(n, ast.Name)]
    name = next(n.id for n in variables if p.scope.lookup(n.id) is var)
    let = p.emit(tir.LetOp(cast_to(p, value, var.dtype, node)), node)
    set_name(let, name)
    p.scope.define(name, let)
    return let


@contextmanager
def _assert_context(p: TirParser, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
    cond, message = p.call_site(node, Ref("tir", "Assert")).bind("condition message")
    _emit_assert(p, cond, message, node)
    yield


@contextmanager
def _buffer_context(p: TirParser, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
    with p.scope.frame():
        value = p.visit(node)
        if target is not None:
            _bind(p, target, value, node)
        yield


def _evaluate(p: TirParser, site: CallSite) -> None:
    (value,) = site.bind("value")
    if isinstance(value, str):
        p.emit(tir.EvaluateOp(p.emit(tir.StringImmOp(value), site.node)), site.node)
    elif value is not None:
        p.emit(tir.EvaluateOp(expr(p, value, site.node)), site.node)


def _let_statement(p: TirParser, site: CallSite) -> SSAValue | None:
    value, var = _let_arguments(site)
    if isinstance(var, Var | FreshVar) and isinstance(site.node, ast.Call):
        _let_variable(p, site.node, value, var)
        return None
    return p.emit(tir.LetOp(expr(p, value, site.node)), site.node)


def _assert_statement(p: TirParser, site: CallSite) -> None:
    cond, message = site.bind("condition message")
    _emit_assert(p, cond, message, site.node)


def _buffer_store(p: TirParser, site: CallSite) -> None:
    """Parse `T.buffer_store(A, value, [i, j])`."""
    buffer, value, indices = site.bind("buffer value indices")
    _store_value(p, as_buffer(p, buffer, site.node), tuple(indices), value, site.node)


def _ret(p: TirParser, site: CallSite) -> None:
    value, dtype = site.bind("value dtype=")
    if dtype is not None:
        value = cast_to(p, value, dtype_of(dtype_text(p, dtype, site.node)), site.node)
    _emit_return(p, value, site.node)


def _func_attr(p: TirParser, site: CallSite) -> None:
    if p.state.attrs is not None:
        raise site.error("the attributes of a function are given once")
    p.state.attrs = attribute_dict(p.source, site.node, site.bind("attrs")[0])


CONTEXTS: dict[str, Context] = {
    **BLOCK_CONTEXTS,
    "LetStmt": _let,
    "let": _let,
    "Assert": _assert_context,
    **dict.fromkeys(("decl_buffer", "alloc_buffer", "allocate", "allocate_const"), _buffer_context),
}
"""Contexts of `with` statements, by name in `T`."""
CALLED: dict[str, Builder] = {
    **BLOCK_CALLS,
    "func_attr": _func_attr,
    "evaluate": _evaluate,
    "ret": _ret,
    "LetStmt": _let_statement,
    "Assert": _assert_statement,
    "buffer_store": _buffer_store,
}
"""Functions of `T` that are statements, by name."""
STATEMENTS: dict[type[ast.stmt], Callable[[TirParser, Any], None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.If: _if,
    ast.While: _while,
    ast.Assert: _assert,
    ast.Return: _return,
    ast.For: read_loop,
    ast.With: _with,
    ast.FunctionDef: define_macro,
}
"""Readers of statements by Python node type."""
