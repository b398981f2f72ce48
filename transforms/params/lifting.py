"""Analysis of bindings that depend only on weights, and of those that several functions have in common.

Every value that can be computed ahead of time has a number. The same computation has the same number in all functions;
within a function, each binding has its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.names import name_of
from ...dialects.sym.expr import SymExpr, Var
from ...ir.functions.symbolic_vars import definable_vars, mentioned_by
from ...ir.locations import location_of
from ...ir.rewriting.edit import is_removable
from ...ir.rewriting.substitute import SymbolSubstitution
from ..functions.private import bind_variables

STOP = "relax.builtin.stop_lift_params"
"""The operator, of TVM's programs, whose result is not computed ahead of time."""
_NOT_LIFTED = (relax.CallTIRInplaceOp, relax.CallInplacePackedOp, relax.ClosureOp)


@dataclass
class Liftable:
    """The computations of a function that depend only on its weights."""

    func: relax.FuncOp
    weights: list[SSAValue]
    symbols: Mapping[Var, SymExpr]
    """The symbolic variables that the weights determine, in terms of the first function."""
    number: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Values -> numbers. The result of a dataflow block has the number of its value."""
    value: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    """Numbers -> values, inside their blocks."""
    derived: set[int] = field(default_factory=set[int])
    """The numbers of values computed from a weight's contents."""

    def moved(self, op: Operation) -> bool:
        """Return whether the function does not need an op whose results are passed."""
        return len(op.results) == 1 and self.number.get(op.results[0], -1) in self.derived

    def restrict(self, common: set[int]) -> None:
        """Keep only the numbers in `common`."""
        self.number = {v: n for v, n in self.number.items() if n in common}
        self.value = {n: v for n, v in self.value.items() if n in common}
        self.derived &= common

    def required(self) -> set[int]:
        """Return the numbers of the values that the rest of the function uses."""
        required = set[int]()
        stays = set[Operation]()
        for op in reversed(list(self.func.body.block.walk())):
            if isinstance(op, relax.OutputOp) or (self.moved(op) and not _is_needed_tuple(op, stays)):
                continue
            stays.add(op)
            numbers = ((v, self.number.get(v)) for v in op.operands)
            required |= {n for v, n in numbers if n in self.derived and not _is_inline_tuple(v.owner)}
        return required


def _is_inline_tuple(op: object) -> bool:
    return isinstance(op, relax.TupleOp) and name_of(op.result) is None


def _is_needed_tuple(op: Operation, stays: set[Operation]) -> bool:
    """Return whether `op` is part of an expression that stays: its fields are passed, not the tuple."""
    return _is_inline_tuple(op) and any(use.operation in stays for use in op.results[0].uses)


def liftable(functions: Sequence[relax.FuncOp], weights: Sequence[Sequence[SSAValue]]) -> list[Liftable]:
    """Return the liftable computations of functions that share weights, numbered in the order of the first one.

    Raises `TiraxError` if the weights have different types.
    """
    first = [w.type for w in weights[0]]
    numbering: dict[Hashable, int] = {}
    liftables: list[Liftable] = []
    for func, own in zip(functions, weights, strict=True):
        types = [w.type for w in own]
        symbols = bind_variables(types, first) if len(types) == len(first) else {}
        if [SymbolSubstitution(symbols).attribute(t) for t in types] != first:
            raise TiraxError(
                f"@{func.sym_name.data} has other weights than @{functions[0].sym_name.data}",
                location=location_of(func),
                expected=", ".join(map(str, first)),
                found=", ".join(map(str, types)),
                hint="functions with a shared transformation have the same parameters after the first num_input",
            )
        known = {v: symbols[v] for v in definable_vars(types)}
        liftables.append(_number(Liftable(func, list(own), known), numbering))
    common = set(liftables[0].value)
    for each in liftables:
        common.intersection_update(each.value)
    for each in liftables:
        each.restrict(common)
    return liftables


def _number(lifted: Liftable, numbering: dict[Hashable, int]) -> Liftable:
    seen: dict[Hashable, int] = {}
    substitution = SymbolSubstitution(lifted.symbols)

    def give(value: SSAValue, key: Hashable, derived: bool) -> None:
        seen[key] = seen.get(key, 0) + 1
        number = numbering.setdefault((key, seen[key]), len(numbering))
        lifted.number[value] = number
        lifted.value[number] = value
        if derived:
            lifted.derived.add(number)

    for i, weight in enumerate(lifted.weights):
        give(weight, i, derived=True)
    for op in lifted.func.body.block.ops:
        if not isinstance(op, relax.DataflowOp):
            continue
        for binding in op.body.block.ops:
            if _can_move(binding, lifted):
                operands = tuple(lifted.number[v] for v in binding.operands)
                derived = any(n in lifted.derived for n in operands)
                give(binding.results[0], (_text(binding, substitution), operands), derived)
        for inner, outer in zip(op.output_op.values_, op.outputs, strict=True):
            if inner in lifted.number:
                lifted.number[outer] = lifted.number[inner]
    return lifted


def _text(op: Operation, substitution: SymbolSubstitution) -> Hashable:
    """Return the key of an op without its operands."""
    properties = sorted((k, substitution.attribute(v)) for k, v in op.properties.items())
    return op.name, tuple(properties), substitution.attribute(op.results[0].type)


def _can_move(op: Operation, lifted: Liftable) -> bool:
    if len(op.results) != 1 or not is_removable(op) or isinstance(op, _NOT_LIFTED) or op.name == STOP:
        return False
    return all(v in lifted.number for v in op.operands) and all(v in lifted.symbols for v in mentioned_by([op]))


def ancestors(lifted: Liftable, numbers: Iterable[int]) -> list[Operation]:
    """Return the bindings that compute these values, in order."""
    stack = [lifted.value[n] for n in numbers]
    ancestors = set[Operation]()
    while stack:
        op = stack.pop().owner
        if isinstance(op, Operation) and op not in ancestors:
            ancestors.add(op)
            stack += [lifted.value[lifted.number[v]] for v in op.operands]
    return [op for op in lifted.func.body.block.walk() if op in ancestors]
