"""Statements of a prim_func."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerType, i1
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from ...dialects import tir
from ...dialects.dtypes import dtype_name, is_float
from ...dialects.names import name_of, set_name
from ...dialects.sym.expr import Const, SymExpr, Var, i32, i64
from ...dialects.tir import ForKind, IterKind
from ...dialects.tir.types import HANDLE, HandleType
from ...ir.affine.values import Materializer
from ...ir.buffers.regions import infer_regions
from ...ir.rewriting.walk import has_root_block
from ...ir.verification.as_written import remember
from .attributes import attribute_dict, plain_value, renumbered
from .evaluator import refuse
from .folding import OPERATORS, as_sym, is_constant
from .scope import Environment, Scope
from .source import Source
from .tir_attributes import TirAttributes
from .tir_buffers import BUFFER_CALLS
from .tir_calls import dtype_by_name
from .tir_expr import element, lanes
from .tir_frames import (
    BlockFrame,
    Bound,
    Loop,
    check_plain_parameters,
    constant_domain,
    erase_unused,
    without_symbol,
)
from .tir_functions import TirModule
from .tir_reduce import CommReducer
from .tir_unsupported import unsupported
from .values import Access, Builtin, CallSite, EnvThread, FreshVar, MetaVar, ModuleRef, Ref, describe, free_value

_ITER_KINDS = {
    "spatial": IterKind.SPATIAL,
    "S": IterKind.SPATIAL,
    "reduce": IterKind.REDUCE,
    "R": IterKind.REDUCE,
    "scan": IterKind.SCAN,
    "opaque": IterKind.OPAQUE,
}
_REMAP_KINDS = {"S": IterKind.SPATIAL, "R": IterKind.REDUCE}
_LOOPS = {
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorized": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
    "thread_binding": ForKind.THREAD_BINDING,
}


class TirParser(TirAttributes):
    """Reads one prim_func."""

    def __init__(self, source: Source, environment: Environment, module: TirModule | None = None):
        super().__init__(source, Scope(environment))
        self.module = module
        self.loops: dict[SSAValue, tuple[Bound, Bound]] = {}
        self.blocks: list[BlockFrame] = []
        self.attrs: DictionaryAttr | None = None
        self.ret_type: Attribute | None = None

    def parse(self, function: ast.FunctionDef, *, private: bool = False) -> tir.FuncOp:
        """The function as an op. Raises `ScriptError` or another located `TiraxError`."""
        self.check_names(function)
        self.function = function
        self._parameters(function.args)
        self.body(function.body)
        erase_unused(self.entry)
        names = self._handle_names()
        attrs = self.attrs if private else without_symbol(self.attrs, function.name)
        op = tir.FuncOp(
            function.name,
            Region(self.entry),
            private=private,
            attrs=attrs,
            handle_names=names,
            ret_type=self.ret_type,
        )
        op.location = self.source.attr(function)
        if self.ret_type is not None and function.returns is None:
            remember(op).declared = tir.VOID
        return op

    # Parameters

    def _parameters(self, arguments: ast.arguments) -> None:
        check_plain_parameters(self.source, arguments)
        given = [(a, a.annotation) for a in arguments.args]
        types: list[Attribute | None] = [self._scalar_parameter(a, n) for a, n in given]
        for i, (arg, annotation) in enumerate(given):
            dtype = types[i]
            if dtype is None:
                dtype = self._buffer_parameter(arg, annotation)
            value = self.entry.insert_arg(dtype, i, self.source.attr(arg))
            set_name(value, arg.arg)
            if isinstance(dtype, HandleType):
                self.handles[i] = arg.arg
            if dtype in (i32, i64):
                self.scalars[Var(arg.arg, cast(IntegerType, dtype))] = value
            else:
                self.scope.define(arg.arg, value)

    def _scalar_parameter(self, arg: ast.arg, annotation: ast.expr | None) -> Attribute | None:
        """The type of a scalar or handle; integers are known by name to the shapes of all buffers."""
        if annotation is None:
            raise self.error(arg, f"parameter '{arg.arg}' has no type", expected="T.handle, T.Buffer(…) or T.int32, …")
        if isinstance(annotation, ast.Call):
            target = self.visit(annotation.func)
            if target == Ref("tir", "handle"):
                return cast(FreshVar, self.visit(annotation)).dtype
            return None
        found = self.visit(annotation)
        dtype = dtype_by_name(found.path) if isinstance(found, Ref) and found.dialect == "tir" else None
        if isinstance(found, Ref) and found.path == "handle":
            return HANDLE
        if dtype is None:
            raise self.error(
                annotation, "a parameter's type is expected", expected="T.handle, T.Buffer(…) or T.int32, …"
            )
        if dtype in (i32, i64):
            self.scope.define(arg.arg, Var(arg.arg, cast(IntegerType, dtype)))
        return dtype

    def _buffer_parameter(self, arg: ast.arg, annotation: ast.expr | None) -> Attribute:
        found = self.visit(cast(ast.expr, annotation))
        if not isinstance(found, tir.BufferType):
            raise self.error(cast(ast.expr, annotation), f"the type of parameter '{arg.arg}' is not known")
        return found

    def _handle_names(self) -> list[str] | None:
        """Names of the handles, or None where they are what the printer would make up."""
        if not self.handles:
            return None
        names: list[str] = []
        usual: list[str] = []
        for i, value in enumerate(self.entry.args):
            own = name_of(value) or ""
            made = f"var_{own}" if isinstance(value.type, tir.BufferType) else own
            usual.append(made)
            names.append(self.handles.get(i, made))
        return None if names == usual else names

    # Statements

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Read statements into the current block."""
        for i, statement in enumerate(statements):
            opened = self.opened(statement)
            if opened is not None:
                with opened:
                    self.body(statements[i + 1 :])
                return
            visitor = self.visitors.get(type(statement))
            if visitor is None:
                raise refuse(self.source, statement, "a prim_func")
            self.statement(visitor, statement)

    def statement(self, visitor: Callable[..., None], node: ast.stmt) -> None:
        """Read a statement."""
        with self.source.located(node):
            visitor(self, node)

    def _sub_body(self, statements: Sequence[ast.stmt]) -> Region:
        block = Block()
        with self.into(block):
            self.body(statements)
        return Region(block)

    def _pass(self, node: ast.Pass | ast.Nonlocal) -> None:
        """Nothing; `nonlocal n` captures a name for Python, which is captured anyway."""

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.error(node, "only one target may be assigned")
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            self._store(target, self.visit(node.value), node)
        else:
            self.assign(target, self.visit(node.value), node)

    def assign(self, target: ast.expr, value: Any, node: ast.AST) -> None:
        """Give `value` to a name, or the elements of a tuple to several."""
        if isinstance(target, ast.Tuple | ast.List):
            items = cast("list[Any]", list(value)) if isinstance(value, tuple | list) else [value]
            if len(items) != len(target.elts):
                raise self.error(
                    node, "the numbers of names and values differ", expected=len(target.elts), found=len(items)
                )
            for name, item in zip(target.elts, items, strict=True):
                self.assign(name, item, node)
        elif isinstance(target, ast.Name):
            self._check_new(target.id, node)
            self.scope.define(target.id, self._named(target.id, value, node))
        else:
            raise self.error(target, "this cannot be assigned", expected="a name or an element of a buffer")

    def _check_new(self, name: str, node: ast.AST) -> None:
        """Refuse a second meaning for a buffer or an iterator of the block that is being read."""
        known = self.scope.innermost(name)
        if not isinstance(known, SSAValue):
            return
        iterator = bool(self.blocks) and any(known is a for a in self.block.args)
        if iterator or isinstance(known.type, tir.BufferType) and not isinstance(known, BlockArgument):
            what = "an iterator of this block" if iterator else "a buffer"
            raise self.error(node, f"'{name}' is {what} already", hint="give it another name")

    def _named(self, name: str, value: Any, node: ast.AST) -> Any:
        """What a name stands for after `name = value`; an expression becomes a let."""
        if isinstance(value, MetaVar):
            return value.value
        if isinstance(value, FreshVar):
            if value.dtype not in (i32, i64):
                return FreshVar(value.dtype, name)  # a name for T.Let
            return Var(name, cast(IntegerType, value.dtype))
        if isinstance(value, tir.BufferType):
            return free_value(value, name)
        if isinstance(value, SSAValue) and self._is_definition(value):
            if name_of(value) is None:
                set_name(value, name)
            return value
        plain = is_constant(value) and not isinstance(value, int | float)
        if plain or isinstance(value, ModuleRef | Ref | CommReducer | EnvThread | tuple | list | dict):
            return value
        let = self.emit(tir.LetOp(self.expr(value, node)), node)
        set_name(let, name)
        return let

    def _is_definition(self, value: SSAValue) -> bool:
        """Whether a value needs no let: buffers, and the iterators of the innermost block."""
        if isinstance(value.type, tir.BufferType):
            return True
        if isinstance(value.owner, tir.LetOp | tir.AllocateOp) and name_of(value) is None:
            return True
        return bool(self.blocks) and any(value is a for a in self.block.args) and name_of(value) is None

    def _annotated(self, node: ast.AnnAssign) -> None:
        found = self.visit(node.annotation)
        if isinstance(found, FreshVar):
            dtype: Attribute | None = found.dtype
        else:
            dtype = dtype_by_name(found.path) if isinstance(found, Ref) else None
        if isinstance(found, Ref) and found.path == "handle":
            dtype = HANDLE
        if dtype is None:
            raise self.error(node.annotation, "a data type is expected", expected="T.int32, T.float32, …")
        if node.value is None:
            self.assign(node.target, FreshVar(dtype), node)
            return
        value = self.visit(node.value)
        imm = self.imm(value)
        if imm is not None and (is_float(dtype) or not is_float(imm.dtype)):
            value = self.cast(value, dtype, node)
        given = self.type_of(value, node)
        if given != dtype:
            if not (isinstance(given, HandleType) and isinstance(dtype, HandleType)):
                raise self.error(node.value, "the value is not of the annotated type", expected=dtype, found=given)
            value = self.emit(tir.LetOp(self.expr(value, node), dtype), node)
        self.assign(node.target, self.expr(value, node) if isinstance(value, Access) else value, node)

    def _augmented(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Subscript):
            raise self.error(
                node, "a variable cannot be changed", hint="use an element of a buffer, or give the result another name"
            )
        load = ast.Subscript(node.target.value, node.target.slice, ast.Load())
        ast.copy_location(load, node.target)
        old = self.load(cast(Access, self.visit(load)))
        self._store(node.target, self.operate(OPERATORS[type(node.op)], old, self.visit(node.value), node), node)

    def _store(self, target: ast.Subscript, value: Any, node: ast.AST) -> None:
        buffer = self.buffer(self.visit(target.value), target, "what is stored into")
        self.store(buffer, self.subscripts(target), value, node, target)

    def store(
        self, buffer: SSAValue, indices: tuple[Any, ...], value: Any, node: ast.AST, target: ast.AST | None = None
    ) -> None:
        """Store a value, converted to what the buffer holds; with a warning where a float loses its fraction."""
        value = self.load(value) if isinstance(value, Access) else value
        access = self.subscript_of(buffer, indices, target or node)
        places = self.indices(access)
        wanted = tir.element_type(buffer, places)
        given = self.type_of(value, node)
        if is_float(element(given)) and not is_float(element(wanted)):
            text = f"a {dtype_name(given)} is stored into a buffer of {dtype_name(wanted)}: its fraction is lost"
            warnings.warn(f"{self.source.place(node)}: {text}", stacklevel=2)
        if lanes(given) not in (1, lanes(wanted)):
            raise self.error(
                node, "the vector has another length than its place", expected=lanes(wanted), found=lanes(given)
            )
        self.emit(tir.StoreOp(self.cast(value, wanted, node), buffer, places), node)

    def _expression(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        value = self.visit(node.value)
        if value is not None:
            self.emit(tir.EvaluateOp(self.expr(value, node)), node)

    def _if(self, node: ast.If) -> None:
        cond = self.visit(node.test)
        if isinstance(cond, bool):
            self.body(node.body if cond else node.orelse)
            return
        value = self.condition(cond, node.test)
        then_region = self._sub_body(node.body)
        else_region = self._sub_body(node.orelse) if node.orelse else None
        self.emit(tir.IfOp(value, then_region, else_region), node)

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.error(node, "while … else is not part of TVMScript")
        block = Block()
        with self.into(block):
            value = self.condition(self.visit(node.test), node.test)
            self.emit(tir.YieldOp(value), node.test)
        self.emit(tir.WhileOp(Region(block), self._sub_body(node.body)), node)

    def _assert(self, node: ast.Assert) -> None:
        message = "" if node.msg is None else self.visit(node.msg)
        self._emit_assert(self.visit(node.test), message, node)

    def _emit_assert(self, cond: Any, message: Any, node: ast.AST) -> None:
        if not isinstance(message, str):
            raise self.error(node, "the message of an assertion is a string", found=describe(message))
        self.emit(tir.AssertOp(self.condition(cond, node), message), node)

    def _return(self, node: ast.Return) -> None:
        if node.value is None:
            raise self.error(node, "return needs a value in a prim_func")
        self.emit_return(self.visit(node.value), node)

    def emit_return(self, value: Any, node: ast.AST) -> None:
        """The result of the function: only at its end, not inside of a loop or block."""
        if self.block is not self.entry:
            raise self.error(node, "a prim_func can only return at its end, outside of loops and blocks")
        result = self.expr(value, node)
        self.ret_type = result.type
        self.emit(tir.ReturnOp(result), node)

    # Loops

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            raise self.error(node, "for … else is not part of TVMScript")
        if not isinstance(node.iter, ast.Call):
            raise self.error(node.iter, "a loop runs over a range", expected="range(n), T.grid(n, m), T.serial(n), …")
        target = self.visit(node.iter.func)
        site = self.call_site(node.iter, target)
        loops = self._loops(target, site)
        self._nest(loops, node)

    def _loops(self, target: Any, site: CallSite) -> list[Loop]:
        if target == Ref("tir", "grid"):
            if site.kwargs or not site.args:
                raise site.error("T.grid takes extents only")
            return [self._loop(*self._pair(extent), site) for extent in site.args]
        if target == Builtin("range"):
            start, stop, notes = site.bind("start stop= annotations=")
            annotations = attribute_dict(self.source, site.node, notes) if notes else None
            return [self._loop(start, stop, site, annotations=annotations)]
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
        annotations = attribute_dict(self.source, site.node, notes) if notes else None
        return [self._loop(start, stop, site, kind, thread, annotations)]

    @staticmethod
    def _pair(extent: Any) -> tuple[Any, Any]:
        if isinstance(extent, tuple | list):
            pair = cast("tuple[Any, ...]", extent)
            if len(pair) == 2:
                return pair[0], pair[1]
        return extent, None

    def _loop(
        self,
        start: Any,
        stop: Any,
        site: CallSite,
        kind: ForKind = ForKind.SERIAL,
        thread: str | None = None,
        annotations: DictionaryAttr | None = None,
    ) -> Loop:
        if stop is None:
            extent = self._bound(start, site)
            return Loop(Const(0, self._int_type(extent, site)), extent, kind, thread, annotations)
        least, extent = self._bound(start, site), self._distance(start, stop, site)
        types = [self._int_type(b, site) for b in (least, extent)]
        wide = max(types, key=lambda t: t.width.data)
        least, extent = (self._widened(b, wide, site.node) for b in (least, extent))
        return Loop(least, extent, kind, thread, annotations)

    def _distance(self, start: Any, stop: Any, site: CallSite) -> Bound:
        """`stop - start`, simplified as TVM does it."""
        first, end = (self._end(v, site) for v in (start, stop))
        extent = end - first
        if all(isinstance(v.name, str) for v in extent.free_vars()):
            return extent
        return Materializer(lambda op: self.emit(op, site.node))(extent)

    def _end(self, value: Any, site: CallSite) -> SymExpr:
        """A bound of a loop; what is computed in few bits, or unsigned, wraps around, and is no sum."""
        wraps = isinstance(value, SSAValue) and isinstance(value.type, IntegerType) and value.type not in (i1, i32, i64)
        return Var(value, cast(IntegerType, value.type)) if wraps else self.int_expr(value, site.node)

    def _bound(self, value: Any, site: CallSite) -> Bound:
        found = as_sym(value, default=i32)
        return self.as_index(self.expr(value, site.node), site.node) if found is None else found

    def _int_type(self, bound: Bound, site: CallSite) -> IntegerType:
        t = bound.dtype if isinstance(bound, SymExpr) else bound.type
        if not isinstance(t, IntegerType):
            raise site.error("a bound of a loop must be an integer", found=t)
        return t

    def _widened(self, bound: Bound, dtype: IntegerType, node: ast.AST) -> Bound:
        if isinstance(bound, SSAValue):
            return self.cast(bound, dtype, node)
        if isinstance(bound, Const):
            return Const(bound.value, dtype)
        return bound if bound.dtype == dtype else self.cast(bound, dtype, node)

    def _loop_targets(self, target: ast.expr, count: int) -> list[tuple[str, int | None]]:
        """The names of as many loops, each for one, or for a number of them: all of several, or those left, `*rest`."""
        targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        wide = [t for t in targets if isinstance(t, ast.Starred) or t is target and count != 1]
        rest = count - len(targets) + 1
        if len(wide) > 1 or rest != 1 and not (wide and rest >= 0):
            raise self.error(
                target, "the numbers of loop variables and loops differ", expected=count, found=len(targets)
            )
        found: list[tuple[str, int | None]] = []
        for each in targets:
            name = each.value if isinstance(each, ast.Starred) else each
            if not isinstance(name, ast.Name):
                raise self.error(each, "a loop variable is a name")
            found.append((name.id, rest if each in wide else None))
        return found

    def _nest(self, loops: list[Loop], node: ast.For) -> None:
        bodies: list[Block] = []
        outer = self.block
        with self.scope.frame():
            targets = self._loop_targets(node.target, len(loops))
            names = [n for name, size in targets for n in _numbered(name, size)]
            for loop, name in zip(loops, names, strict=True):
                dtype = loop.extent.dtype if isinstance(loop.extent, SymExpr) else loop.extent.type
                body = Block(arg_types=[dtype])
                var = body.args[0]
                set_name(var, name)
                self.loops[var] = (loop.least, loop.extent)
                bodies.append(body)
            variables = iter([b.args[0] for b in bodies])
            for name, size in targets:
                self.scope.define(name, next(variables) if size is None else list(islice(variables, size)))
            self.block = bodies[-1]
            try:
                self.body(node.body)
            finally:
                self.block = outer
        inner: tir.ForOp | None = None
        for loop, body in zip(reversed(loops), reversed(bodies), strict=True):
            if inner is not None:
                body.add_op(inner)
            inner = tir.ForOp(
                loop.least, loop.extent, Region(body), loop.kind, thread=loop.thread, annotations=loop.annotations
            )
            inner.location = self.source.attr(node)
        self.emit(cast(tir.ForOp, inner), node)

    # Blocks

    def _with(self, node: ast.With) -> None:
        self._with_items(node.items, node)

    def _with_items(self, items: Sequence[ast.withitem], node: ast.With) -> None:
        if not items:
            self.body(node.body)
            return
        call = items[0].context_expr
        target = self.visit(call.func) if isinstance(call, ast.Call) else None
        enter = self.contexts.get(target.path) if isinstance(target, Ref) and target.dialect == "tir" else None
        if enter is None or not isinstance(call, ast.Call):
            missing = unsupported(self.source, call, target.path) if isinstance(target, Ref) else None
            if missing is not None:
                raise missing
            known = ", ".join(f"T.{n}" for n in self.contexts)
            raise self.error(call, "'with' cannot be used so", expected=known, found=describe(target))
        with enter(self, call, items[0].optional_vars):
            self._with_items(items[1:], node)

    @contextmanager
    def _block(self, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
        if target is not None:
            raise self.error(target, "a block has no value", hint="write 'with T.block(…):', without 'as'")
        name, *_ = self.call_site(node, Ref("tir", "block")).bind("name= no_realize=")
        if name is not None and not isinstance(name, str):
            raise self.error(node, "the name of a block is a string", found=describe(name))
        root = name == "root" and self.block is self.entry and not self.blocks
        frame = BlockFrame(self.block, root=root)
        body = Block()
        self.blocks.append(frame)
        with self.into(body):
            yield
        self.blocks.pop()
        if root:
            self._end_root(frame, body, node)
            return
        op = tir.BlockOp(
            name or "", frame.iters, Region(body), predicate=frame.predicate, annotations=frame.annotations
        )
        self.emit(op, node)
        infer_regions(op, reads="reads" not in frame.given, writes="writes" not in frame.given)
        if frame.noted:
            self._note_buffers(op, frame, node)

    def _note_buffers(self, op: tir.BlockOp, frame: BlockFrame, node: ast.Call) -> None:
        """Buffers that annotations name are those of regions that the block reads."""
        places = {region.buffer: k for k, region in enumerate(op.reads)}
        if any(b not in places for b in frame.noted):
            raise self.source.error(node, "an annotation names a buffer that the block does not read")
        annotations = cast(DictionaryAttr, frame.annotations)
        op.properties["annotations"] = renumbered(annotations, [places[b] for b in frame.noted])

    def _end_root(self, frame: BlockFrame, body: Block, node: ast.Call) -> None:
        """The root block is implicit unless it has annotations, or TVM would not put one there."""
        if frame.annotations is not None or not has_root_block(list(body.ops)):
            self.emit(tir.BlockOp("root", [], Region(body), annotations=frame.annotations), node)
            return
        for op in list(body.ops):
            op.detach()
            if not isinstance(op, tir.RegionOp):
                self.block.add_op(op)

    @contextmanager
    def _init(self, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
        if not self.blocks or self.blocks[-1].root:
            raise self.error(node, "T.init stands in a block only")
        if any(isinstance(op, tir.InitOp) for op in self.block.ops):
            raise self.error(node, "T.init stands once in a block")
        body = Block()
        with self.into(body):
            yield
        self.emit(tir.InitOp(Region(body)), node)

    @contextmanager
    def _let(self, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
        """`with T.LetStmt(value) as x:` or `with T.let(x, value):`"""
        site_name = cast(Ref, self.visit(node.func)).path
        names = self.call_site(node, Ref("tir", site_name)).bind(
            "value var=" if site_name == "LetStmt" else "var value"
        )
        value, var = names if site_name == "LetStmt" else reversed(names)
        with self.scope.frame():
            if target is not None:
                self.assign(target, self.expr(value, node), node)
            elif isinstance(var, Var | FreshVar):
                given = [n for n in (*node.args, *(k.value for k in node.keywords)) if isinstance(n, ast.Name)]
                name = next(n.id for n in given if self.scope.lookup(n.id) is var)
                let = self.emit(tir.LetOp(self.cast(value, var.dtype, node)), node)
                set_name(let, name)
                self.scope.define(name, let)
            else:
                raise self.error(node, "the variable is missing", expected="with T.LetStmt(value) as x:")
            yield

    @contextmanager
    def _assert_context(self, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
        cond, message = self.call_site(node, Ref("tir", "Assert")).bind("condition message")
        self._emit_assert(cond, message, node)
        yield

    @contextmanager
    def _buffer_context(self, node: ast.Call, target: ast.expr | None) -> Iterator[None]:
        with self.scope.frame():
            value = self.visit(node)
            if target is not None:
                self.assign(target, value, node)
            yield

    contexts: ClassVar[dict[str, Callable[..., AbstractContextManager[None]]]] = {
        "block": _block,
        "init": _init,
        "attr": TirAttributes.attr_context,
        "launch_thread": TirAttributes.launch_context,
        "LetStmt": _let,
        "let": _let,
        "Assert": _assert_context,
        "decl_buffer": _buffer_context,
        "alloc_buffer": _buffer_context,
        "allocate": _buffer_context,
        "allocate_const": _buffer_context,
    }

    def frame(self, node: ast.AST, what: str, *, root: bool = False) -> BlockFrame:
        """The innermost block, for something that stands in blocks only; may it be the `root` block?"""
        if not self.blocks or (self.blocks[-1].root and not root):
            raise self.error(node, f"{what} stands in a block only", hint='write it below: with T.block("name"):')
        return self.blocks[-1]

    def outside(self, frame: BlockFrame, node: ast.Call) -> CallSite:
        """The arguments of a call, computed outside of the block."""
        inner, self.block = self.block, frame.outer
        try:
            return self.call_site(node, self.visit(node.func))
        finally:
            self.block = inner

    def axis(self, node: ast.Call) -> SSAValue:
        """`T.axis.spatial(extent, binding)` and its kin."""
        frame = self.frame(node, "T.axis")
        kind = _ITER_KINDS[cast(Ref, self.visit(node.func)).path.removeprefix("axis.")]
        site = self.outside(frame, node)
        dom, binding, _ = site.bind("dom binding dtype=")
        low, high = self._pair(dom)
        least, extent = self.dim(low, node), self.dim(low if high is None else high, node)
        if high is None:
            least = Const(0, extent.dtype)
        return self._iterator(frame, kind, binding, (least, extent - least if high is not None else extent), node)

    def remap(self, node: ast.Call) -> Any:
        """`T.axis.remap("SR", [i, k])`: iterators that are loop variables."""
        frame = self.frame(node, "T.axis.remap")
        kinds, bindings = self.outside(frame, node).bind("kinds bindings")
        if not (isinstance(kinds, str) and isinstance(bindings, tuple | list)):
            raise self.error(node, "kinds and loop variables are expected", expected='T.axis.remap("SR", [i, k])')
        values = cast("list[Any]", list(bindings))
        if len(kinds) != len(values):
            raise self.error(
                node, "the numbers of kinds and loop variables differ", expected=len(kinds), found=len(values)
            )
        found: list[SSAValue] = []
        for letter, value in zip(kinds, values, strict=True):
            kind = _REMAP_KINDS.get(letter)
            bounds = self.loops.get(value) if isinstance(value, SSAValue) else None
            if kind is None or bounds is None:
                what = f"kind '{letter}'" if kind is None else describe(value)
                raise self.error(
                    node, "this cannot be remapped", expected="kinds S and R of loop variables", found=what
                )
            domain = constant_domain(*bounds, self.loops)
            if domain is None:
                raise self.error(
                    node,
                    f"the extent of loop '{name_of(value)}' depends on computed values, so it is no domain of a block",
                    hint="give the domain: T.axis.spatial(extent, i), and T.where(…)",
                )
            found.append(self._iterator(frame, kind, value, domain, node))
        return found[0] if len(found) == 1 else found

    def _iterator(
        self, frame: BlockFrame, kind: IterKind, binding: Any, domain: tuple[SymExpr, SymExpr], node: ast.AST
    ) -> SSAValue:
        body, self.block = self.block, frame.outer
        try:
            dtype = domain[1].dtype
            number = as_sym(binding, domain[1])
            value = self.expr(binding, node) if number is None else self.cast(binding, number.dtype, node)
            given = value.type
            if not isinstance(given, IntegerType):
                raise self.error(node, "a binding must be an integer", found=given)
            if given.width.data < dtype.width.data:
                value = self.cast(binding if number is not None else value, dtype, node)
            value = self.as_index(value, node)
        finally:
            self.block = body
        frame.iters.append((kind, value, domain))
        return body.insert_arg(value.type, len(body.args), self.source.attr(node))

    def where(self, node: ast.Call) -> None:
        """`T.where(condition)`, computed outside of the block."""
        frame = self.frame(node, "T.where")
        (cond,) = self.outside(frame, node).bind("predicate")
        if "where" in frame.given:
            raise self.error(node, "T.where stands once in a block", hint="join the conditions with T.And")
        frame.given.add("where")
        if plain_value(cond) is True:
            return
        inner, self.block = self.block, frame.outer
        try:
            frame.predicate = self.condition(cond, node)
        finally:
            self.block = inner

    special = {
        **TirAttributes.special,
        **dict.fromkeys([("tir", f"axis.{name}") for name in _ITER_KINDS], axis),
        ("tir", "axis.remap"): remap,
        ("tir", "where"): where,
    }

    def call_ref(self, target: Ref, site: CallSite) -> Any:
        found = None
        if target.dialect == "tir":
            found = BUFFER_CALLS.get(target.path) or self.statements.get(target.path)
        return super().call_ref(target, site) if found is None else found(self, site)

    def _regions(self, site: CallSite) -> None:
        kind = site.name.rpartition(".")[2]
        frame = self.frame(site.node, site.name, root=True)
        if kind in frame.given:
            raise site.error(
                "what a block reads, and what it writes, is given once", hint="list all regions in one call"
            )
        frame.given.add(kind)
        cls = tir.ReadsOp if kind == "reads" else tir.WritesOp
        args = site.args
        if len(args) == 1 and isinstance(args[0], tuple | list):
            args = cast("list[Any]", list(args[0]))
        for value in args:
            self.emit(cls(*self.region(value, site.node, widened=True)), site.node)

    def _func_attr(self, site: CallSite) -> None:
        if self.attrs is not None:
            raise site.error("the attributes of a function are given once")
        self.attrs = attribute_dict(self.source, site.node, site.bind("attrs")[0])

    def _block_attr(self, site: CallSite) -> None:
        frame = self.frame(site.node, site.name, root=True)
        if frame.annotations is not None:
            raise site.error("the annotations of a block are given once", hint="list all in one dictionary")
        noted = None if frame.root else frame.noted
        frame.annotations = attribute_dict(self.source, site.node, site.bind("attrs")[0], noted)

    def _evaluate(self, site: CallSite) -> None:
        (value,) = site.bind("value")
        if value is not None:
            self.emit(tir.EvaluateOp(self.expr(value, site.node)), site.node)

    def _let_statement(self, site: CallSite) -> SSAValue:
        return self.emit(tir.LetOp(self.expr(site.bind("value")[0], site.node)), site.node)

    def _assert_statement(self, site: CallSite) -> None:
        cond, message = site.bind("condition message")
        self._emit_assert(cond, message, site.node)

    def _buffer_store(self, site: CallSite) -> None:
        """`T.buffer_store(A, value, [i, j])`"""
        buffer, value, indices = site.bind("buffer value indices")
        self.store(self.buffer(buffer, site.node), tuple(indices), value, site.node)

    def _ret(self, site: CallSite) -> None:
        self.emit_return(site.bind("value")[0], site.node)

    statements: ClassVar[dict[str, Callable[..., Any]]] = {
        "reads": _regions,
        "writes": _regions,
        "func_attr": _func_attr,
        "block_attr": _block_attr,
        "evaluate": _evaluate,
        "ret": _ret,
        "LetStmt": _let_statement,
        "Assert": _assert_statement,
        "buffer_store": _buffer_store,
    }
    visitors: ClassVar[dict[type[ast.stmt], Callable[..., None]]] = {
        ast.Pass: _pass,
        ast.Nonlocal: _pass,
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.AugAssign: _augmented,
        ast.Expr: _expression,
        ast.If: _if,
        ast.While: _while,
        ast.Assert: _assert,
        ast.Return: _return,
        ast.For: _for,
        ast.With: _with,
        ast.FunctionDef: TirAttributes.define_macro,
    }


def _numbered(name: str, size: int | None) -> list[str]:
    return [name] if size is None else [f"{name}_{i}" for i in range(size)]
