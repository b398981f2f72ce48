"""Lower symbolic shapes to runtime calls: shapes are stored in a heap, checked, computed and created there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NoneType, TupleType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....diagnostics import TiraxError
from ....dialects import relax, tir
from ....dialects.attributes import from_attr
from ....dialects.names import name_of, set_name
from ....dialects.relax.types import is_base_of
from ....dialects.sym import SymAttr
from ....dialects.sym.expr import Const, SymExpr, Var
from ....ir.affine.values import Materializer
from ....ir.functions.lookup import relax_functions
from ....ir.locations import location_of
from ....ir.names import NameSupply, function_names, name_bindings, variable_names
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit
from ....ir.rewriting.edit import replace_op
from ....ir.rewriting.infer import infer_users
from ....runtime.shape_builtins import MakeShapeCode, MatchShapeCode
from ....script.printer.fragment import struct_info_text
from .remove_purity_checking import FORCE_PURE

_NOTHING = TupleType(())


@dataclass(frozen=True)
class VMShapeLower(Pass):
    """Computes symbolic shapes, and checks arguments and casts, by runtime calls.

    f(x: Tensor([n, 4])):              f(x):
                                         heap = call_builtin_with_ctx("vm.builtin.alloc_shape_heap", 2)
                                   ->    call_packed("vm.builtin.check_tensor_info", x, 2, "float32", "")
                                         call_packed("vm.builtin.match_shape", x, heap, 2, STORE_TO_HEAP, 0, IMM, 4, "")
                                         shape_func(heap)  # heap[1] = heap[0] + 1
      s = shape([n + 1, 2])              s = call_packed("vm.builtin.make_shape", heap, 2, LOAD, 1, IMM, 2)

    Struct info and `tir_vars` remain. With `emit_err_ctx` the error messages of checks describe the checked
    value. Functions with the attribute `num_input`, the number of inputs, check only the symbolic parts of
    other parameters. The result is meant for inspection and interpretation: native code computes shapes itself,
    and the default pipelines omit this pass.

    Use it after `to-non-dataflow` and `remove-purity-checking`: raises `TiraxError` if a function has a
    dataflow block, or is pure without `relax.force_pure`.
    """

    name = "vm-shape-lower"
    emit_err_ctx: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = relax_functions(op)
        _check_places(functions)
        names = NameSupply(function_names(op))
        for func in functions:
            _FunctionLowering(func, op, names, self.emit_err_ctx).run()


def _check_places(functions: list[relax.FuncOp]) -> None:
    blocks = [op for func in functions for op in func.body.block.ops if isinstance(op, relax.DataflowOp)]
    if blocks:
        message = f"checks would have effects in {len(blocks)} dataflow blocks"
        raise TiraxError(message, location=location_of(blocks[0]), hint="run to-non-dataflow before")
    pure = [func for func in functions if func.impure is None and not _attribute(func, FORCE_PURE)]
    if pure:
        names = ", ".join(func.sym_name.data for func in pure)
        hint = "run remove-purity-checking before"
        raise TiraxError("checks have effects", location=location_of(pure[0]), found=f"pure: {names}", hint=hint)


def _attribute(func: relax.FuncOp, name: str) -> object:
    return None if func.func_attrs is None else from_attr(func.func_attrs.data.get(name))


class _Slots:
    """The heap slots: one for each expression in a function, and whether it is filled yet."""

    def __init__(self, func: relax.FuncOp):
        self.index: dict[SymExpr, int] = {}
        self.filled: set[SymExpr] = set()
        self._users: dict[Var, list[SymExpr]] = {}
        self._new: list[Var] = []
        for expr in _expressions(func):
            self._add(expr)

    def _add(self, expr: SymExpr) -> None:
        if isinstance(expr, Const) or expr in self.index:
            return
        self.index[expr] = len(self.index)
        if not isinstance(expr, Var):
            for variable in expr.free_vars():
                self._users.setdefault(variable, []).append(expr)

    def fill(self, variable: Var) -> None:
        """Mark a variable as known."""
        self.filled.add(variable)
        self._new.append(variable)

    def computable(self) -> list[SymExpr]:
        """Return the expressions that have become computable, and mark them as filled."""
        users = dict.fromkeys(e for v in self._new for e in self._users.get(v, ()) if e not in self.filled)
        ready = [e for e in users if all(v in self.filled for v in e.free_vars())]
        self._new.clear()
        self.filled.update(ready)
        return ready


def _expressions(func: relax.FuncOp) -> Iterable[SymExpr]:
    """Yield the expressions in a function: in its parameters, bindings, and result."""
    for param in func.params:
        yield from _in_type(param.type)
    for op in _bindings(func.body.block):
        if isinstance(op, relax.ShapeOp):
            yield from (d.data for d in op.values_)
        for result in op.results:
            yield from _in_type(result.type)
    yield from _in_type(func.ret_type)


def _in_type(t: Attribute) -> Iterable[SymExpr]:
    """Yield the expressions in struct info, except those of callables."""
    if isinstance(t, TupleType):
        for inner in t.types:
            yield from _in_type(inner)
    elif isinstance(t, relax.TensorType | relax.ShapeType):
        yield from t.dims or ()
    elif isinstance(t, relax.PrimType) and t.expr is not None:
        yield t.expr


def _bindings(block: Block) -> Iterable[Operation]:
    """Yield the operations of a block and its branches, but not of local functions."""
    for op in list(block.ops):
        if isinstance(op, relax.IfOp):
            yield from _bindings(op.then_region.block)
            yield from _bindings(op.else_region.block)
        yield op


@dataclass(frozen=True)
class _Check:
    """How a value is checked: `always`, or only if its struct info is not specific enough; `context` is for errors."""

    context: str
    always: bool = False
    symbolic_only: bool = False


@dataclass
class _Value:
    """A value to check; a field of a tuple is extracted on first use."""

    type: Attribute
    make: Callable[[], SSAValue]
    ssa: SSAValue | None = None

    def get(self) -> SSAValue:
        self.ssa = self.ssa if self.ssa is not None else self.make()
        return self.ssa


@dataclass
class _Match:
    """A shape or a number to match against expressions."""

    value: _Value
    pattern: list[SymExpr]
    context: str


@dataclass
class _FunctionLowering:
    func: relax.FuncOp
    module: ModuleOp
    functions: NameSupply
    emit_err_ctx: bool
    slots: _Slots = field(init=False)
    heap: SSAValue = field(init=False)
    emit: Emit = field(init=False)
    names: NameSupply = field(init=False)

    def run(self) -> None:
        """Rewrite the function in place."""
        ret_type = self.func.ret_type
        self.slots, self.names = _Slots(self.func), NameSupply(variable_names(self.func))
        body = self.func.body.block
        first = body.first_op
        assert first is not None
        self.emit = Emit(first, self.names)
        self.heap = self._heap()
        self._check_parameters()
        self._lower_block(body)
        self._before(self.func.return_op)
        self._check_result(ret_type)
        self.func.ret_type = ret_type
        name_bindings(self.func)

    def _before(self, anchor: Operation) -> None:
        self.emit = Emit(anchor, self.names)

    def _heap(self) -> SSAValue:
        if not self.slots.index:
            return self.emit.named("shape_heap", relax.NullValueOp())
        size = [self.emit.integer(len(self.slots.index))]
        kind = relax.TensorType.of(None, i64, ndim=1)
        return self.emit.named("shape_heap", relax.CallBuiltinWithCtxOp("vm.builtin.alloc_shape_heap", size, kind))

    # Checks.

    def _check_parameters(self) -> None:
        inputs = _attribute(self.func, "num_input")
        todo: list[_Match] = []
        for i, param in enumerate(self.func.params):
            place = f"fn={self.func.sym_name.data}, loc=param[{i}], param={name_of(param)}"
            check = _Check(self._context(place, param.type), True, isinstance(inputs, int) and i >= inputs)
            todo += self._check(param.type, _of(param), check)
        self._match_and_compute(todo)

    def _check_result(self, ret_type: Attribute) -> None:
        check = _Check(self._context(f"fn={self.func.sym_name.data}, loc=return", ret_type))
        last = self.func.return_op
        self._run_matches(self._check(ret_type, _of(last.value), check))
        if not is_base_of(ret_type, last.value.type):  # a computed shape has no extents in its struct info
            last.operands[0] = self.emit.put(relax.MatchCastOp(last.value, ret_type))

    def _context(self, place: str, t: Attribute) -> str:
        return f"ErrorContext({place}, annotation={struct_info_text(t)}) " if self.emit_err_ctx else ""

    def _check(self, t: Attribute, value: _Value, check: _Check) -> list[_Match]:
        """Emit the checks of a value except for extents, and return the matches that remain to be done."""
        if not check.always and is_base_of(t, value.type):
            return []
        if isinstance(t, TupleType):
            return self._check_tuple(t, value, check)
        if isinstance(t, relax.TensorType):
            return self._check_tensor(t, value, check)
        if isinstance(t, relax.ShapeType):
            if check.always or not is_base_of(relax.ShapeType.of(ndim=t.rank), value.type):
                self._call("check_shape_info", value.get(), _rank(t), check.context)
            return [_Match(value, list(t.dims), check.context)] if t.dims is not None else []
        if isinstance(t, relax.PrimType):
            if check.always or not is_base_of(relax.PrimType.of(t.dtype), value.type):
                self._call("check_prim_value_info", value.get(), t.dtype, check.context)
            return [_Match(value, [t.expr], check.context)] if t.expr is not None else []
        if isinstance(t, relax.CallableType):
            self._call("check_func_info", value.get(), check.context)
        return []

    def _check_tensor(self, t: relax.TensorType, value: _Value, check: _Check) -> list[_Match]:
        if check.symbolic_only and t.dims is not None and all(isinstance(d, Const) for d in t.dims):
            return []
        if check.always or not is_base_of(relax.TensorType.of(None, t.element, ndim=t.rank), value.type):
            dtype = NoneType() if t.element is None else t.element
            self._call("check_tensor_info", value.get(), _rank(t), dtype, check.context)
        return [_Match(value, list(t.dims), check.context)] if t.dims is not None else []

    def _check_tuple(self, t: TupleType, value: _Value, check: _Check) -> list[_Match]:
        if check.always or not isinstance(value.type, TupleType):
            self._call("check_tuple_info", value.get(), len(t.types), check.context)
        fields = [self._field(value, i) for i in range(len(t.types))]
        return [m for inner, f in zip(t.types, fields, strict=True) for m in self._check(inner, f, check)]

    def _field(self, value: _Value, index: int) -> _Value:
        if isinstance(value.type, TupleType):
            source = value.ssa.owner if value.ssa is not None else None
            if isinstance(source, relax.TupleOp):
                return _of(source.fields_[index])
            kind = value.type.types.data[index]
            return _Value(kind, lambda: self.emit.put(relax.TupleGetItemOp(value.get(), index)))
        return _Value(relax.OBJECT, lambda: self._call("tuple_getitem", value.get(), index, result=relax.OBJECT))

    # Matching and computing.

    def _match_and_compute(self, todo: list[_Match]) -> None:
        left = self._run_matches(todo)
        self._compute()
        self._run_matches(left)

    def _run_matches(self, todo: list[_Match]) -> list[_Match]:
        """Emit the matches, and return those that must be repeated once an expression is computed."""
        left: list[_Match] = []
        for match in todo:
            codes = [self._match_code(e) for e in match.pattern]
            skipped = [code is MatchShapeCode.NO_OP for code, _ in codes]
            if any(skipped):
                left.append(match)
            if not all(skipped) or not codes:
                prim = isinstance(match.value.type, relax.PrimType)
                rank = () if prim else (len(codes),)
                name = "match_prim_value" if prim else "match_shape"
                flat = [int(n) for code in codes for n in code]
                self._call(name, match.value.get(), self.heap, *rank, *flat, match.context)
        return left

    def _match_code(self, e: SymExpr) -> tuple[MatchShapeCode, int]:
        if isinstance(e, Const):
            return MatchShapeCode.ASSERT_EQUAL_TO_IMM, e.value
        if e in self.slots.filled:
            return MatchShapeCode.ASSERT_EQUAL_TO_LOAD, self.slots.index[e]
        if isinstance(e, Var):
            self.slots.fill(e)
            return MatchShapeCode.STORE_TO_HEAP, self.slots.index[e]
        return MatchShapeCode.NO_OP, 0

    def _compute(self) -> None:
        """Emit the call of a function that computes everything computable."""
        ready = self.slots.computable()
        if ready:
            name = self.functions.fresh("shape_func")
            self.module.body.block.add_op(_shape_function(name, ready, self.slots.index))
            self.emit.named("_", relax.CallOp(name, [self.heap], _NOTHING))

    def _call(self, name: str, *args: SSAValue | Attribute | int | str, result: Attribute = _NOTHING) -> SSAValue:
        call = relax.CallPackedOp(f"vm.builtin.{name}", [self._argument(a) for a in args], result)
        return self.emit.named("_", call) if result == _NOTHING else self.emit.put(call)

    def _argument(self, arg: SSAValue | Attribute | int | str) -> SSAValue:
        if isinstance(arg, SSAValue):
            return arg
        if isinstance(arg, int):
            return self.emit.integer(arg)
        return self.emit.string(arg) if isinstance(arg, str) else self.emit.dtype(arg)

    # The body.

    def _lower_block(self, block: Block) -> None:
        for op in list(block.ops):
            self._before(op)
            if isinstance(op, relax.IfOp):
                self._lower_branches(op)
            elif isinstance(op, relax.MatchCastOp):
                t = op.result.type
                check = _Check(f"ErrorContext(match_cast, struct_info={struct_info_text(t)}) " * self.emit_err_ctx)
                self._match_and_compute(self._check(t, _of(op.value), check))
            elif isinstance(op, relax.ShapeOp) and not all(isinstance(d.data, Const) for d in op.values_):
                codes = [n for d in op.values_ for n in self._make_code(op, d.data)]
                self._make(op, "make_shape", len(op.values_), *codes, result=relax.ShapeType.of(ndim=len(op.values_)))
            elif isinstance(op, relax.PrimValueOp) and _is_symbolic(op):
                assert isinstance(op.value, SymAttr)
                self._make(op, "make_prim_value", *self._make_code(op, op.value.data), result=op.result.type)

    def _lower_branches(self, op: relax.IfOp) -> None:
        """Lower branches; variables bound in a branch are only known there."""
        for region in (op.then_region, op.else_region):
            outside = set(self.slots.filled)
            self._lower_block(region.block)
            self.slots.filled = outside

    def _make(self, op: relax.ShapeOp | relax.PrimValueOp, name: str, *args: int, result: Attribute) -> None:
        users = [use.operation for use in op.result.uses]
        call = relax.CallPackedOp(f"vm.builtin.{name}", [self.heap, *map(self._argument, args)], result)
        self.emit.put(call)
        set_name(call.result, name_of(op.result))
        replace_op(op, call.result)
        infer_users(users)

    def _make_code(self, op: Operation, e: SymExpr) -> tuple[int, int]:
        if isinstance(e, Const):
            return int(MakeShapeCode.USE_IMM), e.value
        if e not in self.slots.filled:
            raise TiraxError(f"nothing determines {e}", location=location_of(op), hint="say what it is by a match_cast")
        return int(MakeShapeCode.LOAD_SHAPE), self.slots.index[e]


def _of(value: SSAValue) -> _Value:
    return _Value(value.type, lambda: value, value)


def _rank(t: relax.TensorType | relax.ShapeType) -> int:
    return -1 if t.rank is None else t.rank


def _is_symbolic(op: relax.PrimValueOp) -> bool:
    return isinstance(op.value, SymAttr) and not isinstance(op.value.data, Const)


def _shape_function(name: str, exprs: list[SymExpr], index: dict[SymExpr, int]) -> tir.FuncOp:
    """Return a function that computes expressions from heap slots into heap slots."""
    body = tir.body_region(tir.BufferType.of([len(index)], i64))
    heap = body.block.args[0]
    set_name(heap, "H")
    for expr in exprs:
        build = Materializer(body.block.add_op)
        loaded: dict[Var, SymExpr] = {}
        for variable in dict.fromkeys(expr.free_vars()):
            load = tir.LoadOp(heap, [build(Const(index[variable], i64))])
            body.block.add_op(load)
            loaded[variable] = Var(load.result, variable.dtype)
        value = build(expr.substitute(loaded), i64)
        body.block.add_op(tir.StoreOp(value, heap, [build(Const(index[expr], i64))]))
    return tir.FuncOp(name, body, private=True, attrs={"tir.is_host_func": 1})
