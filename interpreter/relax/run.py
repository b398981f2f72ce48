"""Reference semantics of relax: functions, bindings, calls; the operators are in the tables of this folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, TupleType
from xdsl.interpreter import Interpreter, PythonValues, ReturnedValues
from xdsl.ir import Attribute, Operation

from ...diagnostics import TiraxError
from ...dialects import relax, tir
from ...dialects.dtypes import numpy_dtype
from ...dialects.relax import OPERATORS
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import Var
from ...ir.functions.outputs import outputs_to_make
from ...ir.locations import location_of
from ..environment import Environment, Implementation
from ..machine import Machine, Steps
from ..scalars import InterpreterError, as_array
from ..tir import TirSemantics
from . import memory, operators


class RelaxSemantics:
    """The implementations of relax's operations."""

    def __init__(self, env: Environment, tensor_functions: TirSemantics):
        self.env = env
        self.tir = tensor_functions

    def table(self) -> dict[type[Operation], Implementation]:
        return {
            **dict.fromkeys(OPERATORS.values(), self.operator),
            **memory.TABLE,
            relax.FuncOp: lambda _i, _op, _args: (),
            relax.ReturnOp: lambda _i, _op, args: ReturnedValues(args),
            relax.OutputOp: lambda _i, _op, args: ReturnedValues(args),
            relax.YieldOp: lambda _i, _op, args: ReturnedValues(args),
            relax.DataflowOp: lambda i, op, _args: i.region(op.body, (), "dataflow"),
            relax.IfOp: _if,
            relax.ClosureOp: self.closure,
            relax.BindOp: lambda _i, _op, args: args,
            relax.MatchCastOp: self.match_cast,
            relax.TupleOp: lambda _i, _op, args: (tuple(args),),
            relax.TupleGetItemOp: lambda _i, op, args: (args[0][op.index.data],),
            relax.ConstantOp: lambda _i, op, _args: (op.value.numpy(),),
            relax.ShapeOp: lambda _i, op, _args: (self.env.shape(d.data for d in op.values_),),
            relax.PrimValueOp: self.prim_value,
            relax.StringOp: lambda _i, op, _args: (op.value.data,),
            relax.DataTypeOp: lambda _i, op, _args: (None if op.is_void else numpy_dtype(op.value),),
            relax.NullValueOp: lambda _i, _op, _args: (None,),
            relax.FunctionRefOp: self.function_ref,
            relax.ExternFuncOp: lambda _i, op, _args: (self.env.packed(op.global_symbol.data),),
            relax.CallTIROp: self.call_tir,
            relax.CallTIRInplaceOp: self.call_tir_inplace,
            relax.CallDPSPackedOp: self.call_dps_packed,
            relax.CallPackedOp: self.call_packed,
            relax.CallBuiltinWithCtxOp: self.call_packed,
            relax.CallPurePackedOp: self.call_packed,
            relax.CallInplacePackedOp: self.call_packed,
            relax.CallOp: self.call_function,
            relax.WhileLoop: self.while_loop,
            relax.CallValueOp: _call_value,
        }

    def call(self, interpreter: Machine, func: relax.FuncOp, args: PythonValues) -> Steps:
        """Return the result of a function on arrays, tuples, shapes (tuples of ints) and numbers."""
        if len(args) != len(func.params):
            raise InterpreterError(
                f"@{func.sym_name.data} takes {len(func.params)} arguments", found=len(args), location=location_of(func)
            )
        with self.env.function(func.sym_name.data):
            for param, value in zip(func.params, args, strict=True):
                self.bind(param.type, value)
            return (yield interpreter.region(func.body, tuple(args), func.sym_name.data))[0]

    def bind(self, t: Attribute, value: Any) -> None:
        """Bind the symbolic variables of struct info from a value, and check that the value matches."""
        if isinstance(t, relax.TensorType):
            array = as_array(value)
            if t.element is not None and array.dtype != numpy_dtype(t.element):
                raise InterpreterError("a tensor has the wrong dtype", expected=t.element, found=array.dtype)
            if t.rank is not None and array.ndim != t.rank:
                raise InterpreterError("a tensor has the wrong rank", expected=t.rank, found=array.ndim)
            if t.dims is not None:
                self.env.bind_dims(t.dims, array.shape)
        elif isinstance(t, relax.ShapeType) and t.dims is not None:
            self.env.bind_dims(t.dims, value)
        elif isinstance(t, relax.PrimType) and isinstance(t.expr, Var) and isinstance(t.expr.name, str):
            self.env.bind(t.expr.name, int(value))
        elif isinstance(t, TupleType):
            for field, v in zip(t.types, value, strict=True):
                self.bind(field, v)

    def operator(self, _i: Interpreter, op: Any, args: PythonValues) -> PythonValues:
        name = op.name.removeprefix("relax.")
        function = operators.OPERATORS.get(name)
        if function is None and op.brings("reference"):
            function = type(op).reference
        if function is None:
            raise InterpreterError(f"{op.name} has no reference semantics", location=location_of(op))
        try:
            with np.errstate(all="ignore"):
                value = function(op, *group(op, args))
        except TiraxError:
            raise
        except (ValueError, IndexError) as error:  # raised by numpy: the maximum of no elements, an index out of bounds
            raise InterpreterError(f"{op.name} has no meaning here: {error}", location=location_of(op)) from error
        return (operators.to_result(value, op.result_type, args),)

    def prim_value(self, _i: Interpreter, op: relax.PrimValueOp, _args: PythonValues) -> PythonValues:
        if isinstance(op.value, SymAttr):
            return (self.env.evaluate(op.value.data),)
        assert isinstance(op.value, FloatAttr)
        return (op.value.value.data,)

    def match_cast(self, _i: Interpreter, op: relax.MatchCastOp, args: PythonValues) -> PythonValues:
        self.bind(op.result.type, args[0])
        return args

    def closure(self, interpreter: Machine, op: relax.ClosureOp, _args: PythonValues) -> PythonValues:
        captured = interpreter._ctx  # pyright: ignore[reportPrivateUsage]
        variables = dict(self.env.variables)

        def steps(*args: Any) -> Steps:
            outside, interpreter._ctx = interpreter._ctx, captured  # pyright: ignore[reportPrivateUsage]
            try:
                with self.env.function("closure"):
                    self.env.variables.update(variables)
                    for param, value in zip(op.body.block.args, args, strict=True):
                        self.bind(param.type, value)
                    return (yield interpreter.region(op.body, args, "closure"))[0]
            finally:
                interpreter._ctx = outside  # pyright: ignore[reportPrivateUsage]

        return (_Function(interpreter, steps),)

    def function_ref(self, interpreter: Machine, op: relax.FunctionRefOp, _args: PythonValues) -> PythonValues:
        func: Any = interpreter.get_op_for_symbol(op.callee)
        return (_Function(interpreter, lambda *args: self.call(interpreter, func, args)),)

    def call_function(self, interpreter: Machine, op: relax.CallOp, args: PythonValues) -> Steps:
        func: Any = interpreter.get_op_for_symbol(op.callee)
        if isinstance(func, tir.FuncOp):
            scalars = [np.int64(self.env.evaluate(v.data)) for v in op.tir_vars or ()]
            results = yield self.tir.call(interpreter, func, (*args, *scalars))
            return (results[0] if results else (),)
        return ((yield self.call(interpreter, func, args)),)

    def while_loop(self, _i: Machine, op: relax.WhileLoop, args: PythonValues) -> Steps:
        cond, body, *operands = group(op, args)
        carried, invariants = tuple(operands[0]), tuple(operands[1] or ())
        collected: list[list[Any]] = [[] for _ in range(op.collected_count)]
        while bool((yield cond.steps(*carried, *invariants))):
            results = yield body.steps(*carried, *invariants)
            carried = results[: len(carried)]
            for values, value in zip(collected, results[len(carried) :], strict=True):
                values.append(value)
        pairs = zip(collected, op.elements(), strict=True)
        return ((*carried, *(np.stack(values) if values else self.no_elements(t) for values, t in pairs)),)

    def no_elements(self, t: Any) -> Any:
        """Return the values collected by a loop without iterations: an empty array with the other extents of `t`."""
        return np.zeros((0, *self.env.shape(t.dims or ())), numpy_dtype(t.element))

    def outputs(self, op: Any) -> list[Any]:
        """Return new arrays for the outputs of a call in destination-passing style."""
        return [np.zeros(self.env.shape(t.dims), numpy_dtype(t.element)) for t in outputs_to_make(op)]

    def result(self, op: Any, outputs: list[Any]) -> PythonValues:
        return (tuple(outputs) if isinstance(op.result.type, TupleType) else outputs[0],)

    def call_tir(self, interpreter: Machine, op: relax.CallTIROp, args: PythonValues) -> Steps:
        outputs = self.outputs(op)
        scalars = [np.int64(self.env.evaluate(v.data)) for v in op.tir_vars or ()]
        func = interpreter.get_op_for_symbol(op.callee)
        yield self.tir.call(interpreter, func, (*args, *outputs, *scalars))  # pyright: ignore[reportArgumentType]
        return self.result(op, outputs)

    def call_tir_inplace(self, interpreter: Machine, op: relax.CallTIRInplaceOp, args: PythonValues) -> Steps:
        fresh = self.outputs(op)
        copies = [as_array(a).copy() for a in args]
        outputs = [fresh[i] if where < 0 else copies[where] for i, where in enumerate(op.indices)]
        new = [fresh[i] for i, where in enumerate(op.indices) if where < 0]
        scalars = [np.int64(self.env.evaluate(v.data)) for v in op.tir_vars or ()]
        func = interpreter.get_op_for_symbol(op.callee)
        yield self.tir.call(interpreter, func, (*copies, *new, *scalars))  # pyright: ignore[reportArgumentType]
        return self.result(op, outputs)

    def call_dps_packed(self, interpreter: Machine, op: relax.CallDPSPackedOp, args: PythonValues) -> Steps:
        outputs = self.outputs(op)
        symbols = {f.sym_name.data: f for f in interpreter.module.ops if isinstance(f, tir.FuncOp)}
        func = symbols.get(op.func.data)
        if func is not None:
            yield self.tir.call(interpreter, func, (*args, *outputs))
        else:
            self.env.packed(op.func.data)(*args, *outputs)
        return self.result(op, outputs)

    def call_packed(self, _i: Interpreter, op: Any, args: PythonValues) -> PythonValues:
        value = self.env.packed(op.func.data)(*args)
        if value is None and op.result.type == TupleType(()):
            value = ()
        self.bind(op.result.type, value)
        return (value,)


@dataclass(frozen=True)
class _Function:
    """A function of the program as a value, which Python code can call, too."""

    machine: Machine
    steps: Callable[..., Steps]

    def __call__(self, *args: Any) -> Any:
        return self.machine.drive(self.steps(*args))


def _call_value(_i: Machine, _op: relax.CallValueOp, args: PythonValues) -> Steps:
    function, *arguments = args
    if isinstance(function, _Function):
        return ((yield function.steps(*arguments)),)
    return (function(*arguments),)


def _if(interpreter: Machine, op: relax.IfOp, args: PythonValues) -> Steps:
    return interpreter.region(op.then_region if bool(args[0]) else op.else_region, (), "if")


def group(op: Any, args: PythonValues) -> list[Any]:
    """Return the operand values grouped by the operator's arguments."""
    out: list[Any] = []
    rest = iter(args)
    for arg in op.args:
        if arg is None:
            out.append(None)
        elif isinstance(arg, tuple):
            values = [next(rest) for _ in arg]
            is_tuple = len(arg) == 1 and isinstance(arg[0].type, TupleType) and not op.SPREAD
            out.append(values[0] if is_tuple else tuple(values))
        else:
            out.append(next(rest))
    return out
