"""TIR functions as TVMScript."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, NoneAttr, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of
from ...dialects.sym.expr import Const, SymExpr, Var, i32
from ...dialects.tir.types import DEFAULT_ALIGN
from ...ir.names import identifier
from ...ir.rewriting.walk import has_root_block
from ...ir.verification.as_written import as_written
from .document import Document, Expr, Level, atom, infix
from .literals import attribute, dictionary, parenthesized, shown_attrs, string, tir_int
from .names import NameScope
from .symbolic import symbolic
from .tir_expressions import CALL_LIKE, EXPRESSIONS, access, constant_of, interval_end, type_name
from .undeclared import statement_of, undeclared

_KIND_LETTERS = {tir.IterKind.SPATIAL: "S", tir.IterKind.REDUCE: "R"}
_LOOP_CALLS = {
    tir.ForKind.SERIAL: "serial",
    tir.ForKind.PARALLEL: "parallel",
    tir.ForKind.VECTORIZED: "vectorized",
    tir.ForKind.UNROLLED: "unroll",
    tir.ForKind.THREAD_BINDING: "thread_binding",
}


_MAX_EXPRESSION = 1 << 22


class _Values(dict[SSAValue, Expr]):
    """What values print as; what the program does not define is found out when it is needed."""

    def __init__(self, printer: TIRPrinter):
        super().__init__()
        self._printer = printer

    def __missing__(self, value: SSAValue) -> Expr:
        owner = value.owner
        printed = EXPRESSIONS.get(type(owner)) if isinstance(owner, Operation) else None
        if printed is None:
            return self._printer.free(value)
        self[value] = printed(self._printer, owner)
        return self[value]


class TIRPrinter:
    """Prints one TIR function into a document; `declared` are the lines for what it does not define."""

    is_read_back = True

    def __init__(self, doc: Document):
        config = doc.config
        self.doc = doc
        self._names = NameScope("_", (config.tir_prefix, config.ir_prefix, config.relax_prefix, "range"))
        self._values: dict[SSAValue, Expr] = _Values(self)
        self._symbols: dict[str | SSAValue, Expr] = {}
        self._of_strides: set[str | SSAValue] = set()
        self.declared: list[str] = []
        self._depth = doc.depth
        self._foreign: set[SSAValue] = set()
        self._undeclared: Mapping[Operation, list[SSAValue]] = {}

    def value(self, value: SSAValue) -> Expr:
        return self._values[value]

    def free(self, value: SSAValue) -> Expr:
        """A variable or buffer from elsewhere."""
        with self.doc.collecting(self.declared):
            inner, self.doc.depth = self.doc.depth, self._depth
            self._free(value)
            self.doc.depth = inner
        return self._values[value]

    def _free(self, value: SSAValue) -> None:
        if value in self._values:
            return
        name = self._names.define(name_of(value) or "v")
        self._values[value] = atom(name)
        self._foreign.add(value)
        t = value.type
        text = self._buffer("Buffer", t, []) if isinstance(t, tir.BufferType) else self._called(self._dtype(t))
        self._define_strides(value, name)
        self.doc.line(f"{name} = {text}")

    @staticmethod
    def _called(dtype: str) -> str:
        return dtype if dtype.endswith(")") else dtype + "()"

    def literal(self, value: int, dtype: Attribute) -> Expr:
        return tir_int(self.doc, value, dtype)

    def symbol(self, var: Var) -> Expr:
        found = self._symbols.get(var.name)
        if found is None and var.value is not None:
            return self._values[var.value]
        if found is None:
            self.doc.line(f"{self._define_symbol(var)} = {self._dtype(var.dtype)}()")
        return found or self._symbols[var.name]

    def _define_symbol(self, var: Var) -> str:
        name = self._names.define(str(var.name))
        self._symbols[var.name] = atom(name)
        return name

    def expression_block(self, block: Block) -> Expr:
        """Print the expressions of a block; its value is what it yields."""
        self._statements(block.ops)
        return self._values[cast(tir.YieldOp, block.last_op).value]

    def function(self, func: tir.FuncOp) -> None:
        """Print `@T.prim_func` and the function."""
        matches: list[tuple[SSAValue, str]] = []
        params = [self._param(func, i, p, matches) for i, p in enumerate(func.params)]
        memory = as_written(func)
        unsaid = func.ret_type is None or (memory is not None and memory.declared == tir.VOID)
        ret = "" if unsaid else f" -> {self._dtype(cast(Attribute, func.ret_type))}"
        self.doc.line("@" + self.doc.tir("prim_func") + ("(private=True)" if func.private else ""))
        self.doc.line(
            f"def {self.doc.function_name(func)}({', '.join(params)}){ret}:", None if self._shows_root(func) else func
        )
        with self.doc.indented():
            attrs = shown_attrs(func.func_attrs, self.doc.function_name(func))
            if attrs:
                self.doc.line(f"{self.doc.tir('func_attr')}({dictionary(self.doc, attrs, tir=True)})")
            for buffer, handle in matches:
                self._buffer_line(buffer, "match_buffer", [handle])
            body: list[str] = []
            self._depth = self.doc.depth
            self._undeclared = undeclared([func])
            with self.doc.collecting(body):
                self._root(func)
            self.doc.lines += self.declared + body

    def _param(self, func: tir.FuncOp, i: int, param: SSAValue, matches: list[tuple[SSAValue, str]]) -> str:
        t = param.type
        if isinstance(t, tir.BufferType) and not _is_simple(t):
            given = func.handle_names
            hint = given.data[i].data if given is not None else f"var_{name_of(param) or 'buffer'}"
            handle = self._names.define(identifier(hint))
            matches.append((param, handle))
            return f"{handle}: {self.doc.tir('handle')}"
        name = self._define(param, "param")
        if isinstance(t, tir.BufferType):
            return f"{name}: {self._buffer('Buffer', t, [], with_dtype=True)}"
        hint = name_of(param)
        if hint is not None:
            self._symbols[hint] = atom(name)
        return f"{name}: {self._dtype(t)}"

    def _dtype(self, t: Attribute) -> str:
        if not isinstance(t, tir.HandleType):
            return self.doc.tir(dtype_name(t))
        name = self.doc.tir("handle")
        if t.element is None:
            return name
        return f"{name}({string(type_name(t.element))}, {string(t.scope.data)})"

    def _define(self, value: SSAValue, fallback: str) -> str:
        name = self._names.define(name_of(value) or fallback)
        self._values[value] = atom(name)
        return name

    def name(self, value: SSAValue, text: str) -> None:
        """Let a value be called `text`."""
        self._values[value] = atom(text)

    def declare(self, value: SSAValue, fallback: str) -> str:
        """Give a value a name, declared on a line of its own."""
        name = self._define(value, fallback)
        self.doc.line(f"{name} = {self._called(self._dtype(value.type))}")
        return name

    def _root(self, func: tir.FuncOp) -> None:
        """The body; what belongs to the block around it, which has no text but a remark, comes first."""
        ops = list(func.body.block.ops)
        text = f'with {self.doc.tir("block")}("root"):'
        if not self._shows_root(func):
            if has_root_block(ops):
                self.doc.line(f"# {text}")
            self._root_body(ops)
            return
        self.doc.line(text, func)
        with self.doc.indented():
            for name in ("reads", "writes"):
                self.doc.line(f"{self.doc.tir(name)}()")
            self._root_body(ops)

    def _shows_root(self, func: tir.FuncOp) -> bool:
        """Whether the block around the body is written out."""
        return not self.doc.config.syntax_sugar and has_root_block(list(func.body.block.ops))

    def _root_body(self, ops: Sequence[Operation]) -> None:
        self._statements([op for op in ops if _belongs_to_block(op)])
        self._sequence([op for op in ops if not _belongs_to_block(op)])

    def _sequence(self, ops: Iterable[Operation]) -> None:
        """Statements that follow each other."""
        self._end(self._statements(ops), ops)

    def _end(self, last: Operation | None, ops: Iterable[Operation]) -> None:
        """Where nothing was printed, or nothing after what holds for all that follows, the statement that does so."""
        if last is None or _opens_scope(last):
            zeros = [self._values[op.value].text for op in ops if isinstance(op, tir.EvaluateOp) and _does_nothing(op)]
            text = zeros[-1] if zeros else "0"
            self.doc.line(f"{self.doc.tir('evaluate')}({text})")

    def _statements(self, ops: Iterable[Operation]) -> Operation | None:
        """Print operations; gives the last of them that has a line."""
        last = None
        for op in ops:
            self._declare_used(op)
            expression = EXPRESSIONS.get(type(op))
            if expression is not None:
                self._values[op.results[0]] = _bounded(op, expression(self, op))
            elif not isinstance(op, tir.YieldOp):
                before = len(self.doc.lines)
                self._statement(op)
                last = op if len(self.doc.lines) > before else last
        return last

    def _statement(self, op: Operation) -> None:
        statement = _STATEMENTS.get(type(op))
        if statement is None:
            raise UnsupportedError(f"{op.name} has no form in TVMScript", found=str(op).split("\n", 1)[0])
        statement(self, op)

    def _declare_used(self, op: Operation) -> None:
        """Declare what has its first use here, and no declaration of its own."""
        for value in self._undeclared.get(op, ()):
            if isinstance(value.owner, tir.DeclBufferOp):
                self._declared(value.owner, "Buffer", self._values[value.owner.data].text)
            else:
                self._free(value)

    @contextmanager
    def _frame(self) -> Iterator[None]:
        """A scope: names, and what strides of its buffers define, end with it."""
        outer = set(self._of_strides)
        with self._names.frame():
            yield
        for name in self._of_strides - outer:
            del self._symbols[name]
        self._of_strides = outer

    def _body(self, block: Block) -> None:
        with self.doc.indented(), self._frame():
            self._sequence(block.ops)

    # Buffers

    def _declare_sizes(self, dims: Iterable[SymExpr]) -> None:
        """Declare the variables that a buffer is the first to have as dimensions on one line: `n, m = T.int64(), …`."""
        names: list[str] = []
        types: list[str] = []
        for dim in dims:
            if not isinstance(dim, Var):
                symbolic(self, dim)  # declares what it mentions, each on a line before
            elif dim.value is None and dim.name not in self._symbols:
                names.append(self._define_symbol(dim))
                types.append(self._called(self._dtype(dim.dtype)))
        if names:
            self.doc.line(f"{', '.join(names)} = {', '.join(types)}")

    def _buffer_line(
        self, value: SSAValue, name: str, args: list[str], op: Operation | None = None, **given: Any
    ) -> None:
        """`A = T.match_buffer(a, (n,))`: the buffer, and what its strides define, have a name from here on."""
        text = self._buffer(name, cast(tir.BufferType, value.type), args, **given)
        own = self._define(value, "buffer")
        self._define_strides(value, own)
        self.doc.line(f"{own} = {text}", op)

    def _define_strides(self, value: SSAValue, name: str) -> None:
        if isinstance(value.type, tir.BufferType):
            for axis, var in self._defined_strides(value.type).items():
                self._symbols[var.name] = atom(f"{name}.strides[{axis}]")
                self._of_strides.add(var.name)

    def _defined_strides(self, t: tir.BufferType) -> dict[int, Var]:
        """The strides that are variables of which nothing else says what they are."""
        uses = Counter(v for e in t.exprs() for v in e.free_vars())
        width = t.dims[0].dtype if t.dims else i32
        return {
            i: s
            for i, s in enumerate(t.explicit_strides or ())
            if isinstance(s, Var)
            and s.value is None
            and uses[s] == 1
            and s.dtype == width
            and s.name not in self._symbols
        }

    def _strides(self, t: tir.BufferType, strides: Iterable[SymExpr]) -> str:
        """`(A_s0, 1)`; one that is defined by it is a string: `("A_s0", 1)`."""
        own = self._defined_strides(t)
        texts = [string(str(own[i].name)) if i in own else symbolic(self, s).text for i, s in enumerate(strides)]
        return parenthesized(texts)

    def _dims(self, dims: Iterable[SymExpr]) -> str:
        return parenthesized([symbolic(self, d).text for d in dims])

    def _buffer(
        self,
        name: str,
        t: tir.BufferType,
        args: list[str],
        *,
        with_dtype: bool = False,
        data: str | None = None,
        annotations: str | None = None,
    ) -> str:
        """`T.match_buffer(x, (n, 4), "float16", strides=(8, 1))`: what is not the default."""
        dtype = dtype_name(t.dtype)
        self._declare_sizes(t.dims)
        shown = [*args, self._dims(t.dims)]
        if with_dtype or dtype != "float32":
            shown.append(string(dtype))
        extras = {
            "data": data,
            "strides": None if t.explicit_strides is None else self._strides(t, t.explicit_strides),
            "elem_offset": None if isinstance(t.offset, NoneAttr) else symbolic(self, t.offset.data).text,
            "scope": None if t.scope.data == "global" else string(t.scope.data),
            "align": None if t.align.data == DEFAULT_ALIGN else str(t.align.data),
            "offset_factor": str(t.offset_factor.data) if t.offset_factor.data else None,
            "buffer_type": string("auto") if t.is_broadcast else None,
            "axis_separators": f"[{', '.join(str(s.data) for s in t.separators)}]" if t.separators.data else None,
            "annotations": annotations,
        }
        shown += [f"{k}={v}" for k, v in extras.items() if v is not None]
        return f"{self.doc.tir(name)}({', '.join(shown)})"

    def region(self, buffer: SSAValue, starts: Sequence[SSAValue], extents: Sequence[SymExpr]) -> str:
        """`A[vi, 0:4]`."""
        items = [self._range(s, e) for s, e in zip(starts, extents, strict=True)]
        return f"{self._values[buffer].text}[{', '.join(items) or '()'}]"

    def _range(self, start: SSAValue, extent: SymExpr) -> str:
        if extent.constant == 1:
            return self._values[tir.written_index(start)].text
        text = self._values[start].text
        size = symbolic(self, extent) if extent.constant is None else extent.constant
        return f"{text}:{interval_end(self, start, size)}"

    def alloc_buffer(self, op: tir.AllocBufferOp) -> None:
        notes = dictionary(self.doc, {op.PADDED: IntegerAttr(1, i1)}, tir=True) if op.padded else None
        name = "alloc_buffer" if _belongs_to_block(op) else "decl_buffer"
        self._buffer_line(op.result, name, [], op, annotations=notes)

    def allocate(self, op: tir.AllocateOp) -> None:
        shown = [f"[{', '.join(symbolic(self, d).text for d in op.extents)}]", string(dtype_name(op.dtype))]
        shown.append(string(op.scope.data))
        if op.annotations is not None and op.annotations.data:
            shown.append(f"annotations={dictionary(self.doc, op.annotations.data, tir=True)}")
        self.doc.line(f"{self._define(op.result, 'data')} = {self.doc.tir('allocate')}({', '.join(shown)})", op)

    def alloc_const(self, op: tir.AllocConstOp) -> None:
        data = op.value.data
        values = data.numpy().tolist()
        text = f"{values}, {string(dtype_name(data.dtype))}, {list(data.shape)}"
        self.doc.line(f"{self._define(op.result, 'const')} = {self.doc.tir('allocate_const')}({text})", op)

    def decl_buffer(self, op: tir.DeclBufferOp) -> None:
        if not op.alias:
            self._declared(op, "decl_buffer", self._values[op.data].text)

    def _declared(self, op: tir.DeclBufferOp, name: str, data: str | None) -> None:
        self._buffer_line(op.result, name, [], op, data=data)

    def match_buffer(self, op: tir.MatchBufferOp) -> None:
        source = self.region(op.source, op.starts, op.extents)
        self._buffer_line(op.result, "match_buffer", [source], op)

    # Loops

    def for_loop(self, op: tir.ForOp) -> None:
        nest = self._nest(op)
        with self._frame():
            if len(nest) > 1:
                self._grid(nest)
                return
            args = self._loop_args(op)
            plain = op.kind is tir.ForKind.SERIAL and op.annotations is None
            callee = "range" if plain else self.doc.tir(_LOOP_CALLS[op.kind])
            self.doc.line(f"for {self._define(op.loop_var, 'i')} in {callee}({args}):", op)
            self._body(op.body.block)

    def _nest(self, op: tir.ForOp) -> list[tir.ForOp]:
        """The loops on one line; nothing is declared between them."""
        nest = _grid(op) if self.doc.config.syntax_sugar else [op]
        bodies = [loop.body.block.ops for loop in nest[:-1]]
        cut = next((k for k, ops in enumerate(bodies, 1) if any(inner in self._undeclared for inner in ops)), len(nest))
        return nest[:cut]

    def _grid(self, nest: list[tir.ForOp]) -> None:
        names, extents = [], []
        for loop in nest:
            extents.append(self._bound(loop.extent).text)
            names.append(self._define(loop.loop_var, "i"))
            if loop is not nest[-1]:
                self._statements(op for op in loop.body.block.ops if type(op) in EXPRESSIONS)
        marked = next(filter(self.doc.is_underlined, nest), nest[0])
        self.doc.line(f"for {', '.join(names)} in {self.doc.tir('grid')}({', '.join(extents)}):", marked)
        self._body(nest[-1].body.block)

    def _bound(self, bound: SymExpr | SSAValue) -> Expr:
        return self._values[bound] if isinstance(bound, SSAValue) else symbolic(self, bound)

    def _computed_end(self, first: SymExpr | SSAValue, extent: SymExpr | SSAValue) -> str:
        """The end of a loop over `last - first` values is `last`."""
        distance = extent.owner if isinstance(extent, SSAValue) else None
        begin = self._bound(first)
        if isinstance(distance, tir.SubOp) and self.value(distance.rhs).text == begin.text:
            return self.value(distance.lhs).text
        return infix("+", Level.SUM, begin, self._bound(extent)).text

    def _loop_args(self, op: tir.ForOp) -> str:
        first, extent = op.min, op.extent
        if isinstance(first, SymExpr) and first.constant == 0:
            args = [self._bound(extent).text]
        elif isinstance(first, SymExpr) and isinstance(extent, SymExpr):
            start = _typed(first, extent)
            args = [symbolic(self, start).text, symbolic(self, start + extent).text]
        elif isinstance(first, SSAValue) and isinstance(extent, SymExpr):
            size = symbolic(self, extent) if extent.constant is None else extent.constant
            args = [self._values[first].text, interval_end(self, first, size)]
        else:
            args = [self._bound(first).text, self._computed_end(first, extent)]
        if op.thread is not None:
            args.append(f"thread={string(op.thread.data)}")
        if op.annotations is not None and op.annotations.data:
            args.append(f"annotations={dictionary(self.doc, op.annotations.data, tir=True)}")
        return ", ".join(args)

    # Blocks

    def block(self, op: tir.BlockOp) -> None:
        self.doc.line(f"with {self.doc.tir('block')}({string(op.block_name.data)}):", op)
        with self.doc.indented(), self._frame():
            self._iterators(op)
            if op.predicate is not None and constant_of(op.predicate) is not True:
                self.doc.line(f"{self.doc.tir('where')}({self._values[op.predicate].text})")
            self._block_body(op)

    def _block_body(self, op: tir.BlockOp) -> None:
        """One walk over the ops; what each prints goes where TVM has it, not where it stands."""
        regions: dict[type[Operation], list[str]] = {tir.ReadsOp: [], tir.WritesOp: []}
        declared: dict[type[Operation], list[str]] = {tir.ReadsOp: [], tir.WritesOp: []}
        parts: dict[type[Operation], list[str]] = {tir.AllocBufferOp: [], tir.MatchBufferOp: [], tir.InitOp: []}
        body: list[str] = []
        last: Operation | None = None
        for inner in op.body.block.ops:
            if isinstance(inner, tir.RegionOp):
                with self.doc.collecting(declared[type(inner)]):
                    self._declare_used(inner)
                regions[type(inner)].append(self.region(inner.buffer, inner.starts, inner.extents))
                continue
            user = statement_of(inner)
            part = body if isinstance(inner, tir.AllocBufferOp) and inner.declared else parts.get(type(inner), body)
            with self.doc.collecting(declared[type(user)] if isinstance(user, tir.RegionOp) else part):
                shown = self._statements((inner,))
            last = last if shown is None or part is not body else shown
        for name, kind in (("reads", tir.ReadsOp), ("writes", tir.WritesOp)):
            self.doc.lines.extend(declared[kind])
            self.doc.line(f"{self.doc.tir(name)}({', '.join(regions[kind])})")
        if op.annotations is not None and op.annotations.data:
            self.doc.read_buffers = [self._values[region.buffer].text for region in op.reads]
            self.doc.line(f"{self.doc.tir('block_attr')}({dictionary(self.doc, op.annotations.data, tir=True)})")
        for lines in parts.values():
            self.doc.lines.extend(lines)
        self.doc.lines.extend(body)
        self._end(last, op.body.block.ops)

    def _iterators(self, op: tir.BlockOp) -> None:
        rows = list(zip(op.iter_vars, op.kinds, op.bindings, op.mins, op.extents, strict=True))
        run: list[int] = []
        for i, (_, kind, binding, min_, extent) in enumerate(rows):
            own_loop = binding not in self._foreign and _is_loop(binding, min_, extent)
            if self.doc.config.syntax_sugar and kind in _KIND_LETTERS and own_loop:
                run.append(i)
                continue
            self._remap(rows, run)
            run = []
            self._axis(*rows[i])
        self._remap(rows, run)

    def _remap(self, rows: list[Any], run: list[int]) -> None:
        if len(run) < 2:
            for i in run:
                self._axis(*rows[i])
            return
        bindings = ", ".join(self._values[rows[i][2]].text for i in run)
        names = ", ".join(self._define(rows[i][0], "v") for i in run)
        letters = "".join(_KIND_LETTERS[rows[i][1]] for i in run)
        self.doc.line(f'{names} = {self.doc.tir("axis.remap")}("{letters}", [{bindings}])')

    def _axis(
        self, var: SSAValue, kind: tir.IterKind, binding: SSAValue | None, min_: SymExpr, extent: SymExpr
    ) -> None:
        domain = symbolic(self, extent).text
        if min_.constant != 0:
            start = _typed(min_, extent)
            domain = f"({symbolic(self, start).text}, {symbolic(self, start + extent).text})"
        args = domain if binding is None else f"{domain}, {self._values[binding].text}"
        text = f"{self.doc.tir(f'axis.{kind.value}')}({args})"
        self.doc.line(f"{self._define(var, 'v')} = {text}")

    # Other statements

    def store(self, op: tir.StoreOp) -> None:
        self.doc.line(f"{access(self, op.buffer, op.indices).text} = {self._values[op.value].text}", op)

    def masked_store(self, op: tir.MaskedStoreOp) -> None:
        buffer, index, value, mask = (self._values[v].text for v in (op.buffer, op.index, op.value, op.mask))
        self.doc.line(f"{buffer}.vstore([{index}], {value}, predicate={mask})", op)

    def evaluate(self, op: tir.EvaluateOp) -> None:
        """An expression; among other statements TVM leaves out 0, which does nothing."""
        if _does_nothing(op):
            return
        text = self._values[op.value].text
        is_call = isinstance(op.value.owner, CALL_LIKE)
        self.doc.line(text if is_call else f"{self.doc.tir('evaluate')}({text})", op)

    def let(self, op: tir.LetOp) -> None:
        text = self._values[op.value].text
        self.doc.line(f"{self._define(op.result, 'x')}: {self._dtype(op.result.type)} = {text}", op)

    def branch(self, op: tir.IfOp) -> None:
        self.doc.line(f"if {self._values[op.cond].text}:", op)
        self._body(op.then_region.block)
        if op.has_else:
            self.doc.line("else:")
            self._body(op.else_region.block)

    def while_loop(self, op: tir.WhileOp) -> None:
        self.doc.line(f"while {self.expression_block(op.cond_region.block).text}:", op)
        self._body(op.body.block)

    def assertion(self, op: tir.AssertOp) -> None:
        self.doc.line(f"assert {self._values[op.cond].text}, {string(op.message.data)}", op)

    def attr(self, op: tir.AttrOp) -> None:
        """At the end of a body the attribute holds for the rest of it, else it opens one of its own."""
        text = f"{self.doc.tir('attr')}({self._attr_node(op.on)}, {string(op.key.data)}, {self._values[op.value].text})"
        if op.next_op is None and self.doc.config.syntax_sugar:
            self.doc.line(text, op)
            self._sequence(op.body.block.ops)
        else:
            self.doc.line(f"with {text}:", op)
            self._body(op.body.block)

    def launch(self, op: tir.LaunchThreadOp) -> None:
        """As an attribute; the number of the thread gets its name there."""
        text = f"{self.doc.tir('launch_thread')}({string(op.tag.data)}, {self._values[op.extent].text})"
        if op.next_op is None and self.doc.config.syntax_sugar:
            self.doc.line(f"{self._define(op.index, _thread_name(op.tag.data))} = {text}", op)
            self._sequence(op.body.block.ops)
        else:
            with self._frame():
                self.doc.line(f"with {text} as {self._define(op.index, _thread_name(op.tag.data))}:", op)
                self._body(op.body.block)

    def _attr_node(self, on: Attribute | SSAValue | None) -> str:
        if isinstance(on, SSAValue):
            return self._values[on].text
        return "0" if on is None else attribute(self.doc, on, tir=True)

    def give(self, op: tir.ReturnOp) -> None:
        self.doc.line(f"return {self._values[op.value].text}", op)

    def init(self, op: tir.InitOp) -> None:
        self.doc.line(f"with {self.doc.tir('init')}():", op)
        self._body(op.body.block)


def _thread_name(tag: str) -> str:
    return tag.replace(".", "_")


_STATEMENTS: dict[type[Operation], Callable[[TIRPrinter, Any], None]] = {
    tir.ForOp: TIRPrinter.for_loop,
    tir.BlockOp: TIRPrinter.block,
    tir.StoreOp: TIRPrinter.store,
    tir.MaskedStoreOp: TIRPrinter.masked_store,
    tir.EvaluateOp: TIRPrinter.evaluate,
    tir.LetOp: TIRPrinter.let,
    tir.IfOp: TIRPrinter.branch,
    tir.WhileOp: TIRPrinter.while_loop,
    tir.AssertOp: TIRPrinter.assertion,
    tir.AttrOp: TIRPrinter.attr,
    tir.LaunchThreadOp: TIRPrinter.launch,
    tir.AllocBufferOp: TIRPrinter.alloc_buffer,
    tir.AllocConstOp: TIRPrinter.alloc_const,
    tir.AllocateOp: TIRPrinter.allocate,
    tir.DeclBufferOp: TIRPrinter.decl_buffer,
    tir.MatchBufferOp: TIRPrinter.match_buffer,
    tir.ReturnOp: TIRPrinter.give,
    tir.InitOp: TIRPrinter.init,
}


def _bounded(op: Operation, text: Expr) -> Expr:
    """Refuses values that are shared so often that as a tree they have millions of characters."""
    if len(text.text) > _MAX_EXPRESSION:
        raise UnsupportedError(
            f"{op.name}: as a tree the expression has more than {_MAX_EXPRESSION} characters",
            hint="give what is used often a name with tir.let",
        )
    return text


_SCOPES = (tir.LetOp, tir.AllocateOp, tir.AllocConstOp, tir.DeclBufferOp, tir.AllocBufferOp, tir.AssertOp)


def _opens_scope(op: Operation) -> bool:
    """Whether what follows a statement is inside of it for TVM."""
    return isinstance(op, _SCOPES) and not _belongs_to_block(op)


def _does_nothing(op: tir.EvaluateOp) -> bool:
    return isinstance(op.value.type, IntegerType) and constant_of(op.value) == 0


def _belongs_to_block(op: Operation) -> bool:
    """Whether an op is memory that a block, or the function as one, allocates."""
    in_block = isinstance(op.parent_op(), tir.BlockOp | tir.FuncOp | None)
    return isinstance(op, tir.AllocBufferOp) and in_block and not op.declared


def _is_simple(t: tir.BufferType) -> bool:
    """Whether a parameter prints as `T.Buffer(…)`: nothing about it is symbolic or unusual."""
    plain = tir.BufferType.of(t.dims, t.dtype)
    return t == plain and all(d.constant is not None for d in t.dims)


def _is_loop(binding: SSAValue, min_: SymExpr, extent: SymExpr) -> bool:
    """Whether an iterator is bound to a plain loop variable that runs over just its domain."""
    loop = binding.owner.parent_op() if isinstance(binding.owner, Block) else None
    return isinstance(loop, tir.ForOp) and _same(loop.min, min_) and loop.extent == extent


def _same(a: SymExpr | SSAValue, b: SymExpr) -> bool:
    """Whether two least values agree; the type of a constant does not matter."""
    return a == b or (isinstance(a, SymExpr) and a.constant is not None and a.constant == b.constant)


def _typed(e: SymExpr, like: SymExpr) -> SymExpr:
    """A constant in the type of `like`."""
    return e if e.constant is None else Const(e.constant, like.dtype)


def _grid(op: tir.ForOp) -> list[tir.ForOp]:
    """The loops that print as one `T.grid`: nested directly, plain, from 0, with independent extents."""
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
    """Whether an extent is computed from the variables of the loops `nest`."""
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
