"""The printer of TIR functions: one function for each kind of statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of
from ...dialects.sym.expr import Const, SymExpr
from ...ir.names import identifier
from ...ir.rewriting.edit import has_root_block
from ...ir.verification.as_written import as_written
from .document import Document, Expr, Level, atom, infix
from .literals import attribute, dictionary, floating, shown_attrs, string
from .symbolic import symbolic
from .tir_expressions import CALL_LIKE, EXPRESSIONS, access, constant_of, interval_end
from .tir_printer import (
    StatementPrinter,
    TIRPrinter,
    belongs_to_block,
    buffer_line,
    buffer_text,
    does_nothing,
    print_declaration,
)
from .undeclared import Undeclared, statement_of, undeclared

_KIND_LETTERS = {tir.IterKind.SPATIAL: "S", tir.IterKind.REDUCE: "R"}
_LOOP_CALLS = {
    tir.ForKind.SERIAL: "serial",
    tir.ForKind.PARALLEL: "parallel",
    tir.ForKind.VECTORIZED: "vectorized",
    tir.ForKind.UNROLLED: "unroll",
    tir.ForKind.THREAD_BINDING: "thread_binding",
}


def print_tir_function(doc: Document, func: tir.FuncOp) -> None:
    """Print a function with its `@T.prim_func` decorator."""
    p = TIRPrinter(doc, STATEMENTS)
    matches: list[tuple[SSAValue, str]] = []
    params = [_param(p, func, i, v, matches) for i, v in enumerate(func.params)]
    memory = as_written(func)
    unsaid = func.ret_type is None or (memory is not None and memory.declared == tir.VOID)
    ret = "" if unsaid else f" -> {p.dtype(cast(Attribute, func.ret_type))}"
    p.doc.line("@" + p.doc.tir("prim_func") + ("(private=True)" if func.private else ""))
    p.doc.line(f"def {p.doc.function_name(func)}({', '.join(params)}){ret}:", None if _shows_root(p, func) else func)
    with p.doc.indented():
        attrs = shown_attrs(func.func_attrs, p.doc.function_name(func))
        if attrs:
            p.doc.line(f"{p.doc.tir('func_attr')}({dictionary(p.doc, attrs, tir=True)})")
        for buffer, handle in matches:
            buffer_line(p, buffer, "match_buffer", [handle])
        body: list[str] = []
        p.depth = p.doc.depth
        p.undeclared = Undeclared(undeclared([func]).places)  # not in loops: a program is read again
        with p.doc.collecting(body):
            _root(p, func)
        p.doc.lines += p.declared + body


def _param(p: TIRPrinter, func: tir.FuncOp, i: int, param: SSAValue, matches: list[tuple[SSAValue, str]]) -> str:
    t = param.type
    if isinstance(t, tir.BufferType) and not _is_simple(t):
        names = func.handle_names
        hint = names.data[i].data if names is not None else f"var_{name_of(param) or 'buffer'}"
        handle = p.names.define(identifier(hint))
        matches.append((param, handle))
        return f"{handle}: {p.doc.tir('handle')}"
    name = p.define(param, "param")
    if isinstance(t, tir.BufferType):
        return f"{name}: {buffer_text(p, 'Buffer', t, [], with_dtype=True)}"
    hint = name_of(param)
    if hint is not None:
        p.symbols[hint] = atom(name)
    return f"{name}: {p.dtype(t)}"


def _is_simple(t: tir.BufferType) -> bool:
    """Return whether a parameter prints as `T.Buffer(…)`, because nothing about it is symbolic or unusual."""
    plain = tir.BufferType.of(t.dims, t.dtype)
    return t == plain and all(d.constant is not None for d in t.dims)


def _root(p: TIRPrinter, func: tir.FuncOp) -> None:
    """Print the body, after the contents of the root block, which itself prints only as a comment."""
    ops = list(func.body.block.ops)
    text = f'with {p.doc.tir("block")}("root"):'
    if not _shows_root(p, func):
        if has_root_block(ops):
            p.doc.line(f"# {text}")
        _root_body(p, ops)
        return
    p.doc.line(text, func)
    with p.doc.indented():
        for name in ("reads", "writes"):
            p.doc.line(f"{p.doc.tir(name)}()")
        _root_body(p, ops)


def _shows_root(p: TIRPrinter, func: tir.FuncOp) -> bool:
    """Return whether the root block is printed explicitly."""
    return not p.doc.config.syntax_sugar and has_root_block(list(func.body.block.ops))


def _root_body(p: TIRPrinter, ops: Sequence[Operation]) -> None:
    p.statements([op for op in ops if belongs_to_block(op)])
    p.sequence([op for op in ops if not belongs_to_block(op)])


# Memory


def region(p: TIRPrinter, buffer: SSAValue, starts: Sequence[SSAValue], ends: Sequence[SSAValue | None]) -> str:
    """Return a region with computed ends; a dimension without an end has one element."""
    pairs = [(p.value(s).text, None if e is None else p.value(e).text) for s, e in zip(starts, ends, strict=True)]
    items = [start if end is None else f"{start}:{end}" for start, end in pairs]
    return f"{p.value(buffer).text}[{', '.join(items) or '()'}]"


def _region(p: TIRPrinter, buffer: SSAValue, starts: Sequence[SSAValue], extents: Sequence[SymExpr]) -> str:
    """Return a region: `A[vi, 0:4]`."""
    items = [_range(p, s, e) for s, e in zip(starts, extents, strict=True)]
    return f"{p.values[buffer].text}[{', '.join(items) or '()'}]"


def _range(p: TIRPrinter, start: SSAValue, extent: SymExpr) -> str:
    if extent.constant == 1:
        return p.values[tir.written_index(start)].text
    text = p.values[start].text
    size = symbolic(p, extent) if extent.constant is None else extent.constant
    return f"{text}:{interval_end(p, start, size)}"


def _alloc_buffer(p: TIRPrinter, op: tir.AllocBufferOp) -> None:
    notes = dictionary(p.doc, {op.PADDED: IntegerAttr(1, i1)}, tir=True) if op.padded else None
    name = "alloc_buffer" if belongs_to_block(op) else "decl_buffer"
    buffer_line(p, op.result, name, [], op, annotations=notes)


def _allocate(p: TIRPrinter, op: tir.AllocateOp) -> None:
    shown = [f"[{', '.join(symbolic(p, d).text for d in op.extents)}]", string(dtype_name(op.dtype))]
    shown.append(string(op.scope.data))
    if op.annotations is not None and op.annotations.data:
        shown.append(f"annotations={dictionary(p.doc, op.annotations.data, tir=True)}")
    _name_value(p, op, f"{p.doc.tir('allocate')}({', '.join(shown)})", "data")


def _alloc_const(p: TIRPrinter, op: tir.AllocConstOp) -> None:
    data = op.value.data
    values = [floating(v) if isinstance(v, float) else str(v) for v in data.numpy().ravel().tolist()]
    text = f"[{', '.join(values)}], {string(dtype_name(data.dtype))}, {list(data.shape)}"
    _name_value(p, op, f"{p.doc.tir('allocate_const')}({text})", "const")


def _name_value(p: TIRPrinter, op: tir.AllocateOp | tir.AllocConstOp, text: str, fallback: str) -> None:
    """Print what an op defines for the rest of its body, or for a scope."""
    if p.scoped is op:
        p.scope(op, text, op.result, fallback)
    else:
        p.doc.line(f"{p.define(op.result, fallback)} = {text}", op)


def _decl_buffer(p: TIRPrinter, op: tir.DeclBufferOp) -> None:
    if not op.alias:
        print_declaration(p, op, "decl_buffer", p.values[op.data].text)


def _match_buffer(p: TIRPrinter, op: tir.MatchBufferOp) -> None:
    source = _region(p, op.source, op.starts, op.extents)
    buffer_line(p, op.result, "match_buffer", [source], op)


# Loops


def _for(p: TIRPrinter, op: tir.ForOp) -> None:
    nest = _nest(p, op)
    with p.frame():
        if len(nest) > 1:
            _print_grid(p, nest)
            return
        args = _loop_args(p, op)
        plain = op.kind is tir.ForKind.SERIAL and op.annotations is None
        callee = "range" if plain else p.doc.tir(_LOOP_CALLS[op.kind])
        p.doc.line(f"for {p.define(op.loop_var, 'i')} in {callee}({args}):", op)
        p.doc.lines += p.declared_in[op]
        p.body(op.body.block)


def _nest(p: TIRPrinter, op: tir.ForOp) -> list[tir.ForOp]:
    """Return the loops that print on one line."""
    return _grid(op) if p.doc.config.syntax_sugar else [op]


def _print_grid(p: TIRPrinter, nest: list[tir.ForOp]) -> None:
    names, extents = [], []
    for loop in nest:
        extents.append(_bound(p, loop.extent).text)
        names.append(p.define(loop.loop_var, "i"))
        if loop is not nest[-1]:
            inside = list(loop.body.block.ops)
            p.statements(op for op in inside if type(op) in EXPRESSIONS)
            p.declare_used(next(op for op in inside if isinstance(op, tir.ForOp)))
    marked = next(filter(p.doc.is_underlined, nest), nest[0])
    p.doc.line(f"for {', '.join(names)} in {p.doc.tir('grid')}({', '.join(extents)}):", marked)
    for loop in nest:
        p.doc.lines += p.declared_in[loop]
    p.body(nest[-1].body.block)


def _grid(op: tir.ForOp) -> list[tir.ForOp]:
    """Return the loops that print as one `T.grid`: perfectly nested, plain, from 0, with independent extents."""
    nest: list[tir.ForOp] = []
    loop: tir.ForOp | None = op
    while loop is not None and _is_plain(loop) and not _depends(loop.extent, nest):
        nest.append(loop)
        inner = [o for o in loop.body.block.ops if type(o) not in EXPRESSIONS]
        loop = inner[0] if len(inner) == 1 and isinstance(inner[0], tir.ForOp) else None
    return nest


def _is_plain(op: tir.ForOp) -> bool:
    first = op.min if isinstance(op.min, SymExpr) else constant_of(op.min)
    at_zero = first == 0 if not isinstance(first, SymExpr) else first.constant == 0
    return op.kind is tir.ForKind.SERIAL and op.annotations is None and at_zero


def _depends(extent: SymExpr | SSAValue, nest: list[tir.ForOp]) -> bool:
    """Return whether an extent depends on the variables of the loops `nest`."""
    if isinstance(extent, SymExpr) or not nest:
        return False
    variables = {loop.loop_var for loop in nest}
    seen: set[SSAValue] = set()
    stack = [extent]
    while stack:
        value = stack.pop()
        if value in variables:
            return True
        if value not in seen and isinstance(value.owner, Operation):
            seen.add(value)
            stack.extend(operand for inner in value.owner.walk() for operand in inner.operands)
    return False


def _bound(p: TIRPrinter, bound: SymExpr | SSAValue) -> Expr:
    return p.values[bound] if isinstance(bound, SSAValue) else symbolic(p, bound)


def _computed_end(p: TIRPrinter, first: SymExpr | SSAValue, extent: SymExpr | SSAValue) -> str:
    """Return the end of a loop; for an extent `last - first` it is `last`."""
    distance = extent.owner if isinstance(extent, SSAValue) else None
    begin = _bound(p, first)
    if isinstance(distance, tir.SubOp) and p.value(distance.rhs).text == begin.text:
        return p.value(distance.lhs).text
    return infix("+", Level.SUM, begin, _bound(p, extent)).text


def _loop_args(p: TIRPrinter, op: tir.ForOp) -> str:
    first, extent = op.min, op.extent
    if isinstance(first, SymExpr) and first.constant == 0:
        args = [_bound(p, extent).text]
    elif isinstance(first, SymExpr) and isinstance(extent, SymExpr):
        start = _typed(first, extent)
        args = [symbolic(p, start).text, symbolic(p, start + extent).text]
    elif isinstance(first, SSAValue) and isinstance(extent, SymExpr):
        size = symbolic(p, extent) if extent.constant is None else extent.constant
        args = [p.values[first].text, interval_end(p, first, size)]
    else:
        args = [_bound(p, first).text, _computed_end(p, first, extent)]
    if op.thread is not None:
        args.append(f"thread={string(op.thread.data)}")
    if op.annotations is not None and op.annotations.data:
        args.append(f"annotations={dictionary(p.doc, op.annotations.data, tir=True)}")
    return ", ".join(args)


# Blocks


def _block(p: TIRPrinter, op: tir.BlockOp) -> None:
    p.doc.line(f"with {p.doc.tir('block')}({string(op.block_name.data)}):", op)
    with p.doc.indented(), p.frame():
        _iterators(p, op)
        if op.predicate is not None and constant_of(op.predicate) is not True:
            p.doc.line(f"{p.doc.tir('where')}({p.values[op.predicate].text})")
        print_block_body(p, op)


def print_block_body(p: TIRPrinter, op: tir.BlockOp) -> None:
    """Print a block in one walk over its ops; each item goes to its place in TVM's order, not in the order of the
    ops.
    """
    regions: dict[type[Operation], list[str]] = {tir.ReadsOp: [], tir.WritesOp: []}
    declared: dict[type[Operation], list[str]] = {tir.ReadsOp: [], tir.WritesOp: []}
    parts: dict[type[Operation], list[str]] = {tir.AllocBufferOp: [], tir.MatchBufferOp: [], tir.InitOp: []}
    body: list[str] = []
    last: Operation | None = None
    for inner in op.body.block.ops:
        if isinstance(inner, tir.RegionOp):
            with p.doc.collecting(declared[type(inner)]):
                p.declare_used(inner)
            regions[type(inner)].append(_region(p, inner.buffer, inner.starts, inner.extents))
            continue
        user = statement_of(inner)
        part = body if isinstance(inner, tir.AllocBufferOp) and inner.declared else parts.get(type(inner), body)
        with p.doc.collecting(declared[type(user)] if isinstance(user, tir.RegionOp) else part):
            shown = p.statements((inner,))
        last = last if shown is None or part is not body else shown
    for name, kind in (("reads", tir.ReadsOp), ("writes", tir.WritesOp)):
        p.doc.lines.extend(declared[kind])
        p.doc.line(f"{p.doc.tir(name)}({', '.join(regions[kind])})")
    if op.annotations is not None and op.annotations.data:
        p.doc.read_buffers = [p.values[region.buffer].text for region in op.reads]
        p.doc.line(f"{p.doc.tir('block_attr')}({dictionary(p.doc, op.annotations.data, tir=True)})")
    for lines in parts.values():
        p.doc.lines.extend(lines)
    p.doc.lines.extend(body)
    p.end(last, op.body.block.ops)


def _iterators(p: TIRPrinter, op: tir.BlockOp) -> None:
    rows = list(zip(op.iter_vars, op.kinds, op.bindings, op.mins, op.extents, strict=True))
    run: list[int] = []
    for i, (_, kind, binding, min_, extent) in enumerate(rows):
        own_loop = binding not in p.foreign and _is_loop(binding, min_, extent)
        if p.doc.config.syntax_sugar and kind in _KIND_LETTERS and own_loop:
            run.append(i)
            continue
        _remap(p, rows, run)
        run = []
        print_axis(p, *rows[i])
    _remap(p, rows, run)


def _remap(p: TIRPrinter, rows: list[Any], run: list[int]) -> None:
    if len(run) < 2:
        for i in run:
            print_axis(p, *rows[i])
        return
    bindings = ", ".join(p.values[rows[i][2]].text for i in run)
    names = ", ".join(p.define(rows[i][0], "v") for i in run)
    letters = "".join(_KIND_LETTERS[rows[i][1]] for i in run)
    p.doc.line(f'{names} = {p.doc.tir("axis.remap")}("{letters}", [{bindings}])')


def print_axis(
    p: TIRPrinter, var: SSAValue, kind: tir.IterKind, binding: SSAValue | None, min_: SymExpr, extent: SymExpr
) -> None:
    domain = symbolic(p, extent).text
    if min_.constant != 0:
        start = _typed(min_, extent)
        domain = f"({symbolic(p, start).text}, {symbolic(p, start + extent).text})"
    args = domain if binding is None else f"{domain}, {p.values[binding].text}"
    text = f"{p.doc.tir(f'axis.{kind.value}')}({args})"
    p.doc.line(f"{p.define(var, 'v')} = {text}")


def _is_loop(binding: SSAValue, min_: SymExpr, extent: SymExpr) -> bool:
    """Return whether an iterator is bound to a plain loop variable that covers exactly its domain."""
    loop = binding.owner.parent_op() if isinstance(binding.owner, Block) else None
    return isinstance(loop, tir.ForOp) and _same(loop.min, min_) and loop.extent == extent


def _same(a: SymExpr | SSAValue, b: SymExpr) -> bool:
    """Return whether two minima are equal, regardless of the type of a constant."""
    return a == b or (isinstance(a, SymExpr) and a.constant is not None and a.constant == b.constant)


def _typed(e: SymExpr, like: SymExpr) -> SymExpr:
    """Return a constant with the type of `like`."""
    return e if e.constant is None else Const(e.constant, like.dtype)


# Other statements


def _store(p: TIRPrinter, op: tir.StoreOp) -> None:
    p.doc.line(f"{access(p, op.buffer, op.indices).text} = {p.values[op.value].text}", op)


def _masked_store(p: TIRPrinter, op: tir.MaskedStoreOp) -> None:
    buffer, index, value, mask = (p.values[v].text for v in (op.buffer, op.index, op.value, op.mask))
    p.doc.line(f"{buffer}.vstore([{index}], {value}, predicate={mask})", op)


def _evaluate(p: TIRPrinter, op: tir.EvaluateOp) -> None:
    """Print an expression statement. As in TVM, a 0 is omitted, because it has no effect."""
    if does_nothing(op):
        return
    text = p.values[op.value].text
    is_call = isinstance(op.value.owner, CALL_LIKE)
    p.doc.line(text if is_call else f"{p.doc.tir('evaluate')}({text})", op)


def _let(p: TIRPrinter, op: tir.LetOp) -> None:
    text, dtype = p.values[op.value].text, p.dtype(op.result.type)
    if p.scoped is op:
        declared = f", {dtype}" if isinstance(op.result.type, tir.HandleType) and op.result.type.element else ""
        p.scope(op, f"{p.doc.tir('LetStmt')}({text}{declared})", op.result, "x")
    else:
        p.doc.line(f"{p.define(op.result, 'x')}: {dtype} = {text}", op)


def _if(p: TIRPrinter, op: tir.IfOp) -> None:
    p.doc.line(f"if {p.values[op.cond].text}:", op)
    p.body(op.then_region.block)
    if op.has_else:
        p.doc.line("else:")
        p.body(op.else_region.block)


def _while(p: TIRPrinter, op: tir.WhileOp) -> None:
    p.doc.line(f"while {p.expression_block(op.cond_region.block).text}:", op)
    p.body(op.body.block)


def _assert(p: TIRPrinter, op: tir.AssertOp) -> None:
    parts = f"{p.values[op.cond].text}, {string(op.message.data)}"
    if p.scoped is op:
        p.scope(op, f"{p.doc.tir('Assert')}({parts})")
    else:
        p.doc.line(f"assert {parts}", op)


def _attr(p: TIRPrinter, op: tir.AttrOp) -> None:
    """Print an attribute. At the end of a body it applies to the rest of the body, otherwise it opens a scope."""
    text = f"{p.doc.tir('attr')}({_attr_node(p, op.on)}, {string(op.key.data)}, {p.values[op.value].text})"
    if op.next_op is None and p.scoped is not op:
        p.doc.line(text, op)
        p.sequence(op.body.block.ops)
    else:
        p.doc.line(f"with {text}:", op)
        p.body(op.body.block)


def _launch_thread(p: TIRPrinter, op: tir.LaunchThreadOp) -> None:
    """Print a thread launch like an attribute that also names the thread variable."""
    text = f"{p.doc.tir('launch_thread')}({string(op.tag.data)}, {p.values[op.extent].text})"
    if op.next_op is None and p.scoped is not op:
        p.doc.line(f"{p.define(op.index, _thread_name(op.tag.data))} = {text}", op)
        p.sequence(op.body.block.ops)
    else:
        with p.frame():
            p.doc.line(f"with {text} as {p.define(op.index, _thread_name(op.tag.data))}:", op)
            p.body(op.body.block)


def _thread_name(tag: str) -> str:
    return tag.replace(".", "_")


def _attr_node(p: TIRPrinter, on: Attribute | SSAValue | None) -> str:
    if isinstance(on, SSAValue):
        return p.values[on].text
    return "0" if on is None else attribute(p.doc, on, tir=True)


def _return(p: TIRPrinter, op: tir.ReturnOp) -> None:
    p.doc.line(f"return {p.values[op.value].text}", op)


def _init(p: TIRPrinter, op: tir.InitOp) -> None:
    p.doc.line(f"with {p.doc.tir('init')}():", op)
    p.body(op.body.block)


STATEMENTS: dict[type[Operation], StatementPrinter] = {
    tir.ForOp: _for,
    tir.BlockOp: _block,
    tir.StoreOp: _store,
    tir.MaskedStoreOp: _masked_store,
    tir.EvaluateOp: _evaluate,
    tir.LetOp: _let,
    tir.IfOp: _if,
    tir.WhileOp: _while,
    tir.AssertOp: _assert,
    tir.AttrOp: _attr,
    tir.LaunchThreadOp: _launch_thread,
    tir.AllocBufferOp: _alloc_buffer,
    tir.AllocConstOp: _alloc_const,
    tir.AllocateOp: _allocate,
    tir.DeclBufferOp: _decl_buffer,
    tir.MatchBufferOp: _match_buffer,
    tir.ReturnOp: _return,
    tir.InitOp: _init,
}
