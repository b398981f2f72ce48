"""Test programs of StableHLO that hold inputs and results: what they compute, of what, and what is right.

    func.func @main() { %0 = call @inputs()  %1 = call @expected()  …  custom_call @check.expect_eq(%2, %1) }
    func.func @main() { %0 = stablehlo.constant …  %1 = …  check.expect_eq_const %1, dense<…> : tensor<…> }

The constants that `@inputs` returns, or that a function with checks has, become parameters, so that the program is
compiled, not folded. Those stay that an operation needs as sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.dtypes import is_dtype
from ...frontend.stablehlo.values import array_of, attribute, element_of, word
from ...script.mlir_text import parse_mlir, reading_context
from . import checks
from .judging import TOLERANCE, TOLERANCE_OF_CALL, UNITS, Limits

Array = np.ndarray[Any, Any]


@dataclass
class Check:
    """A result, by its number, and what it must be."""

    kind: str
    result: int
    expected: Array
    limits: Limits = Limits()


@dataclass
class Program:
    """A function to compile, with its inputs and checks."""

    name: str
    module: ModuleOp
    inputs: list[Array] = field(default_factory=list[Array])
    checks: list[Check] = field(default_factory=list[Check])


def parts_of(text: str) -> list[str]:
    """Return the modules of a file."""
    return text.split("// -----")


def programs_of(text: str, name: str) -> list[Program]:
    """Return the programs of a module: one for each function with checks."""
    module = parse_mlir(text, name, _context())
    names = [f.sym_name.data for f in module.body.block.ops if isinstance(f, func.FuncOp) and _checks(f)]
    return [_program(module.clone(), f"{name}:{function}", function) for function in names]


def _context() -> Context:
    context = reading_context(allow_unregistered=True)
    for dialect in (checks.Check, checks.Interpreter):
        context.load_dialect(dialect)
    return context


def _checks(function: func.FuncOp) -> list[Operation]:
    return [op for op in function.walk() if _check_of(op) is not None]


def _check_of(op: Operation) -> str | None:
    """Return the kind of a check, None for other operations."""
    name = word(op, "call_target_name") if op.name == "stablehlo.custom_call" else op.name
    kind = getattr(op, "op_name", None)
    name = kind.data if kind is not None else name
    return name.removeprefix("check.") if name.startswith("check.") else None


def _program(module: ModuleOp, name: str, entry: str) -> Program:
    functions = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, func.FuncOp)}
    main = functions[entry]
    for other in functions.values():
        if other is not main:
            other.properties["sym_visibility"] = _PRIVATE
    program = Program(name, module)
    known = _take_inputs(program, main, functions)
    results: list[SSAValue] = []
    main.body.block.erase_op(cast(Operation, main.body.block.last_op))
    for op in _checks(main):
        _take_check(program, op, known, results)
    main.body.block.add_op(func.ReturnOp(*results))
    for op in reversed(list(main.body.block.ops)):
        if op.results and not any(r.uses for r in op.results) and op.name in ("func.call", "stablehlo.constant"):
            main.body.block.erase_op(op)
    types = FunctionType.from_lists([a.type for a in main.args], [r.type for r in results])
    main.function_type = types
    main.properties.pop("res_attrs", None)
    main.properties.pop("arg_attrs", None)
    return program


_PRIVATE = StringAttr("private")


def _take_inputs(program: Program, main: func.FuncOp, functions: dict[str, func.FuncOp]) -> dict[SSAValue, Array]:
    """Make the results of `@inputs`, and constants of `main`, parameters; return the values that are constants."""
    known: dict[SSAValue, Array] = {}
    for op in list(main.body.block.ops):
        arrays = _constants(op, functions)
        if arrays is None:
            continue
        if not _are_inputs(op):
            known |= dict(zip(op.results, arrays, strict=True))
            continue
        for result, array in zip(op.results, arrays, strict=True):
            arg = main.body.block.insert_arg(result.type, len(main.body.block.args))
            result.replace_all_uses_with(arg)
            program.inputs.append(array)
    return known


def _constants(op: Operation, functions: dict[str, func.FuncOp]) -> list[Array] | None:
    """Return what a constant or a call of a function of constants returns, None if it is neither."""
    if op.name == "stablehlo.constant":
        return [_array(op)] if _is_readable(op) else None
    if op.name != "func.call":
        return None
    callee = functions[cast(SymbolRefAttr, attribute(op, "callee")).string_value()]
    return None if callee.args else returned(callee)


def _are_inputs(op: Operation) -> bool:
    """Return whether constants are what a program computes with: not what it must result in, and no sizes."""
    if op.name == "func.call":
        return cast(SymbolRefAttr, attribute(op, "callee")).string_value().startswith("inputs")
    users = [use.operation for use in op.results[0].uses]
    if any(_is_size(user) for user in users):
        return False
    return any(_check_of(user) is None or _is_first_of_constants(op, user) for user in users)


def _is_first_of_constants(op: Operation, check: Operation) -> bool:
    """Return whether a check compares constants, and this one with the other."""
    owners = [v.owner for v in check.operands]
    return owners[0] is op and all(isinstance(o, Operation) and o.name == "stablehlo.constant" for o in owners)


def _is_size(user: Operation) -> bool:
    return "dynamic" in user.name or user.name in _SIZES


_SIZES = ("stablehlo.set_dimension_size", "stablehlo.composite", "chlo.ragged_dot")
"""Operations that can need constants, beside dynamic ones."""


def _is_readable(op: Operation) -> bool:
    element: Any = getattr(op.results[0].type, "element_type", None)
    return element is not None and is_dtype(getattr(element, "element_type", element))


def _array(op: Operation) -> Array:
    element_of(op.results[0])
    return array_of(cast(DenseIntOrFPElementsAttr, attribute(op, "value")))


def returned(function: func.FuncOp) -> list[Array] | None:
    """Return the constants that a function returns, None if it computes."""
    last = cast(Operation, function.body.block.last_op)
    results: list[Array] = []
    for value in last.operands:
        op = value.owner
        if not isinstance(op, Operation) or op.name != "stablehlo.constant":
            return None
        results.append(_array(op))
    return results


def _limits(check: Operation) -> Limits:
    tolerance = TOLERANCE_OF_CALL if check.name == "stablehlo.custom_call" else TOLERANCE
    return Limits(checks.limit_of(check, "tolerance", tolerance), checks.limit_of(check, "max_ulp_difference", UNITS))


def _take_check(program: Program, op: Operation, known: dict[SSAValue, Array], results: list[SSAValue]) -> None:
    kind = _check_of(op) or ""
    operands = list(op.operands)
    value = attribute(op, "value")
    if isinstance(value, DenseIntOrFPElementsAttr):
        pairs: Sequence[tuple[SSAValue, Array]] = [(operands[0], array_of(value))]
    else:
        actual, expected = (operands[0], operands[1])
        if actual in known and expected not in known:
            actual, expected = expected, actual
        pairs = [(actual, known[expected])]
    for actual, array in pairs:
        program.checks.append(Check(kind, len(results), array, _limits(op)))
        results.append(actual)
    op.detach()
    op.erase(safe_erase=False)
