"""Blocks of a prim_func and scoped statements: `T.attr` and `T.launch_thread`, with or without `with`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerType
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...dialects import tir
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of, set_name
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, Var
from ...dialects.sym.int_set import SymInterval, values_of
from ...dialects.sym.operators import maximum
from ...dialects.tir import IterKind
from ...ir.affine.values import sym_expr_of
from ...ir.buffers.regions import infer_regions
from ...ir.rewriting.edit import has_root_block
from .attributes import attribute, attribute_dict, plain_value, renumbered
from .folding import as_sym
from .tir_accesses import dim_of, pair_of, region_of
from .tir_reduce import CommReducer, axis_arguments, reducer_value
from .tir_state import BlockFrame, Bound, Builder, Context, TirParser
from .tir_values import as_condition, as_index, cast_to, expr
from .values import CallSite, EnvThread, FreshVar, Ref, describe

_ITER_KINDS = {
    "spatial": IterKind.SPATIAL,
    "S": IterKind.SPATIAL,
    "reduce": IterKind.REDUCE,
    "R": IterKind.REDUCE,
    "scan": IterKind.SCAN,
    "opaque": IterKind.OPAQUE,
}


_REMAP_KINDS = {"S": IterKind.SPATIAL, "R": IterKind.REDUCE}


_OPENING = ("attr", "launch_thread")
"""Calls that, written without `with`, apply to all following statements."""


def read_body(p: TirParser, statements: Sequence[ast.stmt]) -> None:
    """Read statements into the current block."""
    for i, statement in enumerate(statements):
        opened = _open_scope(p, statement)
        if opened is not None:
            with opened:
                read_body(p, statements[i + 1 :])
            return
        p.statement(statement)


def _open_scope(p: TirParser, statement: ast.stmt) -> AbstractContextManager[None] | None:
    """Return the context that `T.attr(…)` or `x = T.launch_thread(…)` without `with` opens for all following
    statements.
    """
    call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in _OPENING:
        return None
    target = p.visit(call.func)
    if target == Ref("tir", "attr") and isinstance(statement, ast.Expr):
        return _attr(p, call, None)
    if target != Ref("tir", "launch_thread"):
        return None
    return _launch(p, call, statement.targets[0] if isinstance(statement, ast.Assign) else None)


@contextmanager
def _attr(p: TirParser, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
    thread = _thread_of(p, node)
    if thread is not None:
        yield from _launched(p, node, *thread)
        return
    about, key, value = p.call_site(node, Ref("tir", "attr")).bind("node attr_key value")
    on = _attr_node(p, about, node)
    if not isinstance(key, str):
        raise p.error(node, "the key of an attribute is a string", found=describe(key))
    if isinstance(value, str):
        ssa: SSAValue = p.emit(tir.StringImmOp(value), node)
    else:
        ssa = expr(p, value, node)
    body = Block()
    with p.into(body):
        yield
    p.emit(tir.AttrOp(key, ssa, Region(body), on), node)


_LAUNCHES = ("thread_extent", "virtual_thread")
"""The keys of attributes that launch threads."""


def _thread_of(p: TirParser, node: ast.Call) -> tuple[ast.Name, str, ast.expr] | None:
    """Return the variable, the tag and the number of `T.attr(T.iter_var(x, …, "threadIdx.x"), "thread_extent", n)`."""
    first = node.args[0] if len(node.args) == 3 else None
    if not isinstance(first, ast.Call) or p.visit(first.func) not in (Ref("tir", "iter_var"), Ref("tir", "IterVar")):
        return None
    arguments = axis_arguments(p, first)
    variable, tag = arguments.get("v"), arguments.get("thread_tag")
    named = None if tag is None else p.visit(tag)
    if p.visit(node.args[1]) not in _LAUNCHES or not isinstance(variable, ast.Name) or not isinstance(named, str):
        raise p.error(node, "an iterator in an attribute is a thread", expected='T.iter_var(x, None, "ThreadIndex", …)')
    return variable, named, node.args[2]


def _launched(p: TirParser, node: ast.Call, variable: ast.Name, tag: str, size: ast.expr) -> Iterator[None]:
    known, count = p.visit(variable), p.visit(size)
    own = isinstance(known, EnvThread | FreshVar) and isinstance(known.dtype, IntegerType)
    extent = cast_to(p, count, known.dtype, node) if own else expr(p, count, node)
    body = Block(arg_types=[extent.type])
    with p.into(body):
        _thread_name(p, variable.id, body.args[0])
        yield
    p.emit(tir.LaunchThreadOp(tag, extent, Region(body)), node)


@contextmanager
def _launch(p: TirParser, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
    """Parse `with T.launch_thread("threadIdx.x", 32) as x:`, where the tag may be replaced by a `T.env_thread`."""
    site = p.call_site(node, Ref("tir", "launch_thread"))
    thread, size = site.bind("thread extent")
    extent = cast_to(p, size, thread.dtype, node) if isinstance(thread, EnvThread) else expr(p, size, node)
    if not isinstance(thread, EnvThread | str):
        raise site.error("threads are launched by their tag", expected='"threadIdx.x", …', found=describe(thread))
    if not isinstance(extent.type, IntegerType):
        raise site.error("the number of threads is an integer", found=dtype_name(extent.type))
    body = Block(arg_types=[extent.type])
    (index,) = body.args
    with p.into(body):
        if isinstance(thread, EnvThread):
            names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and p.scope.lookup(n.id) is thread]
            _thread_name(p, names[0], index)
        if target is not None:
            if not isinstance(target, ast.Name):
                raise p.error(target, "a thread has one name")
            _thread_name(p, target.id, index)
        yield
    p.emit(tir.LaunchThreadOp(thread if isinstance(thread, str) else thread.tag, extent, Region(body)), node)


def _thread_name(p: TirParser, name: str, index: SSAValue) -> None:
    set_name(index, name)
    p.scope.define(name, index)


def _attr_node(p: TirParser, value: Any, node: ast.AST) -> Attribute | SSAValue | None:
    """Return the node of an attribute: a string, a dictionary or a value; None for 0."""
    if value in (0, None):
        return None
    if isinstance(value, CommReducer):
        return reducer_value(p, value, node)
    if isinstance(value, str | dict | tir.TargetAttr):
        return attribute(p.source, node, value)
    if isinstance(value, SSAValue) and isinstance(value.type, tir.BufferType):
        return value
    return expr(p, value, node)


@contextmanager
def _block(p: TirParser, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
    if target is not None:
        raise p.error(target, "a block has no value", hint="write 'with T.block(…):', without 'as'")
    name, *_ = p.call_site(node, Ref("tir", "block")).bind("name= no_realize=")
    if name is not None and not isinstance(name, str):
        raise p.error(node, "the name of a block is a string", found=describe(name))
    root = name == "root" and p.block is p.state.entry and not p.state.blocks
    frame = BlockFrame(p.block, root=root)
    body = Block()
    p.state.blocks.append(frame)
    with p.into(body):
        yield
    p.state.blocks.pop()
    if root:
        _end_root(p, frame, body, node)
        return
    op = tir.BlockOp(name or "", frame.iters, Region(body), predicate=frame.predicate, annotations=frame.annotations)
    p.emit(op, node)
    infer_regions(op, reads="reads" not in frame.declared, writes="writes" not in frame.declared)
    if frame.noted:
        _note_buffers(p, op, frame, node)


def _note_buffers(p: TirParser, op: tir.BlockOp, frame: BlockFrame, node: ast.Call) -> None:
    """Resolve buffers in annotations to buffers of the regions that the block accesses."""
    places = {region.buffer: k for k, region in enumerate(op.reads)}
    if any(b not in places for b in frame.noted):
        raise p.source.error(node, "an annotation names a buffer that the block does not read")
    annotations = cast(DictionaryAttr, frame.annotations)
    op.properties["annotations"] = renumbered(annotations, [places[b] for b in frame.noted])


def _end_root(p: TirParser, frame: BlockFrame, body: Block, node: ast.Call) -> None:
    """Make the root block implicit, unless it has annotations or TVM would not insert one here."""
    if frame.annotations is not None or not has_root_block(list(body.ops)):
        p.emit(tir.BlockOp("root", [], Region(body), annotations=frame.annotations), node)
        return
    for op in list(body.ops):
        op.detach()
        if not isinstance(op, tir.RegionOp):
            p.block.add_op(op)


@contextmanager
def _init(p: TirParser, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
    if not p.state.blocks or p.state.blocks[-1].root:
        raise p.error(node, "T.init stands in a block only")
    if any(isinstance(op, tir.InitOp) for op in p.block.ops):
        raise p.error(node, "T.init stands once in a block")
    body = Block()
    with p.into(body):
        yield
    p.emit(tir.InitOp(Region(body)), node)


def _frame(p: TirParser, node: ast.AST, what: str, *, root: bool = False) -> BlockFrame:
    """Return the innermost block, for a construct that is only valid in blocks; `root` permits the root block."""
    if not p.state.blocks or (p.state.blocks[-1].root and not root):
        raise p.error(node, f"{what} stands in a block only", hint='write it below: with T.block("name"):')
    return p.state.blocks[-1]


def _outside(p: TirParser, frame: BlockFrame, node: ast.Call) -> CallSite:
    """Return a call with its arguments evaluated outside of the block."""
    with p.at(frame.outer):
        return p.call_site(node, p.visit(node.func))


def _axis(p: TirParser, node: ast.Call) -> SSAValue:
    """Parse `T.axis.spatial(extent, binding)` and the other kinds of axes."""
    frame = _frame(p, node, "T.axis")
    kind = _ITER_KINDS[cast(Ref, p.visit(node.func)).path.removeprefix("axis.")]
    site = _outside(p, frame, node)
    dom, binding, _ = site.bind("dom binding dtype=")
    low, high = pair_of(dom)
    least, extent = dim_of(p, low, node), dim_of(p, low if high is None else high, node)
    if high is None:
        least = Const(0, extent.dtype)
    return _iterator(p, frame, kind, binding, (least, extent - least if high is not None else extent), node)


def _constant_domain(
    least: Bound, extent: Bound, loops: Mapping[SSAValue, tuple[Bound, Bound]]
) -> tuple[SymExpr, SymExpr] | None:
    """Return the minimum and extent of a loop's domain, in terms of constants and symbolic sizes.

    If they depend on enclosing loops (triangular nests), return the smallest interval that contains all values, of
    which the loop covers only a part. Returns None if they depend on loaded values.
    """
    if isinstance(least, SymExpr) and isinstance(extent, SymExpr):
        return least, extent
    around: dict[Var, SymInterval] = {}
    for value, (low, count) in loops.items():
        first = _as_expr(low)
        around[Var(value, cast(IntegerType, value.type))] = SymInterval(first, first + _as_expr(count) - 1)
    first = _as_expr(least)
    low, high = values_of(first, around).low, values_of(first + _as_expr(extent) - 1, around).high
    if low is None or high is None or any(v.value is not None for end in (low, high) for v in end.free_vars()):
        return None
    return low, Analyzer().simplify(maximum(high - low + 1, 0))


def _as_expr(bound: Bound) -> SymExpr:
    return bound if isinstance(bound, SymExpr) else sym_expr_of(bound)


def _remap(p: TirParser, node: ast.Call) -> Any:
    """Parse `T.axis.remap("SR", [i, k])`: iterators bound to loop variables."""
    frame = _frame(p, node, "T.axis.remap")
    kinds, bindings = _outside(p, frame, node).bind("kinds bindings")
    if not (isinstance(kinds, str) and isinstance(bindings, tuple | list)):
        raise p.error(node, "kinds and loop variables are expected", expected='T.axis.remap("SR", [i, k])')
    values = cast("list[Any]", list(bindings))
    if len(kinds) != len(values):
        raise p.error(node, "the numbers of kinds and loop variables differ", expected=len(kinds), found=len(values))
    iterators: list[SSAValue] = []
    for letter, value in zip(kinds, values, strict=True):
        kind = _REMAP_KINDS.get(letter)
        bounds = p.state.loops.get(value) if isinstance(value, SSAValue) else None
        if kind is None or bounds is None:
            what = f"kind '{letter}'" if kind is None else describe(value)
            raise p.error(node, "this cannot be remapped", expected="kinds S and R of loop variables", found=what)
        domain = _constant_domain(*bounds, p.state.loops)
        if domain is None:
            raise p.error(
                node,
                f"the extent of loop '{name_of(value)}' depends on computed values, so it is no domain of a block",
                hint="give the domain: T.axis.spatial(extent, i), and T.where(…)",
            )
        iterators.append(_iterator(p, frame, kind, value, domain, node))
    return iterators[0] if len(iterators) == 1 else iterators


def _iterator(
    p: TirParser, frame: BlockFrame, kind: IterKind, binding: Any, domain: tuple[SymExpr, SymExpr], node: ast.AST
) -> SSAValue:
    with p.at(frame.outer):
        dtype = domain[1].dtype
        number = as_sym(binding, domain[1])
        value = expr(p, binding, node) if number is None else cast_to(p, binding, number.dtype, node)
        binding_type = value.type
        if not isinstance(binding_type, IntegerType):
            raise p.error(node, "a binding must be an integer", found=binding_type)
        if binding_type.width.data < dtype.width.data:
            value = cast_to(p, binding if number is not None else value, dtype, node)
        value = as_index(p, value, node)
    frame.iters.append((kind, value, domain))
    return p.block.insert_arg(value.type, len(p.block.args), p.source.attr(node))


def _where(p: TirParser, node: ast.Call) -> None:
    """Parse `T.where(condition)`, evaluated outside of the block."""
    frame = _frame(p, node, "T.where")
    (cond,) = _outside(p, frame, node).bind("predicate")
    if "where" in frame.declared:
        raise p.error(node, "T.where stands once in a block", hint="join the conditions with T.And")
    frame.declared.add("where")
    if plain_value(cond) is True:
        return
    with p.at(frame.outer):
        frame.predicate = as_condition(p, cond, node)


def _regions(p: TirParser, site: CallSite) -> None:
    kind = site.name.rpartition(".")[2]
    frame = _frame(p, site.node, site.name, root=True)
    if kind in frame.declared:
        raise site.error("what a block reads, and what it writes, is given once", hint="list all regions in one call")
    frame.declared.add(kind)
    cls = tir.ReadsOp if kind == "reads" else tir.WritesOp
    args = site.args
    if len(args) == 1 and isinstance(args[0], tuple | list):
        args = cast("list[Any]", list(args[0]))
    for value in args:
        p.emit(cls(*region_of(p, value, site.node, widened=True)), site.node)


def _block_attr(p: TirParser, site: CallSite) -> None:
    frame = _frame(p, site.node, site.name, root=True)
    if frame.annotations is not None:
        raise site.error("the annotations of a block are given once", hint="list all in one dictionary")
    noted = None if frame.root else frame.noted
    frame.annotations = attribute_dict(p.source, site.node, site.bind("attrs")[0], noted)


BLOCK_CONTEXTS: dict[str, Context] = {"block": _block, "init": _init, "attr": _attr, "launch_thread": _launch}
"""Contexts of `with` statements, by name in `T`."""
BLOCK_FORMS: dict[str, Callable[[TirParser, ast.Call], Any]] = {
    **dict.fromkeys([f"axis.{name}" for name in _ITER_KINDS], _axis),
    "axis.remap": _remap,
    "where": _where,
}
"""Calls whose arguments are evaluated outside of the enclosing block."""
BLOCK_CALLS: dict[str, Builder] = {"reads": _regions, "writes": _regions, "block_attr": _block_attr}
"""Other statements of blocks."""
