"""Lower the bodies of relax functions in destination passing form (`dialects/host.py`), op by op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...diagnostics import TiraxError, UnsupportedError
from ...dialects import host, relax
from ...dialects.names import name_of
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import SymExpr, Var
from ...ir.locations import location_of
from ...runtime.abi import Slot
from .checks import Check
from .function import HostFunction, Kernel
from .info import info_of
from .kernels import ends_run, prepare_kernel, run_kernels, scalar_of_kernel
from .loops import write_while
from .marks import mark_packed, resume, run
from .memory import make_arena, make_view
from .native import I1, I8, I32, PTR
from .symbols import ENTRY_PREFIX
from .values import (
    Fields,
    Object,
    Prim,
    Shape,
    Tensor,
    Value,
    as_object,
    as_result,
    constant,
    flat_fields,
    load_trusted,
    new_array,
)


class Body:
    """Emitter of the body of one function; `values` maps the results of earlier ops to their values."""

    def __init__(self, f: HostFunction, values: dict[SSAValue, Value]):
        self.f = f
        self.values = values

    def block(self, block: Block) -> None:
        """Emit all ops of a block. Errors get the location of the op that caused them."""
        last_uses = _last_uses(block)
        variables: dict[Operation, list[SSAValue]] = {}
        for group in _runs(block, self.f.module.kernels):
            before = len(self.f.owned)
            self._group(group)
            variables[group[0]] = self.f.owned[before:]
            for op in group:
                for maker in last_uses.get(op, ()):
                    self.f.release(variables[maker])

    def _group(self, group: Sequence[Operation]) -> None:
        op = group[0]
        outer, self.f.place = self.f.place, op.location
        try:
            if isinstance(op, host.KernelOp):
                self._kernels(group)
            elif (value := self._rule(op)(self, op)) is not None:
                self.values[op.results[0]] = value
        except TiraxError as error:
            error.location = error.location or location_of(op)
            raise
        self.f.place = outer

    @staticmethod
    def _rule(op: Operation) -> Callable[[Body, Any], Value | None]:
        rule = _RULES.get(type(op))
        if rule is None:
            hint = "lower-relax-calls and plan-memory lower relax functions first"
            raise UnsupportedError(f"'{op.name}' is not in destination passing form", hint=hint)
        return rule

    def objects(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Return values as Python objects."""
        return [as_object(self.f, self.values[v]) for v in values]

    def _kernels(self, ops: Sequence[Any]) -> None:
        calls = [prepare_kernel(self.f, op.callee_name, self._flat(op.call_args), op.scalars, op) for op in ops]
        run_kernels(self.f, calls)

    def _flat(self, args: Sequence[SSAValue]) -> list[Value]:
        """Return the values of arguments in destination passing form; a tuple is replaced by its fields."""
        return [field for a in args for field in flat_fields(self.values[a])]

    # -- memory and calls ---------------------------------------------------------------------------------------------

    def tensor(self, op: host.TensorOp) -> Tensor:
        t = op.tensor_type
        assert t.dims is not None and t.element is not None
        if op.offset is None:
            return new_array(self.f, t.dims, t.element)
        assert self.f.arena is not None
        offset = op.offset.data
        at = offset.constant if offset.constant is not None else self.f.scope.unchecked(offset)
        return Tensor(self.f.address(self.f.arena, at), t.dims, t.element)

    def call_dps(self, op: host.CallDPSOp) -> None:
        args = [as_object(self.f, v) for v in self._flat(op.call_args)]
        self.f.require_stack()
        run(self.f, mark_packed(self.f, op.func.data, op))
        result = self.f.vectorcall(self.f.slot_of("packed", op.func.data), args)
        resume(self.f)
        self.f.check(result)
        self.f.call("Py_DecRef", [result], None)

    def call_packed(self, op: Any) -> Value:
        return self._call_object(op, op.func.data, self.f.slot_of("packed", op.func.data))

    def call_value(self, op: relax.CallValueOp) -> Value:
        return self._call_object(op, name_of(op.func) or "a function", as_object(self.f, self.values[op.func]))

    def _call_object(self, op: Any, name: str, function: SSAValue) -> Value:
        self.f.require_stack()
        objects = self.objects(op.args)
        run(self.f, mark_packed(self.f, name, op))
        result = self.f.vectorcall(function, objects)
        resume(self.f)
        return self._received(op, result)

    def call(self, op: relax.CallOp) -> Value:
        """Call another function of the module through its entry point, which checks its arguments; call a kernel
        directly.
        """
        f = self.f
        if op.callee_name in f.module.kernels:
            return scalar_of_kernel(f, prepare_kernel(f, op.callee_name, self._flat(op.call_args), [], op))
        args = [f.null, f.array(self.objects(op.args)), f.integer(len(op.args))]
        guarded = f.name in f.module.recursive and op.callee_name in f.module.recursive
        if guarded:
            f.require_stack()
            too_deep = f.call("Py_EnterRecursiveCall", [f.text(f" in compiled function '{f.name}'")], I32)
            f.when(f.compare("ne", too_deep, f.integer(0, I32)), f.cleanup, f.null)
        result = f.call(ENTRY_PREFIX + op.callee_name, args)
        if guarded:
            f.call("Py_LeaveRecursiveCall", [], None)
        return self._received(op, result)

    def while_loop(self, op: relax.WhileLoop) -> Value:
        self.f.require_stack()
        init, invariants = (self._fields(op.values(arg)) for arg in ("init", "invariants"))
        return write_while(self.f, op, init, invariants, self._checked)

    def _fields(self, values: Sequence[SSAValue]) -> list[Value]:
        """Return operands that are either separate values or one tuple of them."""
        first = self.values[values[0]] if len(values) == 1 else None
        return list(first.fields) if isinstance(first, Fields) else [self.values[v] for v in values]

    def _received(self, op: Any, result: SSAValue) -> Value:
        """Take ownership of the new reference, or null, returned by Python or another function."""
        return self._checked(name_of(op.result) or op.name, self.f.own(result), op.result.type)

    def _checked(self, name: str, obj: SSAValue, t: Attribute) -> Value:
        """Check an object against struct info; an object that differs only in form is normalized."""
        if isinstance(t, relax.ObjectType):
            return Object(obj)
        f = self.f
        head, failed = f.new_block(PTR, I1), f.new_block()
        first, second = f.integer(0, I1), f.integer(1, I1)
        known = dict(f.scope.values)
        f.jump(head, obj, first)
        f.block = head
        current, tried = head.args
        check = Check(f, failed)
        (value,) = check.objects([current], [t], [False])
        check.finish()
        names = [n for n in known if any(v.name == n for v in relax.types.free_symbolic_vars([t]))]
        payload = {"name": name, "info": info_of(t).to_json(), "vars": names}
        with f.inside(failed):
            f.require(f.compare("eq", tried, first), "internal", f"the native check of '{name}' fails again and again")
            f.call("PyErr_Clear", [], None)
            extents = [f.own(f.call("PyLong_FromLongLong", [known[n]])) for n in names]
            again = f.own(f.vectorcall(f.slot_of("cast", payload), [obj, *extents]))
            f.jump(head, again, second)
        return value

    def match_cast(self, op: relax.MatchCastOp) -> Value:
        value, t = self.values[op.value], op.result.type
        if isinstance(value, Tensor) and value.obj is None and isinstance(t, relax.TensorType):
            self._cast_extents(op, value.dims, t.dims)
            return value
        if isinstance(value, Shape) and value.obj is None and isinstance(t, relax.ShapeType):
            self._cast_extents(op, value.values, t.dims)
            return value
        return self._checked(name_of(op.result) or op.name, as_object(self.f, value), t)

    def _cast_extents(self, op: relax.MatchCastOp, actual: Sequence[SymExpr], dims: Sequence[SymExpr] | None) -> None:
        """Bind and compare the extents of a match_cast that are known without an object."""
        scope, name = self.f.scope, name_of(op.result) or name_of(op.value) or "value"
        rest: list[tuple[int, SymExpr, SymExpr]] = []
        for i, (declared, extent) in enumerate(zip(dims or (), actual, strict=dims is not None)):
            if isinstance(declared, Var) and not scope.knows(declared):
                scope.bind(declared, scope.of(extent), not scope.is_nonnegative(extent))
            elif declared != extent:
                rest.append((i, declared, extent))
        for i, declared, extent in rest:
            self.f.require_extent(f"'{name}', dimension {i}: wrong extent", declared, declared, extent)

    # -- structure ----------------------------------------------------------------------------------------------------

    def if_(self, op: relax.IfOp) -> Value:
        f, outer = self.f, self.f.scope
        then, other, merged = f.new_block(), f.new_block(), f.new_block(PTR)
        f.branch(self._condition(self.values[op.cond]), then, other)
        for start, region in ((then, op.then_region), (other, op.else_region)):
            f.block, f.scope = start, outer.child()
            self.block(region.block)
            last = region.block.last_op
            assert isinstance(last, relax.YieldOp)
            f.jump(merged, as_object(f, self.values[last.value]))
        f.block, f.scope = merged, outer
        return load_trusted(f, merged.args[0], op.result.type)

    def _condition(self, value: Value) -> SSAValue:
        f = self.f
        if isinstance(value, Tensor) and not value.dims and value.element == I1:
            return f.compare("ne", f.read(value.data, I8), f.integer(0, I8))
        if isinstance(value, Prim) and isinstance(value.value, SymExpr):
            return f.scope.condition(value.value)
        raise UnsupportedError("the condition of an if", expected="a bool tensor of rank 0, or a bool or integer value")

    def return_(self, op: relax.ReturnOp) -> None:
        self.f.give(as_result(self.f, self.values[op.value]))

    def get_item(self, op: relax.TupleGetItemOp) -> Value:
        value = self.values[op.tuple_]
        if isinstance(value, Fields):
            return value.fields[op.index.data]
        index = self.f.integer(op.index.data)
        return self._received(op, self.f.call("PySequence_GetItem", [as_object(self.f, value), index]))

    # -- leaves -------------------------------------------------------------------------------------------------------

    def constant(self, op: relax.ConstantOp) -> Tensor | None:
        return constant(self.f, op) if op.result.first_use is not None else None

    def prim(self, op: relax.PrimValueOp) -> Prim:
        value = op.value
        if isinstance(value, SymAttr):
            return Prim(value.data.dtype, value.data)
        assert isinstance(value, FloatAttr)
        return Prim(value.type, self.f.real(value.value.data))

    def plain(self, value: str) -> Object:
        """Return a string constant as an object."""
        return Object(self.f.slot_of("value", value))

    def extern_func(self, op: relax.ExternFuncOp) -> Object | None:
        if op.result.first_use is None:
            return None
        return Object(self.f.slot_of("packed", op.global_symbol.data))

    def function_ref(self, op: relax.FunctionRefOp) -> None:
        if any(not isinstance(use.operation, relax.WhileLoop) for use in op.result.uses):
            raise UnsupportedError(
                f"@{op.callee.root_reference.data} as a value",
                hint="functions of the module can only be called, and be those of loops",
            )


def _runs(block: Block, kernels_by_name: Mapping[str, Kernel]) -> Iterator[list[Operation]]:
    """Yield the ops of a block one by one, but consecutive kernels as one group.

    Ops that need no kernel's result (new tensors, leaves) may be interleaved with the kernels: they are yielded first.
    """
    kernels: list[Operation] = []
    for op in block.ops:
        if isinstance(op, host.KernelOp):
            kernels.append(op)
            if not ends_run(kernels_by_name[op.callee_name].signature):
                continue
        elif isinstance(op, _BETWEEN):
            yield [op]
            continue
        if kernels:
            yield kernels
            kernels = []
        if not isinstance(op, host.KernelOp):
            yield [op]
    if kernels:
        yield kernels


def _last_uses(block: Block) -> dict[Operation, list[Operation]]:
    """Map each op of the block to the ops whose results are dead after it and that nothing else may borrow from."""
    last: dict[Operation, list[Operation]] = {}
    users: dict[Operation, int] = {op: i for i, op in enumerate(block.ops) if isinstance(op, _CONSUMERS)}
    for op in block.ops:
        if not isinstance(op, _MAKERS):
            continue
        uses = [use.operation for use in op.results[0].uses]
        if uses and all(user in users for user in uses):
            last.setdefault(max(uses, key=users.__getitem__), []).append(op)
    return last


_PACKED = (relax.CallPackedOp, relax.CallBuiltinWithCtxOp, relax.CallPurePackedOp, relax.CallInplacePackedOp)
_CONSUMERS = (host.KernelOp, host.CallDPSOp, *_PACKED, relax.CallOp, relax.WhileLoop)
"""Ops that need their operands only while they run, and whose results do not borrow from them."""
_MAKERS = (host.TensorOp, *_PACKED, relax.CallOp)
"""Ops whose results are objects that the function owns."""
_BETWEEN = (host.TensorOp, host.ViewOp, relax.TupleOp, *relax.LEAVES)
_RULES: dict[type[Operation], Callable[[Body, Any], Value | None]] = {
    host.ArenaOp: lambda body, op: make_arena(body.f, op),
    host.TensorOp: Body.tensor,
    host.ViewOp: lambda body, op: make_view(body.f, op, body.values[op.source]),
    host.CallDPSOp: Body.call_dps,
    **dict.fromkeys(_PACKED, Body.call_packed),
    relax.CallValueOp: Body.call_value,
    relax.WhileLoop: Body.while_loop,
    relax.CallOp: Body.call,
    relax.MatchCastOp: Body.match_cast,
    relax.IfOp: Body.if_,
    relax.YieldOp: lambda body, op: None,  # the enclosing op reads the value
    relax.ReturnOp: Body.return_,
    relax.TupleOp: lambda body, op: Fields(tuple(body.values[v] for v in op.fields_)),
    relax.TupleGetItemOp: Body.get_item,
    relax.ConstantOp: Body.constant,
    relax.ShapeOp: lambda body, op: Shape(tuple(d.data for d in op.values_)),
    relax.PrimValueOp: Body.prim,
    relax.StringOp: lambda body, op: body.plain(op.value.data),
    relax.DataTypeOp: lambda body, op: body.plain(op.text),
    relax.NullValueOp: lambda body, op: Object(body.f.slot(Slot.NONE)),
    relax.ExternFuncOp: Body.extern_func,
    relax.FunctionRefOp: Body.function_ref,
}
"""The emitter of each op class; it returns the value of the op's result, if it has one."""
