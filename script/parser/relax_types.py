"""Struct info in scripts: `R.Tensor(("n", 4), "float32")` and the like."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr, TupleType, i1
from xdsl.ir import Attribute, BlockArgument, SSAValue

from ...diagnostics import suggestion
from ...dialects.dtypes import dtype_of, float_attr, is_float
from ...dialects.names import name_of
from ...dialects.relax import OBJECT, STRUCT_INFO, CallableType, PrimType, ShapeType, TensorType
from ...dialects.relax.devices import listed_vdevice
from ...dialects.sym import IndexMapping
from ...dialects.sym.expr import Const, SymExpr, Var, i64
from ...dialects.sym.operators import select
from ...ir.python_text import python_tree
from .attributes import plain_value
from .folding import as_sym, fold_symbolic
from .relax_state import RelaxParser
from .scope import Scope, is_missing
from .source import ScriptError
from .tir_values import convert, dtype_by_name, dtype_text, imm_of
from .values import CallSite, FreshVar, Imm, Ref, Unknown, describe


class _TextScope(Scope):
    """The scope of a dimension that is written as a string: unknown names are symbolic variables."""

    def __init__(self, around: Scope):
        super().__init__(around.environment)
        self._frames = around._frames

    def lookup(self, name: str) -> Any:
        value = self.local(name)
        if isinstance(value, SymExpr):
            return value
        known = self.environment.lookup(name)
        return known if is_missing(value) and isinstance(known, Ref | int | Unknown) else Var(name)


def vdevice_of(p: RelaxParser, value: Any) -> str | None:
    """Return the virtual device that is denoted by a text or passed directly; None for any other value."""
    return (
        value.data
        if isinstance(value, StringAttr)
        else listed_vdevice(value, p.state.module.vdevices)
        if isinstance(value, str)
        else None
    )


def struct_info(p: RelaxParser, node: ast.expr) -> Attribute:
    """Evaluate an annotation and return its struct info."""
    return as_struct_info(p, p.visit(node), node)


def as_struct_info(p: RelaxParser, value: Any, node: ast.AST) -> Attribute:
    if isinstance(value, Ref) and value.path in STRUCT_INFO_CALLS:
        return STRUCT_INFO_CALLS[value.path](p, CallSite(cast(ast.Call, node), str(value), [], {}, p.source))
    if isinstance(value, STRUCT_INFO):
        return value
    raise p.error(
        node, "struct info is expected", expected="R.Tensor(…), R.Tuple(…), R.Shape(…), …", found=describe(value)
    )


def dims_of(p: RelaxParser, value: Any, node: ast.AST) -> list[SymExpr]:
    """Return the dimensions of a shape; strings are expressions over symbolic variables."""
    if not isinstance(value, tuple | list):
        raise p.error(node, "a shape is a tuple or list", expected='(1, "n")', found=describe(value))
    return [dim_of(p, v, node) for v in cast("list[Any]", value)]


def dim_of(p: RelaxParser, value: Any, node: ast.AST) -> SymExpr:
    dim = _text_dim(p, value, node) if isinstance(value, str) else as_sym(value)
    if dim is None:
        if isinstance(value, SSAValue) and isinstance(value.type, PrimType) and value.type.expr is not None:
            return value.type.expr
        raise p.error(node, "a dimension must be an integer or a symbolic expression", found=describe(value))
    return dim


def _text_dim(p: RelaxParser, text: str, node: ast.AST) -> SymExpr:
    try:
        tree = python_tree(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise p.error(node, "this is no symbolic expression", found=repr(text)) from None
    try:
        with p.elsewhere(_TextScope(p.scope), p.source):
            dim = as_sym(p.visit(tree.body))
    except ScriptError as error:
        raise p.error(node, f"in the dimension {text!r}: {error.message}", hint=error.hint) from None
    if dim is None:
        raise p.error(node, "this is no symbolic integer", found=repr(text))
    return dim


def as_dtype(p: RelaxParser, value: Any, node: ast.AST) -> Attribute | None:
    """Return a data type by name; None for None and `void`, which leave it unspecified."""
    name = "" if value is None else dtype_text(p, value, node)
    if name in ("void", ""):
        return None
    with p.source.located(node):
        return dtype_of(name)


def _tensor(p: RelaxParser, site: CallSite) -> Attribute:
    shape, dtype, vdevice, ndim = site.bind("shape= dtype= vdevice= ndim=")
    if isinstance(shape, str) and dtype is None:
        shape, dtype = None, shape
    element = as_dtype(p, dtype, site.node)
    if isinstance(shape, SSAValue) and isinstance(shape.type, ShapeType):
        named = name_of(shape) if shape.type.dims is None and isinstance(shape, BlockArgument) else None
        return TensorType.of(shape.type.dims if named is None else named, element, shape.type.rank)
    device = vdevice_of(p, vdevice)
    if shape is None:
        return TensorType.of(None, element, _rank(site, ndim), vdevice=device)
    dims = dims_of(p, shape, site.node)
    rank = _rank(site, ndim)
    if rank is not None and rank != len(dims):
        raise site.error("ndim does not agree with the shape", expected=len(dims), found=rank)
    return TensorType.of(dims, element, vdevice=device)


def _rank(site: CallSite, ndim: Any) -> int | None:
    if ndim is None or ndim == -1:
        return None
    if not isinstance(ndim, int) or isinstance(ndim, bool) or ndim < 0:
        raise site.error("ndim must be an integer that is not negative", found=describe(ndim))
    return ndim


def _shape(p: RelaxParser, site: CallSite) -> Attribute:
    values, ndim = site.bind("values= ndim=")
    return ShapeType.of(None if values is None else dims_of(p, values, site.node), _rank(site, ndim))


def _tuple(p: RelaxParser, site: CallSite) -> Attribute:
    fields = site.args
    if len(fields) == 1 and isinstance(fields[0], tuple | list):
        fields = cast("list[Any]", list(fields[0]))
    return tuple_type([as_struct_info(p, f, site.node) for f in fields])


def tuple_type(fields: Sequence[Attribute]) -> TupleType:
    """Return the struct info of a tuple."""
    return TupleType(cast("tuple[Any, ...]", tuple(fields)))


def _prim(p: RelaxParser, site: CallSite) -> Attribute:
    dtype, value = site.bind("dtype= value=")
    if isinstance(value, Imm):
        known = float_attr if is_float(value.dtype) else Const
        return PrimType.of(value.dtype, known(value.value, value.dtype))  # pyright: ignore[reportArgumentType]
    expr = None if value is None else dim_of(p, value, site.node)
    element = as_dtype(p, dtype, site.node) or (i64 if expr is None else expr.dtype)
    return PrimType.of(element, expr)


def _callable(p: RelaxParser, site: CallSite) -> Attribute:
    params, ret, purity, _ = site.bind("params= ret= purity= derive_func=")
    types: list[Attribute] | None = None
    if params is not None:
        items = cast("list[Any]", list(params)) if isinstance(params, tuple | list) else [params]
        types = [as_struct_info(p, v, site.node) for v in items]
    result = OBJECT if ret is None else as_struct_info(p, ret, site.node)
    return CallableType.of(types, result, params is not None if purity is None else bool(plain_value(purity)))


def _object(p: RelaxParser, site: CallSite) -> Attribute:
    site.bind("")
    return OBJECT


STRUCT_INFO_CALLS: dict[str, Callable[[RelaxParser, CallSite], Attribute]] = {
    "Tensor": _tensor,
    "Shape": _shape,
    "Tuple": _tuple,
    "Prim": _prim,
    "Callable": _callable,
    "Object": _object,
}
"""The struct info constructors of `R` by name."""


_SYMBOLIC_CALLS = {
    **{name: name for name in ("min", "max", "floordiv", "floormod", "truncdiv", "truncmod")},
    "Div": "truncdiv",
    "And": "and",
    "Or": "or",
}
"""Functions of `T` on two symbolic expressions, with their operators."""


def _index_map(p: RelaxParser, site: CallSite) -> IndexMapping:
    """Parse `T.index_map(lambda i: (i // 4, i % 4), inverse_index_map=…)`.

    Indices are int64, regardless of `index_dtype`.
    """
    mapping, inverse = map(p.index_mapping, site.bind("mapping inverse_index_map= index_dtype=")[:2])
    if not isinstance(mapping, IndexMapping) or not isinstance(inverse, IndexMapping | None):
        raise site.error("an index map is a lambda", found=describe(inverse if inverse else mapping))
    return mapping if inverse is None else replace(mapping, inverse_map=inverse)


def _arithmetic(kind: str, site: CallSite) -> SymExpr:
    """Parse `T.min(n, 4)`."""
    a, b = site.bind("a b")
    result = fold_symbolic(kind, a, b)
    if result is None:
        raise site.error("two integers are expected", found=f"{describe(a)} and {describe(b)}")
    return result


def _choice(site: CallSite) -> SymExpr:
    """Parse `T.Select(n < 4, n, 4)`."""
    condition, a, b = site.bind("condition true_value false_value")
    if isinstance(condition, bool):
        condition = Const(int(condition), i1)
    x, y = as_sym(a, b if isinstance(b, SymExpr) else None), as_sym(b, a if isinstance(a, SymExpr) else None)
    if not isinstance(condition, SymExpr) or condition.dtype != i1 or x is None or y is None:
        raise site.error("a condition and two integers are expected", found=", ".join(map(describe, (condition, a, b))))
    return select(condition, x, y)


def symbolic_call(p: RelaxParser, target: Ref, site: CallSite) -> Any:
    """Evaluate a function of `T` in a Relax function: typed numbers, symbolic variables and integer arithmetic."""
    if target.path in _SYMBOLIC_CALLS:
        return _arithmetic(_SYMBOLIC_CALLS[target.path], site)
    if target.path in ("Select", "if_then_else"):
        return _choice(site)
    if target.path == "index_map":
        return _index_map(p, site)
    dtype = dtype_by_name(target.path)
    if target.path in ("Var", "SizeVar", "var"):
        name = site.args[-1] if site.args else "int64"
        dtype = dtype_of(name) if isinstance(name, str) and name in ("int32", "int64") else i64
        return FreshVar(dtype)
    if dtype is None:
        hint = suggestion(target.path, [*_SYMBOLIC_CALLS, "int64", "float32"])
        raise p.error(site.node, f"T.{target.path} may not be used in a Relax function", hint=hint)
    value, _ = site.bind("expr= is_size_var=")
    if value is None:
        return FreshVar(dtype)
    if isinstance(value, SymExpr) and value.constant is None:
        return value
    if isinstance(value, str) and value in ("inf", "-inf", "nan"):
        return Imm(float(value), dtype)
    imm = imm_of(value)
    if imm is None:
        raise site.error("a number is expected", found=describe(value))
    return convert(imm, dtype)
