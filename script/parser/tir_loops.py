"""Loops of a prim_func."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerType, i1
from xdsl.ir import Block, Region, SSAValue

from ...dialects import tir
from ...dialects.names import set_name
from ...dialects.sym.expr import Const, SymExpr, Var, i32, i64
from ...dialects.tir import ForKind
from ...ir.affine.values import Materializer
from .attributes import attribute_dict
from .folding import as_sym
from .tir_accesses import pair_of
from .tir_blocks import read_body
from .tir_state import Bound, TirParser
from .tir_values import as_index, cast_to, expr, int_expr
from .values import Builtin, CallSite, Ref, describe

_LOOPS = {
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorized": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
    "thread_binding": ForKind.THREAD_BINDING,
}


@dataclass(frozen=True)
class Loop:
    """A loop whose body has not been parsed yet."""

    least: Bound
    extent: Bound
    kind: ForKind = ForKind.SERIAL
    thread: str | None = None
    annotations: DictionaryAttr | None = None


def read_loop(p: TirParser, node: ast.For) -> None:
    if node.orelse:
        raise p.error(node, "for … else is not part of TVMScript")
    if not isinstance(node.iter, ast.Call):
        raise p.error(node.iter, "a loop runs over a range", expected="range(n), T.grid(n, m), T.serial(n), …")
    target = p.visit(node.iter.func)
    site = p.call_site(node.iter, target)
    loops = _loops(p, target, site)
    _nest(p, loops, node)


def _loops(p: TirParser, target: Any, site: CallSite) -> list[Loop]:
    if target == Ref("tir", "grid"):
        if site.kwargs or not site.args:
            raise site.error("T.grid takes extents only")
        return [_loop(p, *pair_of(extent), site) for extent in site.args]
    if target == Builtin("range"):
        target = Ref("tir", "serial")
    kind = _LOOPS.get(target.path) if isinstance(target, Ref) and target.dialect == "tir" else None
    if kind is None:
        raise site.error("a loop cannot run over this", expected=f"range, T.grid, T.{', T.'.join(_LOOPS)}")
    thread = None
    if kind is ForKind.THREAD_BINDING:
        start, stop, thread, notes = site.bind("start stop= thread= annotations=")
        if isinstance(stop, str) and thread is None:
            stop, thread = None, stop
        if not isinstance(thread, str):
            raise site.error("the thread is missing", expected='thread="threadIdx.x"', found=describe(thread))
    else:
        start, stop, notes = site.bind("start stop= annotations=")
    annotations = attribute_dict(p.source, site.node, notes) if notes else None
    return [_loop(p, start, stop, site, kind, thread, annotations)]


def _loop(
    p: TirParser,
    start: Any,
    stop: Any,
    site: CallSite,
    kind: ForKind = ForKind.SERIAL,
    thread: str | None = None,
    annotations: DictionaryAttr | None = None,
) -> Loop:
    if stop is None:
        extent = _bound(p, start, site)
        return Loop(Const(0, _int_type(extent, site)), extent, kind, thread, annotations)
    least, extent = _bound(p, start, site), _distance(p, start, stop, site)
    types = [_int_type(b, site) for b in (least, extent)]
    wide = max(types, key=lambda t: t.width.data)
    least, extent = (_widened(p, b, wide, site.node) for b in (least, extent))
    return Loop(least, extent, kind, thread, annotations)


def _distance(p: TirParser, start: Any, stop: Any, site: CallSite) -> Bound:
    """Return `stop - start`, simplified as in TVM."""
    first, end = (_end(p, v, site) for v in (start, stop))
    extent = end - first
    if all(isinstance(v.name, str) for v in extent.free_vars()):
        return extent
    return Materializer(lambda op: p.emit(op, site.node))(extent)


def _end(p: TirParser, value: Any, site: CallSite) -> SymExpr:
    """Return a loop bound.

    One that is computed in narrow or unsigned integers wraps around, and is not treated as a sum.
    """
    wraps = isinstance(value, SSAValue) and isinstance(value.type, IntegerType) and value.type not in (i1, i32, i64)
    return Var(value, cast(IntegerType, value.type)) if wraps else int_expr(p, value, site.node)


def _bound(p: TirParser, value: Any, site: CallSite) -> Bound:
    constant = as_sym(value, default=i32)
    return as_index(p, expr(p, value, site.node), site.node) if constant is None else constant


def _int_type(bound: Bound, site: CallSite) -> IntegerType:
    t = bound.dtype if isinstance(bound, SymExpr) else bound.type
    if not isinstance(t, IntegerType):
        raise site.error("a bound of a loop must be an integer", found=t)
    return t


def _widened(p: TirParser, bound: Bound, dtype: IntegerType, node: ast.AST) -> Bound:
    if isinstance(bound, SSAValue):
        return cast_to(p, bound, dtype, node)
    if isinstance(bound, Const):
        return Const(bound.value, dtype)
    return bound if bound.dtype == dtype else cast_to(p, bound, dtype, node)


def _loop_targets(p: TirParser, target: ast.expr, count: int) -> list[tuple[str, int | None]]:
    """Return the loop variables of `count` loops, each with the number of loops that it stands for; None for a
    single loop.
    """
    targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    wide = [t for t in targets if isinstance(t, ast.Starred) or t is target and count != 1]
    rest = count - len(targets) + 1
    if len(wide) > 1 or rest != 1 and not (wide and rest >= 0):
        raise p.error(target, "the numbers of loop variables and loops differ", expected=count, found=len(targets))
    variables: list[tuple[str, int | None]] = []
    for each in targets:
        name = each.value if isinstance(each, ast.Starred) else each
        if not isinstance(name, ast.Name):
            raise p.error(each, "a loop variable is a name")
        variables.append((name.id, rest if each in wide else None))
    return variables


def _nest(p: TirParser, loops: list[Loop], node: ast.For) -> None:
    bodies: list[Block] = []
    with p.scope.frame():
        targets = _loop_targets(p, node.target, len(loops))
        names = [n for name, size in targets for n in _numbered(name, size)]
        for loop, name in zip(loops, names, strict=True):
            dtype = loop.extent.dtype if isinstance(loop.extent, SymExpr) else loop.extent.type
            body = Block(arg_types=[dtype])
            var = body.args[0]
            set_name(var, name)
            p.state.loops[var] = (loop.least, loop.extent)
            bodies.append(body)
        variables = iter([b.args[0] for b in bodies])
        for name, size in targets:
            p.scope.define(name, next(variables) if size is None else list(islice(variables, size)))
        with p.at(bodies[-1]):
            read_body(p, node.body)
    inner: tir.ForOp | None = None
    for loop, body in zip(reversed(loops), reversed(bodies), strict=True):
        if inner is not None:
            body.add_op(inner)
        inner = tir.ForOp(
            loop.least, loop.extent, Region(body), loop.kind, thread=loop.thread, annotations=loop.annotations
        )
        inner.location = p.source.attr(node)
    p.emit(cast(tir.ForOp, inner), node)


def _numbered(name: str, size: int | None) -> list[str]:
    return [name] if size is None else [f"{name}_{i}" for i in range(size)]
