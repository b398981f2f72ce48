"""`tvm.script.ir_builder`: build a tensor function by calls that resemble TVMScript.

with IRBuilder() as ib:
    with T.prim_func():
        T.func_name("main")
        A = T.arg("A", T.Buffer((16,), "float32"))
        with T.serial(16) as i:
            T.buffer_store(A, A[i] + 1.0, [i])
func = ib.get()
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType

from ...diagnostics import TiraxError
from ...dialects import tir
from ...dialects.names import set_name
from ...handles.array import Array
from ...handles.base_func import BaseFunc
from ...handles.tir import prim_expr as tx
from ...handles.tir import variables
from ...handles.tir.block_views import Block, BlockRealize
from ...handles.tir.buffers import Buffer, Stmt, decl_buffer
from ...handles.tir.control_flow import AssertStmt, AttrStmt, For, ForKind, IfThenElse
from ...handles.tir.control_flow import While as _While
from ...handles.tir.domains import BufferRegion, IterVar, Range
from ...handles.tir.intrinsics import pointer_variable
from ...handles.tir.ir_builder import IRBuilder as _Statements
from ...handles.tir.prim_expr import ExprLike, PrimExpr
from ...handles.tir.prim_func import PrimFunc
from ...handles.tir.stmt import Evaluate
from ...handles.tir.storage import Allocate, BufferStore, DeclBuffer, LetStmt
from ...handles.types import PrimType, Type
from ...ir.buffers.regions import infer_regions
from ...te.reduction import Reducer
from ...te.reduction import comm_reducer as reducer


@dataclass
class _Function:
    params: list[Any] = field(default_factory=list[Any])
    buffers: dict[PrimExpr, Buffer] = field(default_factory=dict[PrimExpr, Buffer])
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    name: str = "main"
    private: bool = False
    ret_type: str | None = None
    allocs: list[Buffer] = field(default_factory=list[Buffer])


@dataclass
class _Block:
    name: str
    iters: list[IterVar] = field(default_factory=list[IterVar])
    values: list[ExprLike] = field(default_factory=list[ExprLike])
    predicate: ExprLike = True
    reads: list[BufferRegion] | None = None
    writes: list[BufferRegion] | None = None
    init: Stmt | None = None
    allocs: list[Buffer] = field(default_factory=list[Buffer])
    annotations: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class _Branch:
    condition: ExprLike
    then: Stmt | None = None
    other: Stmt | None = None


class IRBuilder:
    """The builder that the functions of this module add to while it is active."""

    _entered: list[IRBuilder] = []

    def __init__(self) -> None:
        self.statements = _Statements()
        self.scopes: list[_Function | _Block | _Branch] = []
        self.functions: dict[str, BaseFunc] | None = None
        """Those of the module that is being built, by name; None outside of one."""
        self.module: dict[str, Any] = {}
        """The attributes and global infos of that module."""
        self._domains: dict[PrimExpr, tuple[ExprLike, ExprLike]] = {}
        self._result: Any = None

    def __enter__(self) -> IRBuilder:
        IRBuilder._entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        IRBuilder._entered.remove(self)

    @staticmethod
    def current() -> IRBuilder:
        """Return the innermost active builder. Raises `TiraxError` if there is none."""
        if not IRBuilder._entered:
            raise TiraxError("no IRBuilder is entered", hint="with IRBuilder() as ib: …")
        return IRBuilder._entered[-1]

    @staticmethod
    def is_in_scope() -> bool:
        """Return whether a builder is active."""
        return bool(IRBuilder._entered)

    @staticmethod
    def name(s: str, v: Any) -> Any:
        """Name a variable or a buffer `s`, and return it; a symbolic size is replaced by a new one."""
        if isinstance(v, variables.SizeVar):
            return variables.SizeVar(s, v.type)
        set_name(v.ssa, s)
        return v

    @staticmethod
    def name_many(s: Sequence[str], vs: Sequence[Any]) -> list[Any]:
        """Name several variables or buffers, and return them."""
        return [IRBuilder.name(name, value) for name, value in zip(s, vs, strict=True)]

    def loop(self, var: PrimExpr, least: ExprLike, end: ExprLike) -> None:
        """Note the domain of an open loop."""
        self._domains[var] = least, end

    def domain_of(self, var: Any) -> tuple[ExprLike, ExprLike]:
        """Return the domain of a loop variable. Raises `TiraxError` for other values."""
        if not isinstance(var, PrimExpr) or var not in self._domains:
            raise TiraxError("no loop has this variable", expected="a variable of an open loop", found=var)
        return self._domains[var]

    def get(self) -> Any:
        """Return the built function or module. Raises `TiraxError` before there is one."""
        if self._result is None:
            raise TiraxError("nothing was built", hint="with T.prim_func(): …")
        return self._result

    def finish(self, result: Any, name: str = "") -> None:
        """Finish a module or a function, which may be part of a module. Raises `TiraxError` for duplicate names."""
        if self.functions is None:
            self._result = result
        elif name in self.functions:
            raise TiraxError(f"the module has a function {name} already", hint="T.func_name, R.func_name: another name")
        else:
            self.functions[name] = result

    @contextmanager
    def gathered(self) -> Generator[dict[str, BaseFunc]]:
        """Collect the functions built in the body, by name. Raises `TiraxError` inside of a module or a function."""
        if self.functions is not None or self.scopes:
            raise TiraxError("a module does not stand inside of a module or a function")
        self.functions, self.module = {}, {}
        try:
            yield self.functions
        finally:
            self.functions = None

    def find(self, kind: type[Any], what: str) -> Any:
        """Return the innermost scope, which must be of a kind."""
        scope = self.scopes[-1] if self.scopes else None
        if not isinstance(scope, kind):
            raise TiraxError(f"T.{what} does not stand here", expected=f"inside of T.{_PLACES[kind]}")
        return scope

    def function(self) -> _Function:
        """Return the enclosing function."""
        if not self.scopes or not isinstance(self.scopes[0], _Function):
            raise TiraxError("no function is being built", hint="with T.prim_func(): …")
        return self.scopes[0]

    @contextmanager
    def scope(self, scope: _Function | _Block | _Branch, done: Callable[[Stmt], object]) -> Generator[None]:
        """Open a scope; `done` receives the statements added in it."""
        self.scopes.append(scope)
        try:
            with self.body(done):
                yield
        finally:
            self.scopes.pop()

    @contextmanager
    def body(self, done: Callable[[Stmt], object]) -> Generator[None]:
        """Open a scope of statements; `done` receives them."""
        outer, self.statements = self.statements, _Statements()
        try:
            yield
            body = self.statements.get()
        finally:
            self.statements = outer
        done(body)


_PLACES: dict[type[Any], str] = {_Function: "prim_func", _Block: "block", _Branch: "If"}


def _emit(stmt: Stmt | PrimExpr | Callable[[Stmt], Stmt]) -> None:
    IRBuilder.current().statements.emit(stmt)


# Functions


@contextmanager
def prim_func(is_private: bool = False) -> Generator[None]:
    """Build a tensor function."""
    builder, func = IRBuilder.current(), _Function(private=is_private)

    def done(body: Stmt) -> None:
        for buffer in reversed(func.allocs):
            body = DeclBuffer(buffer, body)
            cast(tir.AllocBufferOp, body.op).declared = False  # the block around the body allocates it
        attrs = func.attrs if func.private else {**func.attrs, "global_symbol": func.name}
        builder.finish(PrimFunc(func.params, body, func.ret_type, func.buffers, attrs), func.name)

    with builder.scope(func, done):
        yield


def func_name(name: str, is_private: bool = False) -> None:
    """Set the name of the function."""
    func = IRBuilder.current().function()
    func.name, func.private = name, func.private or is_private


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Set the attributes of the function."""
    IRBuilder.current().function().attrs.update(attrs)


def func_ret(ret_type: str) -> None:
    """Set the return dtype of the function."""
    IRBuilder.current().function().ret_type = ret_type


def arg(name: str, obj: Buffer | PrimExpr) -> Any:
    """Add a parameter, a buffer or a variable, and return it with its name."""
    named = IRBuilder.name(name, obj)
    IRBuilder.current().function().params.append(named)
    return named


def match_buffer(param: PrimExpr, shape: Any = None, dtype: str = "float32", **options: Any) -> Buffer:
    """Return the buffer that a pointer parameter refers to. Raises `TiraxError` without a shape."""
    if shape is None:
        raise TiraxError("a buffer of a parameter has a shape", hint="T.match_buffer(a, (16, 16))")
    buffer = decl_buffer(shape, dtype, "buffer", **options)
    IRBuilder.current().function().buffers[param] = buffer
    return buffer


def alloc_buffer(shape: Any, dtype: str = "float32", **options: Any) -> Buffer:
    """Allocate a buffer in the enclosing block or function."""
    buffer = decl_buffer(shape, dtype, "buffer", **options)
    builder = IRBuilder.current()
    blocks = [s for s in builder.scopes if isinstance(s, _Block)]
    (blocks[-1] if blocks else builder.function()).allocs.append(buffer)
    return buffer


# Loops and branches


@contextmanager
def _loop(kind: ForKind, start: ExprLike, stop: ExprLike | None, **options: Any) -> Generator[variables.Var]:
    low, high = tx.match_types(0 if stop is None else start, start if stop is None else stop)
    var = variables.Var("v", low.type)
    thread = options.pop("thread", None)
    extent = tx.simplified(high - low)
    binding = None if thread is None else IterVar(Range(0, extent), var, 1, thread)
    notes = options.get("annotations")

    def done(body: Stmt) -> None:
        _emit(For(var, low, extent, kind, body, binding, notes))

    IRBuilder.current().loop(var, low, high)
    with IRBuilder.current().body(done):
        yield var


def serial(start: ExprLike, stop: ExprLike | None = None, *, annotations: Any = None) -> Any:
    """Open a serial loop."""
    return _loop(ForKind.SERIAL, start, stop, annotations=annotations)


def parallel(start: ExprLike, stop: ExprLike | None = None, *, annotations: Any = None) -> Any:
    """Open a parallel loop."""
    return _loop(ForKind.PARALLEL, start, stop, annotations=annotations)


def vectorized(start: ExprLike, stop: ExprLike | None = None, *, annotations: Any = None) -> Any:
    """Open a vectorized loop."""
    return _loop(ForKind.VECTORIZED, start, stop, annotations=annotations)


def unroll(start: ExprLike, stop: ExprLike | None = None, *, annotations: Any = None) -> Any:
    """Open an unrolled loop."""
    return _loop(ForKind.UNROLLED, start, stop, annotations=annotations)


def thread_binding(
    start: ExprLike, stop: ExprLike | None = None, thread: str | None = None, *, annotations: Any = None
) -> Any:
    """Open a loop whose iterations are threads."""
    return _loop(ForKind.THREAD_BINDING, start, stop, thread=thread, annotations=annotations)


@contextmanager
def grid(*extents: ExprLike) -> Generator[Any]:
    """Open nested loops, and yield their variables."""
    if not extents:
        yield []
        return
    with serial(extents[0]) as first, grid(*extents[1:]) as rest:
        yield [first, *rest]


@contextmanager
def If(condition: ExprLike) -> Generator[None]:  # noqa: N802 (TVM's name)
    """Open a branch with the sides `Then` and `Else`."""
    branch = _Branch(condition)
    with IRBuilder.current().scope(branch, lambda _: None):
        yield
    if branch.then is None:
        raise TiraxError("T.If has no T.Then")
    _emit(IfThenElse(condition, branch.then, branch.other))


def Then() -> AbstractContextManager[None]:  # noqa: N802 (TVM's name)
    """Open the side of `If` for a true condition."""
    builder = IRBuilder.current()
    branch = builder.find(_Branch, "Then")
    return builder.body(lambda body: setattr(branch, "then", body))


def Else() -> AbstractContextManager[None]:  # noqa: N802 (TVM's name)
    """Open the side of `If` for a false condition."""
    builder = IRBuilder.current()
    branch = builder.find(_Branch, "Else")
    return builder.body(lambda body: setattr(branch, "other", body))


def While(condition: ExprLike) -> AbstractContextManager[None]:  # noqa: N802 (TVM's name)
    """Open a loop that runs while the condition is true."""
    return IRBuilder.current().body(lambda body: _emit(_While(condition, body)))


# Blocks


def handle(dtype: str | None = None, storage_scope: str = "global", *, is_size_var: bool = False) -> PrimExpr:
    """Return a pointer, as a parameter; `is_size_var` means nothing for it."""
    return variables.Var("handle", "handle")


@contextmanager
def block(name: str = "", no_realize: bool = False) -> Generator[None]:
    """Open a block."""
    frame = _Block(name)

    def done(body: Stmt) -> None:
        inner = Block(frame.iters, frame.reads or [], frame.writes or [], name, body, frame.init, frame.allocs,
                      annotations=frame.annotations)  # fmt: skip
        infer_regions(cast(tir.BlockOp, inner.op), reads=frame.reads is None, writes=frame.writes is None)
        _emit(BlockRealize(frame.values, frame.predicate, inner))

    with IRBuilder.current().scope(frame, done):
        yield


def init() -> AbstractContextManager[None]:
    """Open the init of a block, which runs at the first point of its reduction."""
    builder = IRBuilder.current()
    frame = builder.find(_Block, "init")
    return builder.body(lambda body: setattr(frame, "init", body))


def where(predicate: ExprLike) -> None:
    """Set the predicate of the block."""
    IRBuilder.current().find(_Block, "where").predicate = predicate


def reads(*regions: Any) -> None:
    """Set the reads of the block: `A[i, 0:4]`, or lists of regions."""
    IRBuilder.current().find(_Block, "reads").reads = _regions(regions)


def writes(*regions: Any) -> None:
    """Set the writes of the block."""
    IRBuilder.current().find(_Block, "writes").writes = _regions(regions)


def _regions(groups: Sequence[Any]) -> list[BufferRegion]:
    flat = [r for g in groups for r in (cast("list[Any]", g) if isinstance(g, Array | list | tuple) else [g])]
    return [r if isinstance(r, BufferRegion) else _region(r) for r in flat]


def _region(access: Any) -> BufferRegion:
    """Return the region of a full buffer or of a single element."""
    if isinstance(access, Buffer):
        return BufferRegion(access, [Range(0, tx.from_sym(d)) for d in access.type.dims])
    ranges: list[Range] = []
    for index in access.indices:
        lanes = getattr(index, "lanes", None)
        first = index if lanes is None else index.base
        ranges.append(Range.from_min_extent(first, tx.const(lanes or 1, first.type)))
    return BufferRegion(access.buffer, ranges)


def block_attr(attrs: Mapping[str, Any]) -> None:
    """Set the annotations of the block."""
    IRBuilder.current().find(_Block, "block_attr").annotations.update(attrs)


class axis:  # noqa: N801 (TVM's name)
    """`T.axis.spatial(extent, binding)` and related functions: the iterators of a block."""

    @staticmethod
    def _iterator(kind: int, dom: Any, binding: ExprLike, dtype: str) -> PrimExpr:
        frame = IRBuilder.current().find(_Block, "axis")
        ends = dom if isinstance(dom, tuple | list) else (0, dom)
        like = binding if isinstance(binding, PrimExpr) else None
        low, high = (tx.convert(e, like) for e in ends)
        wide = high.type if isinstance(binding, int) else tx.convert(binding).type
        var = variables.Var("v", wide if dtype == "int32" else dtype)
        frame.iters.append(IterVar(Range(low.astype(var.type), high.astype(var.type)), var, kind))
        frame.values.append(tx.convert(binding, var).astype(var.type))
        return var

    @staticmethod
    def spatial(dom: Any, binding: ExprLike, dtype: str = "int32") -> PrimExpr:
        return axis._iterator(IterVar.DataPar, dom, binding, dtype)

    @staticmethod
    def reduce(dom: Any, binding: ExprLike, dtype: str = "int32") -> PrimExpr:
        return axis._iterator(IterVar.CommReduce, dom, binding, dtype)

    @staticmethod
    def scan(dom: Any, binding: ExprLike, dtype: str = "int32") -> PrimExpr:
        return axis._iterator(IterVar.Ordered, dom, binding, dtype)

    @staticmethod
    def opaque(dom: Any, binding: ExprLike, dtype: str = "int32") -> PrimExpr:
        return axis._iterator(IterVar.Opaque, dom, binding, dtype)

    S, R = spatial, reduce

    @staticmethod
    def remap(kinds: str, bindings: Sequence[ExprLike], dtype: str = "int32") -> list[PrimExpr]:
        """Return iterators over the domains of loop variables, by letters of their kinds: `"SR"`."""
        makers = {"S": axis.spatial, "R": axis.reduce}
        if len(kinds) != len(bindings) or not set(kinds) <= set(makers):
            raise TiraxError("a letter for each binding", expected="S or R", found=kinds)
        builder = IRBuilder.current()
        return [
            makers[kind](builder.domain_of(binding), binding, dtype)
            for kind, binding in zip(kinds, bindings, strict=True)
        ]


# Other expressions


def comm_reducer(combiner: Callable[..., Any], identity: Sequence[PrimExpr]) -> Reducer:
    """Return a reducer from a function of both sides' values, and the values that it leaves as they are."""
    return reducer(combiner, lambda *_: tuple(identity) if len(identity) > 1 else identity[0])


def greater(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the greater of two values."""
    return tx.maximum(a, b)


def lesser(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the lesser of two values."""
    return tx.minimum(a, b)


def var(dtype: str, name: str = "") -> PrimExpr:
    """Return a variable."""
    return variables.Var(name or "v", dtype)


def buffer_var(dtype: str, storage_scope: str = "global") -> PrimExpr:
    """Return a pointer to elements of a dtype."""
    return pointer_variable(dtype, storage_scope)


def void(expr: ExprLike | None = None, *, is_size_var: bool = False) -> PrimExpr:
    """Return a variable without a type, or an expression whose value is dropped."""
    return variables.Var("v", "void") if expr is None else tx.convert(expr).astype("void")


# Other statements


def buffer_store(buffer: Buffer, value: ExprLike, indices: Any, predicate: PrimExpr | None = None) -> None:
    """Emit `buffer[indices] = value`."""
    index_list = list(indices) if isinstance(indices, list | tuple) else [indices]
    dtype = buffer.type.dtype
    stored = value.astype(dtype) if isinstance(value, PrimExpr) and isinstance(dtype, IntegerType) else value
    _emit(BufferStore(buffer, stored, index_list, predicate))


def evaluate(value: ExprLike) -> None:
    """Emit the evaluation of an expression for its side effects."""
    _emit(Evaluate(value))


@contextmanager
def Assert(condition: ExprLike, message: str) -> Generator[None]:  # noqa: N802 (TVM's name)
    """Open a scope of statements that run if the condition is true; otherwise the function fails."""
    with IRBuilder.current().body(lambda body: _emit(AssertStmt(condition, message, body))):
        yield


@contextmanager
def LetStmt_(  # noqa: N802 (TVM's name)
    value: ExprLike, type_annotation: Type | None = None, *, var: PrimExpr | None = None
) -> Generator[PrimExpr]:
    """Open a scope of statements in which a variable has a value; by default one of the type of the annotation."""
    bound = tx.convert(value)
    dtype = type_annotation.dtype if isinstance(type_annotation, PrimType) else bound.type
    name = variables.Var("v", dtype) if var is None else var
    with IRBuilder.current().body(lambda body: _emit(LetStmt(name, bound, body))):
        yield name


@contextmanager
def attr(node: Any, attr_key: str, value: ExprLike | str) -> Generator[None]:
    """Open a scope of statements with an attribute."""
    with IRBuilder.current().body(lambda body: _emit(AttrStmt(node, attr_key, value, body))):
        yield


@contextmanager
def allocate(
    extents: Sequence[ExprLike],
    dtype: str,
    scope: str = "global",
    condition: ExprLike | None = None,
    annotations: Any = None,
) -> Generator[PrimExpr]:
    """Open a scope of statements with memory that is allocated, if the condition holds."""
    address = variables.Var("data", "handle")
    where = True if condition is None else condition
    with IRBuilder.current().body(lambda body: _emit(Allocate(address, dtype, extents, where, body, annotations))):
        yield address


@contextmanager
def decl_buffer_(shape: Any, dtype: str = "float32", data: PrimExpr | None = None, **options: Any) -> Generator[Buffer]:
    """Open a scope of statements with a declared buffer, optionally at an address."""
    buffer = decl_buffer(shape, dtype, "buffer", **options)
    with IRBuilder.current().body(lambda body: _emit(DeclBuffer(buffer, body, data=data))):
        yield buffer
