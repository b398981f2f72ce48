"""Rules as text, compiled to patterns on terms: `rule_table` parses the rows of `rewrite_rules`."""

from __future__ import annotations

import ast
import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from xdsl.dialects.builtin import IntegerType, i1

from ....dialects.dtypes import bit_width, is_unsigned
from ....dialects.sym.operations import COMPARISONS, OPERATIONS
from . import rewrite_rules
from .terms import Term, build, const

Pattern = tuple[Any, ...]
Binding = dict[str, Term]
Ask = Callable[[str, tuple[Pattern, ...]], bool]
"""Evaluates a predicate in a condition: its name, and the patterns of its arguments."""
Condition = Callable[[Mapping[str, Any], Ask], Any]
"""Evaluates the condition of a rule from the constants and the predicates."""

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "floormod",
    ast.BitAnd: "and", ast.BitOr: "or", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
_TRUNCATED = {
    "tdiv": "div", "tmod": "truncmod", "min": "min", "max": "max", "select": "select", "div": "div", "mod": "truncmod",
}  # fmt: skip
_FLOORED = {**_TRUNCATED, "div": "floordiv", "mod": "floormod"}
_BRACKETS: dict[type[ast.AST], str] = {ast.List: "[", ast.Set: "{"}
_COMMUTE = frozenset({"add", "mul", "min", "max", "and", "or", "eq", "ne"})


@dataclass(frozen=True)
class RewriteRule:
    """A compiled row: a pattern, its replacement, the condition, and whether the result is simplified again."""

    text: str
    before: Pattern
    after: Pattern
    condition: Condition | None
    again: bool


class _Reading(NamedTuple):
    """One reading of a row: the meaning of its functions, and the brackets whose operands are exchanged."""

    functions: Mapping[str, str] = _TRUNCATED
    swapped: tuple[type[ast.AST] | None, ...] = ()


def _readings(row: str) -> list[_Reading]:
    roundings = (_TRUNCATED, _FLOORED) if re.search(r"\b(div|mod)\(", row) else (_TRUNCATED,)
    brackets: list[list[type[ast.AST] | None]] = [[None, k] if b in row else [None] for k, b in _BRACKETS.items()]
    return [_Reading(functions, swapped) for functions in roundings for swapped in itertools.product(*brackets)]


_PLAIN = _Reading()


def _pattern(node: ast.AST, reading: _Reading = _PLAIN) -> Pattern:
    match node:
        case ast.Name(id=name):
            return ("const" if name[0] == "c" else "any", name)
        case ast.Constant(value=value):
            return ("number", value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return ("number", -value)
        case ast.UnaryOp(operand=operand):
            return ("not", _pattern(operand, reading))
        case ast.BinOp(left=left, op=op, right=right):
            return (_OPERATORS[type(op)], _pattern(left, reading), _pattern(right, reading))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return (_OPERATORS[type(op)], _pattern(left, reading), _pattern(right, reading))
        case ast.Call(func=ast.Name(id=name), args=args):
            return (reading.functions[name], *(_pattern(a, reading) for a in args))
        case ast.List(elts=[operation]) | ast.Set(elts=[operation]):
            op, a, b = _pattern(operation, reading)
            return (op, b, a) if type(node) in reading.swapped else (op, a, b)
        case _:
            raise ValueError(ast.unparse(node))


def _parsed(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def pattern_of(text: str) -> Pattern:
    """Parse one side of a row to a pattern."""
    return _pattern(_parsed(text))


def _condition(node: ast.AST) -> Condition:
    match node:
        case ast.Name(id=name):
            return lambda numbers, ask: numbers[name]
        case ast.Constant(value=value):
            return lambda numbers, ask: value
        case ast.UnaryOp(operand=operand):
            negated = _condition(operand)
            return lambda numbers, ask: not negated(numbers, ask)
        case ast.BinOp(left=left, op=op, right=right):
            return _joined(_OPERATORS[type(op)], _condition(left), _condition(right))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            sides = list(map(_condition, (left, *rest)))
            return _all([_joined(_OPERATORS[type(op)], *pair) for op, pair in zip(ops, pairwise(sides), strict=True)])
        case ast.BoolOp(values=values):
            return _all(list(map(_condition, values)))
        case ast.Call(func=ast.Name(id=name), args=args):
            operands = tuple(map(_pattern, args))
            return lambda numbers, ask: ask(name, operands)
        case _:
            raise ValueError(ast.unparse(node))


def _joined(name: str, a: Condition, b: Condition) -> Condition:
    evaluate = OPERATIONS[name].evaluate
    return lambda numbers, ask: evaluate(a(numbers, ask), b(numbers, ask))


def _all(parts: list[Condition]) -> Condition:
    return parts[0] if len(parts) == 1 else lambda numbers, ask: all(part(numbers, ask) for part in parts)


def _variants(pattern: Pattern) -> Iterator[Pattern]:
    """Yield the pattern with commutative operands in each order; constants remain on the right, as in terms."""
    op, *parts = pattern
    if op in ("any", "const", "number"):
        yield pattern
        return
    sides = list(itertools.product(*map(_variants, parts)))
    yield from ((op, *args) for args in sides)
    if op in _COMMUTE:
        fixed = ("const", "number") if op in ("add", "mul") else ()
        yield from ((op, *reversed(args)) for args in sides if args[1][0] not in fixed)


def rules_of(table: str, either_way: bool) -> Iterator[RewriteRule]:
    """Yield the rules of a table's rows."""
    for row in filter(None, map(str.strip, table.splitlines())):
        again = " -> " in row
        parts = _parsed(re.sub(" -> | => |  if ", ", ", row))
        assert isinstance(parts, ast.Tuple)
        left, right, *conditions = parts.elts
        condition = _condition(conditions[0]) if conditions else None
        for reading in _readings(row):
            before, after = _pattern(left, reading), _pattern(right, reading)
            for variant in dict.fromkeys(_variants(before) if either_way else [before]):
                yield RewriteRule(row, variant, after, condition, again)


def _dual(table: str) -> str:
    return table.replace("min(", "\0").replace("max(", "min(").replace("\0", "max(")


@cache
def rule_table() -> Mapping[str, list[RewriteRule]]:
    """Return the rules by their root operation, in order of application."""
    r = rewrite_rules
    tables = [
        *((t, False) for t in r.WITH_DUAL_AS_WRITTEN), *((_dual(t), False) for t in r.WITH_DUAL_AS_WRITTEN),
        *((t, True) for t in r.WITH_DUAL_EITHER_WAY), *((_dual(t), True) for t in r.WITH_DUAL_EITHER_WAY),
        *((t, True) for t in r.ALONE), *((t, True) for t in r.EITHER_WAY), *((t, False) for t in r.AS_WRITTEN),
    ]  # fmt: skip
    by_op: dict[str, list[RewriteRule]] = {}
    for rule in itertools.chain.from_iterable(rules_of(*table) for table in tables):
        by_op.setdefault(rule.before[0], []).append(rule)
    return by_op


@cache
def _rules_for(op: str, kinds: tuple[str, ...]) -> list[RewriteRule]:
    """Return the rules that may match an operation on operands with these operations."""
    return [r for r in rule_table().get(op, ()) if all(map(_may_be, r.before[1:], kinds))]


def _may_be(pattern: Pattern, kind: str) -> bool:
    return pattern[0] == "any" or kind == ("const" if pattern[0] in ("const", "number") else pattern[0])


def matching(term: Term) -> Iterable[RewriteRule]:
    """Return the rules that may match a term, by its operation and those of its operands."""
    return _rules_for(term.op, tuple(a.op for a in term.args))


def match(pattern: Pattern, term: Term, binding: Binding) -> bool:
    """Match a term against a pattern, adding its variables to `binding`; return whether it matches."""
    op = pattern[0]
    if op == "number":
        return term.op == "const" and term.value == pattern[1]
    if op in ("any", "const"):
        if op == "const" and term.op != "const":
            return False
        known = binding.setdefault(pattern[1], term)
        return known is term
    if term.op != op:
        return False
    return all(match(p, a, binding) for p, a in zip(pattern[1:], term.args, strict=True))


def holds(rule: RewriteRule, binding: Binding, questions: Mapping[str, Callable[..., bool]]) -> bool:
    """Evaluate a rule's condition with the predicates in `questions`. Raises `OverflowingRuleError`."""
    if rule.condition is None:
        return True

    def ask(name: str, operands: tuple[Pattern, ...]) -> bool:
        return questions[name](*(instance(p, binding, None) for p in operands))

    return rule.condition({name: t.value for name, t in binding.items()}, ask)


class OverflowingRuleError(Exception):
    """A rule computes a constant out of range of its signed dtype: it does not apply, since nothing overflows."""


def instance(pattern: Pattern, binding: Binding, like: Any) -> Term:
    """Substitute terms for the variables of a pattern; numbers have the dtype of `like`.

    Raises `OverflowingRuleError`.
    """
    op, *parts = pattern
    if op in ("any", "const"):
        return binding[parts[0]]
    if op == "number":
        return const(parts[0], i1 if isinstance(parts[0], bool) else like)
    args = [instance(p, binding, like) for p in parts]
    exact = _EXACT.get(op)
    if exact is not None and all(a.op == "const" for a in args):
        _check_range(exact(*(a.value for a in args)), args[0].dtype)
    return build(op, *args)


_EXACT: dict[str, Callable[[Any, Any], Any]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def _check_range(value: Any, dtype: Any) -> None:
    if isinstance(dtype, IntegerType) and dtype != i1 and not is_unsigned(dtype):
        half = 1 << (bit_width(dtype) - 1)
        if not -half <= value < half:
            raise OverflowingRuleError


def dtype_within(term: Term) -> Any:
    """Return the dtype of a term; for a condition, that of its operands."""
    while term.op in COMPARISONS or term.op in ("and", "or", "not", "select"):
        if term.op == "select" and term.dtype != i1:
            return term.dtype
        term = term.args[0]
    return term.dtype
