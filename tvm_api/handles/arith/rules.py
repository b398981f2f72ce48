"""Rules as text, compiled to patterns on terms: `rule_table` reads the rows of `rewrite_rules`."""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

from xdsl.dialects.builtin import IntegerType, i1

from ....dialects.dtypes import bit_width, is_unsigned
from ....dialects.sym.operations import COMPARISONS
from . import rewrite_rules
from .terms import Term, build, const

Pattern = tuple[Any, ...]
Binding = dict[str, Term]

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "floormod",
    ast.BitAnd: "and", ast.BitOr: "or", ast.Lt: "lt", ast.LtE: "le", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
_FUNCTIONS = {"tdiv": "div", "tmod": "truncmod", "min": "min", "max": "max", "select": "select"}
_COMMUTE = frozenset({"add", "mul", "min", "max", "and", "or", "eq", "ne"})


@dataclass(frozen=True)
class RewriteRule:
    """What a row says: a pattern, what replaces it, on which condition, and whether that is simplified again."""

    text: str
    before: Pattern
    after: Pattern
    condition: CodeType | None
    again: bool


def _pattern(node: ast.AST) -> Pattern:
    match node:
        case ast.Name(id=name):
            return ("const" if name[0] == "c" else "any", name)
        case ast.Constant(value=value):
            return ("number", value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return ("number", -value)
        case ast.UnaryOp(operand=operand):
            return ("not", _pattern(operand))
        case ast.BinOp(left=left, op=op, right=right):
            return (_OPERATORS[type(op)], _pattern(left), _pattern(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return (_OPERATORS[type(op)], _pattern(left), _pattern(right))
        case ast.Call(func=ast.Name(id=name), args=args):
            return (_FUNCTIONS[name], *map(_pattern, args))
        case _:
            raise ValueError(ast.unparse(node))


def pattern_of(text: str) -> Pattern:
    """The pattern that one side of a row is."""
    return _pattern(ast.parse(text.strip(), mode="eval").body)


def _variants(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern with the sides of what commutes in each order; constants stay on the right, where terms have them."""
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
    """The rules of a table's rows."""
    for row in filter(None, map(str.strip, table.splitlines())):
        text, _, condition = row.partition("  if ")
        again = " -> " in text
        before, after = map(pattern_of, text.split("->" if again else "=>"))
        code = compile(condition, row, "eval") if condition else None
        for variant in dict.fromkeys(_variants(before) if either_way else [before]):
            yield RewriteRule(row, variant, after, code, again)


def _dual(table: str) -> str:
    return table.replace("min(", "\0").replace("max(", "min(").replace("\0", "max(")


@cache
def rule_table() -> Mapping[str, list[RewriteRule]]:
    """The rules by the operation that they begin with, in the order in which they are tried."""
    r = rewrite_rules
    tables = [
        *((t, False) for t in r.WITH_DUAL_AS_WRITTEN), *((_dual(t), False) for t in r.WITH_DUAL_AS_WRITTEN),
        *((t, True) for t in r.WITH_DUAL_EITHER_WAY), *((_dual(t), True) for t in r.WITH_DUAL_EITHER_WAY),
        *((t, True) for t in r.ALONE), *((t, True) for t in r.EITHER_WAY), *((t, False) for t in r.AS_WRITTEN),
    ]  # fmt: skip
    found: dict[str, list[RewriteRule]] = {}
    for rule in itertools.chain.from_iterable(rules_of(*table) for table in tables):
        found.setdefault(rule.before[0], []).append(rule)
    return found


@cache
def _rules_for(op: str, kinds: tuple[str, ...]) -> list[RewriteRule]:
    """The rules that may fit an operation on operands of these operations."""
    return [r for r in rule_table().get(op, ()) if all(map(_may_be, r.before[1:], kinds))]


def _may_be(pattern: Pattern, kind: str) -> bool:
    return pattern[0] == "any" or kind == ("const" if pattern[0] in ("const", "number") else pattern[0])


def matching(term: Term) -> Iterable[RewriteRule]:
    """The rules that may fit a term, by its operation and those of its operands."""
    return _rules_for(term.op, tuple(a.op for a in term.args))


def match(pattern: Pattern, term: Term, binding: Binding) -> bool:
    """Whether a term has the form of a pattern; what its variables stand for comes into `binding`."""
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
    """Whether the condition of a rule holds; `questions` answers what it asks of expressions."""
    if rule.condition is None:
        return True
    values = {name: t.value if name[0] == "c" else Operand(t) for name, t in binding.items()}
    return bool(eval(rule.condition, {"__builtins__": {}}, {**questions, **values}))  # noqa: S307


class Operand:
    """A term in the condition of a rule: `x * c1`, `x - z` are terms again."""

    __slots__ = ("term",)

    def __init__(self, term: Term):
        self.term = term

    def _with(self, op: str, other: Operand | int) -> Operand:
        right = other.term if isinstance(other, Operand) else const(other, self.term.dtype)
        return Operand(build(op, self.term, right))

    def __add__(self, other: Operand | int) -> Operand:
        return self._with("add", other)

    def __sub__(self, other: Operand | int) -> Operand:
        return self._with("sub", other)

    def __mul__(self, other: Operand | int) -> Operand:
        return self._with("mul", other)


class OverflowingRuleError(Exception):
    """A rule computes a constant that its signed dtype does not hold: nothing overflows, so it says nothing here."""


def instance(pattern: Pattern, binding: Binding, like: Any) -> Term:
    """The term that a pattern is where its variables stand for terms; numbers are of the dtype of `like`.

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
    """The dtype of what a term is about: of the operands of a condition."""
    while term.op in COMPARISONS or term.op in ("and", "or", "not", "select"):
        if term.op == "select" and term.dtype != i1:
            return term.dtype
        term = term.args[0]
    return term.dtype
