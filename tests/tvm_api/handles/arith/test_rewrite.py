"""The rules of `rewrite_simplify`: each holds for small integers of every sign; what comes out is TVM's normal form."""

import itertools
import random
from functools import partial
from math import trunc

import pytest
from strength import only_full

from tirax.diagnostics import TiraxError
from tirax.handles.equality import structural_equal
from tirax.handles.tir import expr_kinds as k
from tirax.handles.tir.intrinsics import bitwise_and, clz, shift_left, shift_right, vscale
from tirax.handles.tir.prim_expr import const, floordiv, floormod, if_then_else, logical_and, maximum, minimum
from tirax.handles.tir.prim_expr import truncdiv as tdiv
from tirax.handles.tir.prim_expr import truncmod as tmod
from tirax.handles.tir.variables import SizeVar, Var
from tirax.tvm_api.handles.arith import rewrite_rules
from tirax.tvm_api.handles.arith.analyzer import Analyzer, ConstIntBound
from tirax.tvm_api.handles.arith.rewrite import RewriteSimplifier
from tirax.tvm_api.handles.arith.rules import rule_table
from tirax.tvm_api.handles.arith.simplifier import Extension
from tirax.tvm_api.handles.arith.terms import expression_of, term_of

RULES = [rule for rules in rule_table().values() for rule in rules]
VALUES = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b, "floormod": lambda a, b: a % b,
    "div": lambda a, b: trunc(a / b), "truncmod": lambda a, b: a - trunc(a / b) * b,
    "min": min, "max": max, "select": lambda c, a, b: a if c else b, "not": lambda a: not a,
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
}  # fmt: skip
QUESTIONS = {
    "nonneg": lambda x: x >= 0, "positive": lambda x: x > 0, "divides": lambda x: x >= 0, "varies": lambda x: True,
    "plain": lambda x: True,
    "within": lambda x, n: 0 <= x < n, "same": lambda x, y: x == y, "negated": lambda x, y: x == -y,
}  # fmt: skip


def value(pattern, binding):
    op, *parts = pattern
    if op in ("any", "const"):
        return binding[parts[0]]
    return parts[0] if op == "number" else VALUES[op](*(value(p, binding) for p in parts))


def answer(binding, question, operands):
    return QUESTIONS[question](*(value(p, binding) for p in operands))


def names_in(pattern):
    op, *parts = pattern
    return {parts[0]} if op in ("any", "const") else set() if op == "number" else set().union(*map(names_in, parts))


def logical(pattern, actual):
    """The variables that stand for conditions."""
    op, *parts = pattern
    if op in ("any", "const", "number"):
        return actual
    if op in ("and", "or", "not"):
        actual |= {p[1] for p in parts if p[0] == "any"}
    if op == "select":
        actual |= {parts[0][1]}
    for p in parts:
        logical(p, actual)
    return actual


def agreements(rule, tries=200):
    """How often both sides were compared; they must agree each time."""
    draw, compared = random.Random(rule.text), 0
    names, conditions = sorted(names_in(rule.before)), logical(rule.before, set())
    for _ in range(tries):
        binding = {n: draw.random() < 0.5 if n in conditions else draw.randint(-9, 9) for n in names}
        if rule.text.count("c3 == c1 * c2"):
            binding["c3"] = binding["c1"] * binding["c2"]
        try:
            if rule.condition is not None and not rule.condition(binding, partial(answer, binding)):
                continue
            before = value(rule.before, binding)
        except ZeroDivisionError:
            continue
        assert before == value(rule.after, binding), (rule.text, rule.before, binding)
        compared += 1
    return compared


@only_full
def test_each_rule_holds():
    assert len({r.text for r in RULES}) > 200
    rare = [r.text for r in RULES if agreements(r) == 0 and agreements(r, 20_000) == 0]
    assert not rare, f"no values were found for {rare}"


def test_a_wrong_rule_is_detected():
    from tirax.tvm_api.handles.arith.rules import rules_of

    for row in (
        "x // c1 * c1 -> x  if c1 > 0",
        "tdiv(x + c1, c2) -> tdiv(x, c2) + c1 // c2  if c2 > 0 and c1 % c2 == 0",
    ):
        with pytest.raises(AssertionError):
            agreements(next(rules_of(row, either_way=False)))


def test_every_table_is_read():
    tables = [t for n, t in vars(rewrite_rules).items() if n.isupper() and isinstance(t, str)]
    rows = {row.strip() for t in tables for row in t.splitlines() if row.strip()}
    assert rows <= {r.text for r in RULES}


x, y, z = Var("x"), Var("y"), Var("z")
n = SizeVar("n")
FORMS = [
    (x + (y - x), y, ()),
    (floordiv(n + x - n, 8), floordiv(x, 8), ()),
    (maximum(n, -1), n, ()),
    (x + 2 + 3 + 4 + x * 3, x * 4 + 9, ()),
    (x * y + 10 * x, x * (y + 10), ()),
    (minimum(x, y - z) + z, minimum(x + z, y), ()),
    (floordiv(x, 8) * 8 + floormod(x, 8), x, ()),
    (y - tdiv(y - z, 5) * 5, tmod(y - z, 5) + z, ()),
    (floordiv(x * 8 + 39, 16), floordiv(x, 2) + 2, ()),
    (floormod(x * 32 + y, 64), floormod(x, 2) * 32 + y, (y >= 0, y < 32)),
    (tdiv(x * 4 + y, 2), x * 2 + tdiv(y, 2), (x >= 0, y >= 0)),
    (maximum(3 - x, 1), 3 - minimum(x, 2), ()),
    (x - 1 < y, x <= y, ()),
    (x * 2 >= 3, k.LE(2, x), ()),
    (k.LT(x, 8 - y), k.LT(x + y, 8), ()),
    (k.LT(8 - y, x), k.LT(8, x + y), ()),
    (x + 1 < maximum(8, x), x < 7, ()),
    (logical_and(floordiv(x, 8) == 3, floormod(x, 8) == 4), x == 28, ()),
    (k.Select(x * 3 + 1 != 0, y, z), y, ()),
    (x * y <= 0, const(True), (x >= 0, y <= 0)),
    (k.Ramp(x, 1, 4) + k.Ramp(y, 2, 4), k.Ramp(x + y, 3, 4), ()),
    (k.FloorDiv(k.Ramp(x * 8 + 1, 1, 4), k.Broadcast(8, 4)), k.Broadcast(x, 4), ()),
    (k.FloorMod(k.Ramp(x * 8 + 1, 1, 4), k.Broadcast(8, 4)), k.Ramp(1, 1, 4), ()),
    (k.FloorDiv(k.Ramp(x * 4, 1, 5), k.Broadcast(64, 5)), k.FloorDiv(k.Ramp(x * 4, 1, 5), k.Broadcast(64, 5)), ()),
    # of a negative x the lanes round to zero from both sides
    (k.Div(k.Ramp(x, 4, 4), k.Broadcast(2, 4)), k.Div(k.Ramp(x, 4, 4), k.Broadcast(2, 4)), ()),
    (if_then_else(x > 2, if_then_else(x > 1, 1, 0), 0), if_then_else(k.LT(2, x), 1, 0), ()),
    (k.Cast("float16", const(3, "int8")), const(3, "float16"), ()),
    (shift_left(1, 10), const(1024), ()),
    (k.Let(x, 1, x + y), y + 1, ()),
    (clz(const(128)), const(24), ()),
    (x - y * 4, x + y * -4, ()),
    (2 * z + minimum(x, y - 2 * z), minimum(x + z * 2, y), ()),
    (maximum(2 - x * 4, 0) + x * 4, maximum(x * 4, 2), ()),
    (logical_and(x - y * 5 >= 0, x - y * 5 < 5), y == floordiv(x, 5), ()),
    (floordiv(x, vscale() * 4), const(0), (x >= 0, x < vscale() * 4)),
    (floormod(x, vscale() * 4), x, (x >= 0, x < vscale() * 4)),
    (floordiv(x, vscale() * 4), floordiv(x, vscale() * 4), (x >= 0, x < vscale() * 8)),
]


@pytest.mark.parametrize(("before", "after", "known"), FORMS, ids=[str(f[0]) for f in FORMS])
def test_normal_forms(before, after, known):
    analyzer = Analyzer()
    with analyzer.constraint_scope(logical_and(*known, const(True))):
        simplified = analyzer.rewrite_simplify(before)
    assert structural_equal(simplified, after), f"{simplified} is not {after}"


def test_products_are_compared_with_sums_on_request():
    condition, known = x * y * 59 < (y + x) * 176128, logical_and(x > 0, y > 0, x < 4096, y < 4096)
    for extensions, expected in ((Extension.NoExtensions, False), (Extension.ComparisonOfProductAndSum, True)):
        analyzer = Analyzer()
        analyzer.enabled_extensions = extensions
        with analyzer.constraint_scope(known):
            assert structural_equal(analyzer.rewrite_simplify(condition), const(True)) == expected


def test_division_by_zero_is_refused():
    with pytest.raises(TiraxError, match="divides by zero"):
        Analyzer().rewrite_simplify(k.FloorDiv(k.Ramp(1, 1, 2), k.Broadcast(0, 2)))


def random_term(draw, depth):
    if depth == 0:
        return draw.choice([x, y, const(draw.randint(-5, 8))])
    a, b = random_term(draw, depth - 1), random_term(draw, depth - 1)
    divisor = const(draw.choice([2, 3, 4, 8]))
    make = draw.choice([k.Add, k.Sub, k.Mul, k.Min, k.Max, k.FloorDiv, k.FloorMod, k.Div, k.Mod])
    return make(a, divisor if make in (k.FloorDiv, k.FloorMod, k.Div, k.Mod) else b)


def value_of(term, values):
    if term.op in ("const", "leaf"):
        return term.value if term.op == "const" else values[term.value]
    if term.op == "call":
        a, b = (value_of(arg, values) for arg in term.args)
        return a >> b if term.value == "shift_right" else a & b
    return VALUES[term.op](*(value_of(a, values) for a in term.args))


def test_random_expressions_keep_their_values_and_come_to_rest():
    draw, changed = random.Random(7), 0
    for _ in range(150):
        term = term_of(random_term(draw, 3).ssa)
        condition = term_of(k.LT(expression_of(term), random_term(draw, 2)).ssa)
        for inputs in (term, condition):
            simplifier = RewriteSimplifier(Analyzer())
            simplified = simplifier.simplified(inputs)
            assert simplifier._steps < 300
            changed += simplified is not inputs
            for _ in range(10):
                values = {v.ssa: draw.randint(-20, 20) for v in (x, y)}
                assert value_of(simplified, values) == value_of(inputs, values), (
                    expression_of(inputs),
                    expression_of(simplified),
                )
    assert changed > 150


@only_full
def test_trees_that_are_too_deep_stay():
    deep = x
    for i in range(20_000):
        deep = k.Add(deep, k.FloorMod(y, const(i + 2)))
    assert Analyzer().rewrite_simplify(deep) is deep


def test_bounds_hold_for_random_expressions():
    """Of divisors of both signs, casts, shifts and selections, too."""
    draw, narrow = random.Random(11), 0
    for _ in range(300):
        analyzer, ranges = Analyzer(), {}
        for v in (x, y):
            low = draw.randint(-9, 9)
            ranges[v.ssa] = (low, low + draw.randint(0, 12))
            analyzer.update(v, ConstIntBound(*ranges[v.ssa]))
        term = term_of(random_bounded(draw, 2).ssa)
        bound = analyzer.const_int_bound(expression_of(term))
        narrow += bound.max_value - bound.min_value < 1000
        for a, b in itertools.product(*(range(low, high + 1) for low, high in ranges.values())):
            try:
                value = value_of(term, dict(zip(ranges, (a, b), strict=True)))
            except ZeroDivisionError:
                continue
            assert bound.min_value <= value <= bound.max_value, (str(expression_of(term)), ranges, bound, value)
    assert narrow > 200


def random_bounded(draw, depth):
    if depth == 0:
        return draw.choice([x, y, const(draw.randint(-5, 8))])
    a, b = random_bounded(draw, depth - 1), random_bounded(draw, depth - 1)
    make = draw.choice([k.Add, k.Sub, k.Mul, k.Min, k.Max, k.FloorDiv, k.FloorMod, k.Div, k.Mod, "shift", "and", "if"])
    if make == "shift":
        return shift_right(a, const(draw.randint(0, 5)))
    if make == "and":
        return bitwise_and(a, b)
    return k.Select(k.LT(x, y), a, b) if make == "if" else make(a, b)


LEAST = -(2**31)
ENDS = {
    "the least minus x": (lambda v: const(LEAST, "int32") - v == 0, "x == -2147483648"),
    "x is the least": (lambda v: v == LEAST, "x == -2147483648"),
    "x minus the least": (lambda v: v - LEAST == 0, "x - -2147483648 == 0"),
    "x plus the least": (lambda v: v + LEAST == 0, "T.bool(False)"),
    "x plus the greatest": (lambda v: v + (2**31 - 1) == 0, "x == -2147483647"),
}


@pytest.mark.parametrize("name", ENDS)
def test_constants_of_rules_do_not_overflow(name: str) -> None:
    make, expected = ENDS[name]
    assert str(Analyzer().rewrite_simplify(make(Var("x", "int32")))) == expected


def test_a_variable_that_equals_an_expression_of_itself_stays():
    a, b = Var("a"), Var("b")
    narrow = [k.Cast("int32", k.Cast("uint8", v)) for v in (a, b)]
    for known in (a == narrow[0], logical_and(a == narrow[1], b == narrow[0])):
        analyzer = Analyzer()
        with analyzer.constraint_scope(known):
            assert RewriteSimplifier(analyzer).simplified(term_of(a.ssa)) is term_of(a.ssa)
