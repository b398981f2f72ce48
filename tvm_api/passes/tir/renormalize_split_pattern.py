"""`renormalize-split-pattern`: divide first in index arithmetic of split loops, and take remainders of quotients.

    (i * 128 + t) % 256 // 8   ->   (i * 16 + t // 8) % 32
    (i * 128 + t) // 256       ->   (i + t // 128) // 2
    i * 128 + t < 640          ->   (i + t // 128) // 5 < 1

With the range of `t` (`t < 128`), `simplify` then reduces these to the loop variable `i`, as TVM's
schedules for GPUs expect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import tir
from ....dialects.quick import operations
from ....dialects.sym import ValueOp
from ....dialects.sym.expr import i32, i64
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import clone_expr
from ....ir.rewriting.edit import inline_before
from ....transforms.tir.walk import functions, remove_dead
from ...handles.arith.rules import Binding, match, pattern_of
from ...handles.arith.terms import Term, build, const, expression_of, raw, term_of


@dataclass(frozen=True)
class RenormalizeSplitPattern(Pass):
    """Divide before taking remainders, and compare quotients, of 32- and 64-bit integers by constants.

    `x % 12 // 4` becomes `x // 4 % 3`, and `x < 4` becomes `x // 4 < 1`.
    """

    name = "renormalize-split-pattern"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for user in operations(func):
                if not isinstance(user, _PARTS):
                    _renormalize_operands(user)
            remove_dead(func)


_PARTS = (tir.BinaryExpr, tir.NotOp)
"""Parts of expressions, which are rewritten with the expression that uses them."""


def _renormalize_operands(user: Operation) -> None:
    for position, value in enumerate(user.operands):
        if isinstance(value.owner, _PARTS) or _is_symbolic(value):
            before = term_of(value)
            after = _renormalized(before, {})
            if after is not before:
                user.operands[position] = _build_before(after, user)


def _is_symbolic(value: SSAValue) -> bool:
    return isinstance(value.owner, ValueOp) and term_of(value).op != "leaf"


def _build_before(term: Term, user: Operation) -> SSAValue:
    block = Block()
    new = clone_expr(expression_of(term).ssa, block, {})
    inline_before(block, user)
    return new


def _renormalized(term: Term, memo: dict[Term, Term]) -> Term:
    """Return a term with renormalized parts, innermost first."""
    done = memo.get(term)
    if done is None:
        args = [_renormalized(a, memo) for a in term.args]
        changed = any(a is not b for a, b in zip(args, term.args, strict=True))
        now = raw(term.op, *args, dtype=term.dtype, value=term.value) if changed else term
        done = memo[term] = _rewritten(now, memo)
    return done


def _rewritten(term: Term, memo: dict[Term, Term]) -> Term:
    for before, rule in _RULES.get(term.op, ()):
        binding: Binding = {}
        if match(before, term, binding) and binding["x"].dtype in (i32, i64):
            after = rule(binding)
            if after is not None:
                return _renormalized(after, memo)
    return term


def _remainder_divided(b: Binding) -> Term | None:
    """`x % c1 // c2` -> `x // c2 % (c1 // c2)`."""
    x, c1, c2 = b["x"], b["c1"], b["c2"]
    if c2.value <= 0 or c1.value % c2.value:
        return None
    return build("floormod", build("floordiv", x, c2), const(c1.value // c2.value, x.dtype))


def _sum_divided(b: Binding) -> Term | None:
    """`(x * c1 + y) // c2` -> `(x * (c1 / c) + y // c) // (c2 / c)` with the greatest common divisor `c`."""
    x, y, c1, c2 = b["x"], b["y"], int(b["c1"].value), int(b["c2"].value)
    common = gcd(c1, c2)
    if c1 <= 0 or c2 <= 0 or common == 1:
        return None
    inner, divisor, factor = (const(n, x.dtype) for n in (common, c2 // common, c1 // common))
    rest = build("floordiv", build("add", y, b["z"]) if "z" in b else y, inner)
    return build("floordiv", build("add", build("mul", x, factor), rest), divisor)


def _bounded(b: Binding) -> Term | None:
    """`x < c` -> `x // c < 1`."""
    x, c = b["x"], b["c"]
    return build("lt", build("floordiv", x, c), const(1, x.dtype)) if c.value > 1 else None


def _not_bounded(b: Binding) -> Term | None:
    """`c <= x` -> `1 <= x // c`."""
    x, c = b["x"], b["c"]
    return build("le", const(1, x.dtype), build("floordiv", x, c)) if c.value > 1 else None


_Rule = Callable[[Binding], Term | None]
_RULES: dict[str, list[tuple[tuple[object, ...], _Rule]]] = {
    "floordiv": [
        (pattern_of("x % c1 // c2"), _remainder_divided),
        (pattern_of("(x * c1 + y) // c2"), _sum_divided),
        (pattern_of("(x * c1 + y + z) // c2"), _sum_divided),
    ],
    "lt": [(pattern_of("x < c"), _bounded)],
    "le": [(pattern_of("c <= x"), _not_bounded)],
    "gt": [(("gt", ("const", "c"), ("any", "x")), _bounded)],
    "ge": [(("ge", ("any", "x"), ("const", "c")), _not_bounded)],
}
"""By operation: patterns, of which the first match applies, with their replacement."""
