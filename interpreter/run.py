"""Execution of programs with the reference semantics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.utils.exceptions import InterpretationError

from ..diagnostics import UnsupportedError, nesting_checked, unknown_name
from ..dialects import relax, tir
from ..dialects.quick import operations
from ..dialects.relax.external import external_functions
from ..ir.passes.transform import module_op
from .environment import Environment, TableFunctions
from .machine import Machine
from .relax.run import RelaxSemantics
from .scalars import InterpreterError
from .tir import TirSemantics


def make_interpreter(
    module: ModuleOp,
    packed: Mapping[str, Callable[..., Any]] | None = None,
    *,
    vectorize: bool = True,
    semantics: Callable[[Environment], TirSemantics] | None = None,
) -> tuple[Machine, RelaxSemantics]:
    """Return an xDSL interpreter of the module with tirax's semantics registered.

    Independent loop iterations run at once, with the same results; `vectorize=False` turns this off.
    `semantics` replaces those of tensor functions.
    """
    env = Environment({**external_functions(module), **(packed or {})})
    tensor_functions = TirSemantics(env, vectorize=vectorize) if semantics is None else semantics(env)
    functions = RelaxSemantics(env, tensor_functions)
    interpreter = Machine(module)
    table = {**tensor_functions.table(), **functions.table()}
    foreign = {type(op) for op in operations(module) if hasattr(op, "reference")} - table.keys()
    interpreter.register_implementations(TableFunctions({**table, **dict.fromkeys(foreign, _reference)}))
    return interpreter, functions


def _reference(_i: Interpreter, op: Any, args: PythonValues) -> PythonValues:
    """Run an operation of another dialect by its `reference` method; several results are a tuple."""
    results = op.reference(*args)
    return results if len(op.results) > 1 else (results,)


@nesting_checked()
def interpret(
    module: Any,
    name: str,
    args: Sequence[Any],
    packed: Mapping[str, Callable[..., Any]] | None = None,
    *,
    vectorize: bool = True,
    semantics: Callable[[Environment], TirSemantics] | None = None,
) -> Any:
    """Run the function `name` of `module` (a `ModuleOp` or an `IRModule`) and return its result.

    A Relax function takes arrays, tuples of them, shapes (tuples of ints) and numbers. A tensor function takes arrays,
    which it writes in place, and scalars; its result is None or a scalar. `packed` are Python functions available to
    calls in addition to the registered ones; `vectorize` and `semantics` are those of `make_interpreter`. Raises
    `InterpreterError` if the program is undefined on these inputs, and `UnsupportedError` for operations other than
    those of Relax and tensor functions.
    """
    module = module_op(module)
    symbols = {f.sym_name.data: f for f in module.ops if isinstance(f, relax.FuncOp | tir.FuncOp)}
    func = symbols.get(name)
    if func is None:
        raise unknown_name("function", name, symbols)
    interpreter, functions = make_interpreter(module, packed, vectorize=vectorize, semantics=semantics)
    try:
        with np.errstate(all="ignore"):
            if isinstance(func, relax.FuncOp):
                return interpreter.drive(functions.call(interpreter, func, tuple(args)))
            results = interpreter.drive(functions.tir.call(interpreter, func, tuple(args)))
            return results[0] if results else None
    except InterpretationError as error:
        hint = "what is lowered further is built and run"
        raise UnsupportedError("interpreting this program", notes=[str(error)], hint=hint) from error


__all__ = ["InterpreterError", "interpret", "make_interpreter"]
