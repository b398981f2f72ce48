"""Statements and values of a TIR function as text: their names, and the declarations of buffers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, NoneAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of
from ...dialects.sym.expr import SymExpr, Var, i32
from ...dialects.tir.types import DEFAULT_ALIGN
from .document import Document, Expr, atom
from .literals import parenthesized, string, tir_int
from .names import NameScope
from .symbolic import symbolic
from .tir_expressions import EXPRESSIONS, constant_of, type_name
from .undeclared import Undeclared

_MAX_EXPRESSION = 1 << 22


StatementPrinter = Callable[["TIRPrinter", Any], None]
"""Prints one kind of statement."""


class _Values(dict[SSAValue, Expr]):
    """The texts of values; texts of free values are determined on first use."""

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
    """The state of printing a TIR function; `declared` holds the declarations of its free variables.

    `printers` has a function for each kind of statement. A printed program `is_read_back`, a fragment is not. The
    statement `scoped`, which begins a fragment, prints with a scope (`with`) around `rest`, what follows it.
    """

    def __init__(
        self, doc: Document, printers: Mapping[type[Operation], StatementPrinter], *, is_read_back: bool = True
    ):
        config = doc.config
        self.doc = doc
        self.is_read_back = is_read_back
        self.names = NameScope("_", (config.tir_prefix, config.ir_prefix, config.relax_prefix, "range"))
        self.values: dict[SSAValue, Expr] = _Values(self)
        self.symbols: dict[str | SSAValue, Expr] = {}
        self.of_strides: set[str | SSAValue] = set()
        self.declared: list[str] = []
        self.depth = doc.depth
        self.foreign: set[SSAValue] = set()
        self.undeclared = Undeclared()
        self.declared_in: dict[tir.ForOp, list[str]] = defaultdict(list)
        self.scoped: Operation | None = None
        self.rest: Sequence[Operation] = ()
        self._printers = printers

    def value(self, value: SSAValue) -> Expr:
        return self.values[value]

    def free(self, value: SSAValue) -> Expr:
        """Return the text of a free variable or buffer."""
        with self.doc.collecting(self.declared):
            inner, self.doc.depth = self.doc.depth, self.depth
            self._free(value)
            self.doc.depth = inner
        return self.values[value]

    def _free(self, value: SSAValue) -> None:
        if value in self.values:
            return
        name = self.names.define(name_of(value) or "v")
        self.values[value] = atom(name)
        self.foreign.add(value)
        t = value.type
        text = buffer_text(self, "Buffer", t, []) if isinstance(t, tir.BufferType) else _called(self.dtype(t))
        _define_strides(self, value, name)
        self.doc.line(f"{name} = {text}")

    def literal(self, value: int, dtype: Attribute) -> Expr:
        return tir_int(self.doc, value, dtype)

    def symbol(self, var: Var) -> Expr:
        printed = self.symbols.get(var.name)
        if printed is None and var.value is not None:
            return self.values[var.value]
        if printed is None:
            self.doc.line(f"{self.define_symbol(var)} = {self.dtype(var.dtype)}()")
        return printed or self.symbols[var.name]

    def define_symbol(self, var: Var) -> str:
        name = self.names.define(str(var.name))
        self.symbols[var.name] = atom(name)
        return name

    def expression_block(self, block: Block) -> Expr:
        """Print the expressions of a block and return the text of the value that it yields."""
        self.statements(block.ops)
        return self.values[cast(tir.YieldOp, block.last_op).value]

    def dtype(self, t: Attribute) -> str:
        if not isinstance(t, tir.HandleType):
            return self.doc.tir(dtype_name(t))
        name = self.doc.tir("handle")
        if t.element is None:
            return name
        return f"{name}({string(type_name(t.element))}, {string(t.scope.data)})"

    def define(self, value: SSAValue, fallback: str) -> str:
        name = self.names.define(name_of(value) or fallback)
        self.values[value] = atom(name)
        return name

    def name(self, value: SSAValue, text: str) -> None:
        """Set the text of a value to `text`."""
        self.values[value] = atom(text)

    def declare(self, value: SSAValue, fallback: str) -> str:
        """Name a value and declare it on a separate line."""
        name = self.define(value, fallback)
        self.doc.line(f"{name} = {_called(self.dtype(value.type))}")
        return name

    def sequence(self, ops: Iterable[Operation]) -> None:
        """Print consecutive statements. A comment is for one that scopes over the others if they stand in its scope."""
        ops = list(ops)
        for place, op in enumerate(ops):
            if isinstance(op, tir.LetOp | tir.AssertOp) and self.doc.has_remark(op):
                self.statements(ops[:place])
                self.scoped, self.rest = op, ops[place + 1 :]
                self.statements([op])
                return
        self.end(self.statements(ops), ops)

    def end(self, last: Operation | None, ops: Iterable[Operation]) -> None:
        """Print a statement without effect if a body is empty, or if nothing follows a statement that scopes over
        its rest.
        """
        if last is None or _opens_scope(last):
            zeros = [self.values[op.value].text for op in ops if isinstance(op, tir.EvaluateOp) and does_nothing(op)]
            text = zeros[-1] if zeros else "0"
            self.doc.line(f"{self.doc.tir('evaluate')}({text})")

    def statements(self, ops: Iterable[Operation]) -> Operation | None:
        """Print operations and return the last one that has a line."""
        last = None
        for op in ops:
            self.declare_used(op)
            expression = EXPRESSIONS.get(type(op))
            if expression is not None:
                self.values[op.results[0]] = _bounded(op, expression(self, op))
            elif not isinstance(op, tir.YieldOp):
                printed = self._printers.get(type(op))
                if printed is None:
                    first_line = str(op).split("\n", 1)[0]
                    raise UnsupportedError(f"{op.name} has no form in TVMScript", found=first_line)
                before = len(self.doc.lines)
                printed(self, op)
                last = op if len(self.doc.lines) > before else last
        return last

    def declare_used(self, op: Operation) -> None:
        """Declare values that are first used here and have no declaration of their own."""
        for value in self.undeclared.places.get(op, ()):
            loop = self.undeclared.loops.get(value)
            if isinstance(value.owner, tir.DeclBufferOp):
                print_declaration(self, value.owner, "Buffer", self.values[value.owner.data].text)
            elif loop is None:
                self._free(value)
            else:
                with self.doc.collecting(self.declared_in[loop]), self.doc.indented():
                    self._free(value)

    @contextmanager
    def frame(self) -> Iterator[None]:
        """Open a scope; names and variables defined by strides end with it."""
        outer = set(self.of_strides)
        with self.names.frame():
            yield
        for name in self.of_strides - outer:
            del self.symbols[name]
        self.of_strides = outer

    def scope(self, op: Operation, text: str, value: SSAValue | None = None, fallback: str = "v") -> None:
        """Print a statement as a scope around the statements after it; `value` is its definition."""
        rest, self.scoped, self.rest = self.rest, None, ()
        with self.frame():
            name = "" if value is None else f" as {self.define(value, fallback)}"
            self.doc.line(f"with {text}{name}:", op)
            with self.doc.indented():
                self.sequence(rest)

    def body(self, block: Block) -> None:
        with self.doc.indented(), self.frame():
            self.sequence(block.ops)


def _called(dtype: str) -> str:
    return dtype if dtype.endswith(")") else dtype + "()"


def _bounded(op: Operation, text: Expr) -> Expr:
    """Reject values that are shared so often that their expression tree would have millions of characters."""
    if len(text.text) > _MAX_EXPRESSION:
        raise UnsupportedError(
            f"{op.name}: as a tree the expression has more than {_MAX_EXPRESSION} characters",
            hint="give what is used often a name with tir.let",
        )
    return text


_SCOPES = (tir.LetOp, tir.AllocateOp, tir.AllocConstOp, tir.DeclBufferOp, tir.AllocBufferOp, tir.AssertOp)


def _opens_scope(op: Operation) -> bool:
    """Return whether TVM nests the following statements inside of this one."""
    return isinstance(op, _SCOPES) and not belongs_to_block(op)


def does_nothing(op: tir.EvaluateOp) -> bool:
    return isinstance(op.value.type, IntegerType) and constant_of(op.value) == 0


def belongs_to_block(op: Operation) -> bool:
    """Return whether an op is an allocation of a block, or of the function's root block."""
    in_block = isinstance(op.parent_op(), tir.BlockOp | tir.FuncOp | None)
    return isinstance(op, tir.AllocBufferOp) and in_block and not op.declared


# Buffers


def _declare_sizes(p: TIRPrinter, dims: Iterable[SymExpr]) -> None:
    """Declare the variables that first occur in this buffer's dimensions on one line: `n, m = T.int64(), …`."""
    names: list[str] = []
    types: list[str] = []
    for dim in dims:
        if not isinstance(dim, Var):
            symbolic(p, dim)  # declares its variables, each on a line before
        elif dim.value is None and dim.name not in p.symbols:
            names.append(p.define_symbol(dim))
            types.append(_called(p.dtype(dim.dtype)))
    if names:
        p.doc.line(f"{', '.join(names)} = {', '.join(types)}")


def buffer_line(
    p: TIRPrinter, value: SSAValue, name: str, args: list[str], op: Operation | None = None, **options: Any
) -> None:
    """Print `A = T.match_buffer(a, (n,))`, which defines the buffer and the variables of its strides."""
    text = buffer_text(p, name, cast(tir.BufferType, value.type), args, **options)
    if op is not None and p.scoped is op:
        p.scope(op, text, value, "buffer")
        return
    own = p.define(value, "buffer")
    _define_strides(p, value, own)
    p.doc.line(f"{own} = {text}", op)


def _define_strides(p: TIRPrinter, value: SSAValue, name: str) -> None:
    if isinstance(value.type, tir.BufferType):
        for axis, var in _defined_strides(p, value.type).items():
            p.symbols[var.name] = atom(f"{name}.strides[{axis}]")
            p.of_strides.add(var.name)
        if (offset := _defined_offset(p, value.type)) is not None:
            p.symbols[offset.name] = atom(f"{name}.elem_offset")
            p.of_strides.add(offset.name)


def _defined_offset(p: TIRPrinter, t: tir.BufferType) -> Var | None:
    """Return the offset if it is the variable that the parser made for `A.elem_offset`."""
    offset = t.elem_offset
    if not isinstance(offset, Var) or offset.value is not None or not t.offset_factor.data:
        return None
    return offset if str(offset.name).endswith("elem_offset") and offset.name not in p.symbols else None


def _defined_strides(p: TIRPrinter, t: tir.BufferType) -> dict[int, Var]:
    """Return the strides that are variables without another definition."""
    uses = Counter(v for e in t.exprs() for v in e.free_vars())
    width = t.dims[0].dtype if t.dims else i32
    return {
        i: s
        for i, s in enumerate(t.explicit_strides or ())
        if isinstance(s, Var) and s.value is None and uses[s] == 1 and s.dtype == width and s.name not in p.symbols
    }


def _strides(p: TIRPrinter, t: tir.BufferType, strides: Iterable[SymExpr]) -> str:
    """Return the strides `(A_s0, 1)`; a variable that they define is a string: `("A_s0", 1)`."""
    own = _defined_strides(p, t)
    texts = [string(str(own[i].name)) if i in own else symbolic(p, s).text for i, s in enumerate(strides)]
    return parenthesized(texts)


def _offset(p: TIRPrinter, t: tir.BufferType) -> str | None:
    hidden = t.elem_offset is None or _defined_offset(p, t) is not None
    return None if hidden or isinstance(t.offset, NoneAttr) else symbolic(p, t.offset.data).text


def _dims(p: TIRPrinter, dims: Iterable[SymExpr]) -> str:
    return parenthesized([symbolic(p, d).text for d in dims])


def buffer_text(
    p: TIRPrinter,
    name: str,
    t: tir.BufferType,
    args: list[str],
    *,
    with_dtype: bool = False,
    data: str | None = None,
    annotations: str | None = None,
) -> str:
    """Return `T.match_buffer(x, (n, 4), "float16", strides=(8, 1))` without arguments that equal the defaults."""
    dtype = dtype_name(t.dtype)
    _declare_sizes(p, t.dims)
    shown = [*args, _dims(p, t.dims)]
    if with_dtype or dtype != "float32":
        shown.append(string(dtype))
    extras = {
        "data": data,
        "strides": None if t.explicit_strides is None else _strides(p, t, t.explicit_strides),
        "elem_offset": _offset(p, t),
        "scope": None if t.scope.data == "global" else string(t.scope.data),
        "align": None if t.align.data == DEFAULT_ALIGN else str(t.align.data),
        "offset_factor": str(t.offset_factor.data) if t.offset_factor.data else None,
        "buffer_type": string("auto") if t.is_broadcast else None,
        "axis_separators": f"[{', '.join(str(s.data) for s in t.separators)}]" if t.separators.data else None,
        "annotations": annotations,
    }
    shown += [f"{k}={v}" for k, v in extras.items() if v is not None]
    return f"{p.doc.tir(name)}({', '.join(shown)})"


def print_declaration(p: TIRPrinter, op: tir.DeclBufferOp, name: str, data: str | None) -> None:
    buffer_line(p, op.result, name, [], op, data=data)
