"""Expressions of sizes become trees; what would cost too much, or is no arithmetic, is refused, not computed."""

import pytest

from tirax.untrusted import ExpressionError, read_expression

FUNCTIONS = {"Symbol": "Symbol", "Integer": "Integer", "Float": "Float", "Add": "+", "Pow": "**", "Max": "max"}
FUNCTIONS |= {"Rational": "/"}

READ = {
    "2*n + 1": ("+", ("*", 2, ("var", "n")), 1),
    "-3": -3,
    "Symbol('s77', positive=True, integer=True)": ("var", "s77"),
    "Add(Integer(-1), Symbol('s0'))": ("+", -1, ("var", "s0")),
    "Pow(Symbol('s0'), Rational(1, 2))": ("**", ("var", "s0"), ("/", 1, 2)),
    "Max(1, s0 // 2)": ("max", 1, ("//", ("var", "s0"), 2)),
    "Float('0.5', precision=53)": 0.5,
    "1 << 10": ("<<", 1, 10),
}
REFUSED = [
    "", "2**999**999", "2^999^999", "1<<9999999999", "1>>9999999999", "'a'*9999999999", "n**n", "(a+b+c+d)**40",
    "*".join(f"(a{i}+b{i})" for i in range(30)), "((((n**16)**16)**16)**16)", "9" * 40, "9" * 5000, "1e400",
    "(" * 5000 + "1" + ")" * 5000, "-" * 5000 + "1", "n*" * 5000 + "n", "+".join(["n"] * 3000), "n.a", "n[0]", "[n]",
    "lambda: n", "True", "None", "f(n)", "Symbol('a b')", "Symbol('__class__')", "Symbol()", "Add(*n)", "a<b<c", "\0",
    "\ud800", None, 3, ["n"],
]  # fmt: skip


@pytest.mark.parametrize("text", READ)
def test_trees(text):
    assert read_expression(text, FUNCTIONS) == READ[text]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: str(text).encode("ascii", "replace").decode()[:20])
def test_what_is_refused(text):
    with pytest.raises(ExpressionError):
        read_expression(text, FUNCTIONS)


def test_operators_are_those_that_may_be_used():
    assert read_expression("a+b", {}, {"+"}) == ("+", ("var", "a"), ("var", "b"))
    with pytest.raises(ExpressionError):
        read_expression("a*b", {}, {"+"})
