"""Symbolic expressions: canonical form, text, and the analyzer, against brute force."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.parser import Parser

from tirax.dialects.sym import SymAttr
from tirax.dialects.sym.analyzer import Analyzer
from tirax.dialects.sym.expr import Const, SymExpr, Var, i32
from tirax.dialects.sym.operators import OPS, maximum, minimum, select
from tirax.dialects.sym.text import parse_expr
from tirax.dialects.sym.writing import expr_text
from tirax.ir.passes.transform import new_context

n, m = Var("n"), Var("m")


class Tree:
    """A random expression with the function that it should compute."""

    def __init__(self, text, function, expr):
        self.text, self.function, self.expr = text, function, expr

    def __repr__(self):
        return self.text


def leaf():
    constants = st.integers(-6, 9).map(lambda c: Tree(str(c), lambda _n, _m: c, Const(c)))
    names = st.sampled_from([Tree("n", lambda a, _b: a, n), Tree("m", lambda _a, b: b, m)])
    return constants | names


def binary(children):
    def build(kind, a, b):
        python = {
            "+": lambda x, y: x + y,
            "-": lambda x, y: x - y,
            "*": lambda x, y: x * y,
            "min": min,
            "max": max,
        }[kind]
        symbolic = {"min": minimum, "max": maximum}.get(kind, python)
        return Tree(
            f"({a} {kind} {b})",
            lambda x, y: python(a.function(x, y), b.function(x, y)),
            symbolic(a.expr, b.expr),
        )

    def divide(kind, a, d):
        python = (lambda x, y: x // y) if kind == "//" else (lambda x, y: x % y)
        return Tree(f"({a} {kind} {d})", lambda x, y: python(a.function(x, y), d), python(a.expr, d))

    plain = st.builds(build, st.sampled_from(["+", "-", "*", "min", "max"]), children, children)
    return plain | st.builds(divide, st.sampled_from(["//", "%"]), children, st.integers(1, 7))


trees = st.recursive(leaf(), binary, max_leaves=8)


@settings(max_examples=400, deadline=None)
@given(trees)
def test_the_canonical_form_keeps_the_value(tree):
    for a in (0, 1, 2, 5, 11):
        for b in (0, 3, 8):
            assert tree.expr.evaluate({"n": a, "m": b}) == tree.function(a, b)


@settings(max_examples=200, deadline=None)
@given(trees)
def test_text_round_trips(tree):
    text = expr_text(tree.expr)
    assert parse_expr(Parser(new_context(), text)) == tree.expr


@settings(max_examples=300, deadline=None)
@given(trees, st.integers(0, 5), st.integers(0, 6))
def test_the_analyzer_is_right_within_its_bounds(tree, low, width):
    analyzer = Analyzer()
    analyzer.bind(n, low, low + width)
    analyzer.bind(m, 0, 12, multiple_of=4)
    interval, residue = analyzer.bounds(tree.expr), analyzer.residue(tree.expr)
    simplified = analyzer.simplify(tree.expr)
    for a in range(low, low + width + 1):
        for b in (0, 4, 8, 12):
            value = tree.function(a, b)
            assert interval.low <= value <= interval.high
            assert value == residue.base if residue.step == 0 else (value - residue.base) % residue.step == 0
            assert simplified.evaluate({"n": a, "m": b}) == value


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (n + m, m + n),
        ((n + 1) * 2, 2 * n + 2),
        ((n * 4 + 3) // 4, n),
        ((n * 4 + m) % 4, m % 4),
        (n // 2 * 2 + n % 2, n),
        ((n // 2) // 3, n // 6),
        (minimum(n, n + 1), n),
        (n * m - m * n, Const(0)),
        (n * 6 // 4, n * 3 // 2),
        (select(Const(1), n, m), n),
        (n * m * 256 // (n * m * 64), Const(4)),
        ((n * m + n * 3) // n, m + 3),
        (n * n * m // (n * m), n),
        (n * m * 6 // (n * -4), m * 6 // Const(-4)),
        (n * m % n, Const(0)),
        (n * m * 6 % (n * 4), m * 6 % 4 * n),
    ],
)
def test_equal_means_equal(left: SymExpr, right: SymExpr):
    assert left == right
    assert hash(left) == hash(right)


@pytest.mark.parametrize("divisor", [n, n * 2, n * -3, n * m, n * n])
@pytest.mark.parametrize("dividend", [n * m, n * m * 5, n * m * -7 + n * 2, n * n * m + n, n * 3, n * m + 1, m])
def test_shared_factors_are_left_out_of_divisions(dividend: SymExpr, divisor: SymExpr):
    quotient, rest = dividend // divisor, dividend % divisor
    for values in ({"n": a, "m": b} for a in range(-4, 5) for b in range(-4, 5)):
        x, d = dividend.evaluate(values), divisor.evaluate(values)
        if d:
            assert (quotient.evaluate(values), rest.evaluate(values)) == (x // d, x % d)


@pytest.mark.parametrize("d", [Const(4), Var("m"), Var("m") // 2 + 1, Var("m") * Var("k")], ids=str)
@pytest.mark.parametrize("factor", [Const(1), Const(3), Var("j") + 2], ids=str)
def test_a_quotient_and_its_remainder_are_joined(d, factor):
    x = n * 3 + Var("i")
    assert (x // d * d + x % d) * factor + 7 == x * factor + 7
    assert x // d * d * 2 + x % d != x


def test_integer_types_take_part_in_equality():
    assert Const(4, i32) != Const(4)
    assert expr_text(Const(128, i32)) == "128 : i32"
    assert (Var("k", i32) + 1).dtype == i32


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("n*4+1", "n * 4 + 1"),
        ("(n + 1) * (m - 2)", "n * m - n * 2 + m - 2"),
        ("n floordiv 2", "n floordiv 2"),
        ("min(n, 8) - 3", "min(n, 8) - 3"),
        ("-n + 3", "-n + 3"),
        ("m + 2 + n", "m + 2 + n"),
        ("640 + n", "640 + n"),
        ("-11 + n", "n - 11"),
        ("-11 - n", "-11 - n"),
        ("2 - n + m", "2 - n + m"),
        ("(n + 1) floordiv 2 + 1", "(n + 1) floordiv 2 + 1"),
        ("(n + 3) floordiv 2", "(n + 3) floordiv 2"),
        ("(n - 3) floordiv 2 - m", "(n - 3) floordiv 2 - m"),
        ("(n + 3) floordiv 2 - m + 1", "(n + 3) floordiv 2 - m + 1"),
        ("(n + 3) floordiv 2 * 4 + 1", "((n + 3) floordiv 2) * 4 + 1"),
        ("(n + 4) floordiv 2", "2 + n floordiv 2"),
        ("min((n + 3) floordiv 2, 8)", "min((n + 3) floordiv 2, 8)"),
        ("select(lt(n, 4), n, 4)", "select(lt(n, 4), n, 4)"),
    ],
)
def test_printed_form(text, printed):
    assert expr_text(parse_expr(Parser(new_context(), text))) == printed


@settings(max_examples=200, deadline=None)
@given(trees)
def test_text_is_read_as_it_is_written(tree):
    text = expr_text(tree.expr)
    again = expr_text(parse_expr(Parser(new_context(), text)))
    assert expr_text(parse_expr(Parser(new_context(), again))) == again


def test_a_number_in_a_quotient_makes_no_difference():
    written, canonical = (n + 3) // 2, (n + 1) // 2 + 1
    assert written == canonical
    assert hash(written) == hash(canonical)
    assert (str(written), str(canonical)) == ("(n + 3) floordiv 2", "(n + 1) floordiv 2 + 1")
    assert written - canonical == Const(0)
    assert str(written.substitute({Var("n"): Var("k")})) == "(k + 3) floordiv 2"
    assert str(written.substitute({Var("n"): Const(4)})) == "3"
    for value in range(-4, 5):
        assert written.evaluate({"n": value}) == (value + 3) // 2


def test_proofs():
    analyzer = Analyzer()
    i = Var("i")
    analyzer.bind(i, 0, 7)
    assert analyzer.can_prove(OPS["lt"](i, 8))
    assert not analyzer.can_prove(OPS["lt"](i, 7))
    assert analyzer.can_prove_equal((i + n * 8) // 8, n)
    assert analyzer.simplify(i % 8) == i
    assert analyzer.can_prove(OPS["ge"](n, 0))
    assert analyzer.can_prove(OPS["ne"](Var("k") * 2, Const(7)))


def test_an_attribute_refuses_ssa_values():
    from xdsl.ir import Block
    from xdsl.utils.exceptions import VerifyException

    value = Block(arg_types=[i32]).args[0]
    with pytest.raises(VerifyException, match="SSA value"):
        SymAttr(Var(value, i32) + 1)


def test_division_by_zero_is_refused():
    with pytest.raises(ZeroDivisionError):
        _ = n // 0
