"""Reductions as expressions: `T.reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), source=[…], …)`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...dialects import tir
from ...dialects.names import set_name
from ...dialects.sym.expr import Const, SymExpr, Var
from .folding import as_sym
from .tir_accesses import dim_of
from .tir_state import TirParser
from .tir_values import cast_to, expr, imm_of, type_of
from .values import FreshVar, Ref, describe

_ARGUMENTS = {
    "reduce": ("combiner", "source", "init", "axis", "condition", "value_index"),
    "Reduce": ("combiner", "source", "axis", "condition", "value_index", "init"),
}


_ALIASES = {"src": "source", "rdom": "axis"}


_EXAMPLE = 'T.reduce(T.comm_reducer(…), source=[…], init=[], axis=[T.iter_var(k, T.Range(0, n), "CommReduce", "")], …)'


@dataclass(frozen=True)
class CommReducer:
    """`T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`: its parameters, results and identity."""

    params: tuple[str, ...]
    results: tuple[ast.expr, ...]
    identity: tuple[Any, ...]


def comm_reducer(p: TirParser, node: ast.Call) -> CommReducer:
    """Return the reducer that a call describes. Its body is parsed where it is used."""
    arguments = _arguments(p, node, ("combiner", "identity"))
    function, identity = arguments.get("combiner"), arguments.get("identity")
    if not isinstance(function, ast.Lambda) or identity is None:
        raise p.error(node, "a reducer is a lambda and a list", expected="T.comm_reducer(lambda x, y: x + y, [0])")
    values = tuple(p.visit(n) for n in _items(identity))
    results = tuple(_items(function.body))
    names = tuple(a.arg for a in function.args.args)
    if not values or len(results) != len(values) or len(names) != 2 * len(values):
        raise p.error(
            node,
            "a reducer of n values has n identities, 2 n parameters and n results",
            found=f"{len(values)}, {len(names)} and {len(results)}",
        )
    return CommReducer(names, results, values)


def reduce(p: TirParser, node: ast.Call) -> SSAValue:
    """Parse a `T.reduce` expression and return its value."""
    name = cast(Ref, p.visit(node.func)).path
    arguments = _arguments(p, node, _ARGUMENTS[name])
    missing = [n for n in ("combiner", "source", "axis") if n not in arguments]
    if missing:
        raise p.error(node, f"T.{name} lacks {', '.join(missing)}", expected=_EXAMPLE)
    reducer = p.visit(arguments["combiner"])
    if not isinstance(reducer, CommReducer):
        raise p.error(
            arguments["combiner"], "a reducer is expected", expected="T.comm_reducer(…)", found=describe(reducer)
        )
    identity = [expr(p, v, arguments["combiner"]) for v in reducer.identity]
    types = [v.type for v in identity]
    axes = [_axis(p, n) for n in _items(arguments["axis"])]
    variables = [(axis, extent.dtype) for axis, _, extent in axes]
    sources = _items(arguments["source"])
    if len(sources) != len(types):
        raise p.error(arguments["source"], "the reducer is of another number", expected=len(types), found=len(sources))
    start = [cast_to(p, p.visit(n), t, n) for n, t in zip(_items(arguments.get("init")), types, strict=False)]
    if start and len(start) != len(types):
        raise p.error(node, "init has another number of values", expected=len(types), found=len(start))
    op = tir.ReduceOp(
        [(least, extent) for _, least, extent in axes],
        identity,
        _region(p, variables, arguments.get("condition", ast.Constant(True)), i1),
        [_region(p, variables, n, t) for n, t in zip(sources, types, strict=True)],
        _combine(p, reducer, types),
        init=start,
        value_index=_number(p, arguments.get("value_index"), len(types)),
    )
    return p.emit(op, node)


def reducer_value(p: TirParser, reducer: CommReducer, node: ast.AST) -> SSAValue:
    """Return a standalone reducer, the node of an attribute statement."""
    identity = [expr(p, v, node) for v in reducer.identity]
    types = [v.type for v in identity]
    return p.emit(tir.CommReducerOp(identity, _combine(p, reducer, types)), node)


def _combine(p: TirParser, reducer: CommReducer, types: Sequence[Attribute]) -> list[Region]:
    """Return the regions that compute the results of a reducer from two values each."""
    both = list(zip(reducer.params, [*types, *types], strict=True))
    return [_region(p, both, n, t) for n, t in zip(reducer.results, types, strict=True)]


def _arguments(p: TirParser, node: ast.Call, names: Sequence[str]) -> dict[str, ast.expr]:
    """Return the arguments of a call by name, unevaluated, without those that are `None`."""
    arguments = dict(zip(names, node.args, strict=False))
    arguments |= {_ALIASES.get(k.arg or "", k.arg or ""): k.value for k in node.keywords}
    wrong = [n for n in arguments if n not in names]
    if wrong or len(node.args) > len(names):
        raise p.error(node, "unknown arguments", expected=", ".join(names), found=", ".join(wrong) or len(node.args))
    return {n: v for n, v in arguments.items() if not (isinstance(v, ast.Constant) and v.value is None)}


def _items(node: ast.expr | None) -> list[ast.expr]:
    if node is None:
        return []
    return list(node.elts) if isinstance(node, ast.List | ast.Tuple) else [node]


def axis_arguments(p: TirParser, node: ast.Call) -> dict[str, ast.expr]:
    """Return the arguments of `T.iter_var`, by name, without those that are None."""
    return _arguments(p, node, ("v", "dom", "iter_type", "thread_tag"))


def _axis(p: TirParser, node: ast.expr) -> tuple[str, SymExpr, SymExpr]:
    """Return the variable, minimum and extent of `T.iter_var(k, T.Range(0, n), "CommReduce", "")`."""
    if not isinstance(node, ast.Call) or p.visit(node.func) not in (Ref("tir", "iter_var"), Ref("tir", "IterVar")):
        raise p.error(node, "an axis is expected", expected='T.iter_var(k, T.Range(0, n), "CommReduce", "")')
    arguments = axis_arguments(p, node)
    var, dom, kind = arguments.get("v"), arguments.get("dom"), arguments.get("iter_type", ast.Constant("CommReduce"))
    declared = p.visit(var) if isinstance(var, ast.Name) else None
    dtype = declared.dtype if isinstance(declared, FreshVar | Var) else None
    if not isinstance(var, ast.Name) or not isinstance(dtype, IntegerType):
        raise p.error(node, "the axis has no variable", expected="k = T.int32()", found=describe(declared))
    if dom is None or p.visit(kind) not in ("CommReduce", 2):
        raise p.error(node, "an axis of a reduction has a range and the kind CommReduce")
    low, high = _range(p, dom)
    least, end = _bound(p, low, dtype), _bound(p, high, dtype)
    return var.id, least, end - least


def _range(p: TirParser, node: ast.expr) -> tuple[ast.expr, ast.expr]:
    """Return the two bounds of `T.Range(0, n)`, `T.Range(n)` or `(0, n)`."""
    items = _items(node)
    if isinstance(node, ast.Call) and p.visit(node.func) == Ref("tir", "Range") and not node.keywords:
        items = [ast.copy_location(ast.Constant(0), node), *node.args][-2:]
    if len(items) != 2:
        raise p.error(node, "a range is expected", expected="T.Range(0, n)")
    return items[0], items[1]


def _bound(p: TirParser, node: ast.expr, dtype: IntegerType) -> SymExpr:
    bound = dim_of(p, p.visit(node), node)
    if bound.constant is not None:
        return Const(bound.constant, dtype)
    if bound.dtype != dtype or any(not isinstance(v.name, str) for v in bound.free_vars()):
        raise p.error(node, "a bound of an axis is an expression over extents, of the type of its variable")
    return bound


def _number(p: TirParser, node: ast.expr | None, count: int) -> int:
    if node is None:
        return 0
    number = as_sym(p.visit(node))
    if number is None or number.constant is None or not 0 <= number.constant < count:
        raise p.error(node, "value_index is the number of a value", expected=f"0 <= value_index < {count}")
    return number.constant


def _region(p: TirParser, args: Sequence[tuple[str, Attribute]], node: ast.expr, dtype: Attribute) -> Region:
    """Return an expression with its own parameters as a region."""
    block = Block(arg_types=[t for _, t in args])
    for (name, _), value in zip(args, block.args, strict=True):
        set_name(value, name)
    with p.into(block) as frame:
        frame.update(zip((n for n, _ in args), block.args, strict=True))
        value = p.visit(node)
        if imm_of(value) is None and type_of(p, value, node) != dtype:
            raise p.error(node, "a reducer works on one type", expected=dtype, found=type_of(p, value, node))
        p.emit(tir.YieldOp(cast_to(p, value, dtype, node)), node)
    return Region(block)
