"""Random symbolic expressions, each beside the Python function that it must compute."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from tirax.dialects.sym.expr import Const, Var
from tirax.dialects.sym.operators import OPS, minimum, select

n, m, i, j = VARIABLES = tuple(Var(name) for name in "nmij")


class Tree:
    """An expression, its text, and the function of the values of the variables."""

    def __init__(self, text, function, expr):
        self.text, self.function, self.expr = text, function, expr

    def __repr__(self):
        return self.text


def leaves():
    constants = st.integers(-9, 16).map(lambda c: Tree(str(c), lambda _: c, Const(c)))
    names = [Tree(v.name, lambda at, name=v.name: at[name], v) for v in VARIABLES]
    return constants | st.sampled_from(names)


PYTHON = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "min": min,
    "max": max,
}
COMPARE = {
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
}
LOGIC = {"and": lambda x, y: bool(x and y), "or": lambda x, y: bool(x or y)}


def _applied(kind, a, b):
    python = {**PYTHON, **COMPARE, **LOGIC}[kind]
    symbolic = OPS.get(kind, python)
    return Tree(f"({a} {kind} {b})", lambda at: python(a.function(at), b.function(at)), symbolic(a.expr, b.expr))


def _chosen(c, a, b):
    return Tree(
        f"({a} if {c} else {b})",
        lambda at: a.function(at) if c.function(at) else b.function(at),
        select(c.expr, a.expr, b.expr),
    )


def conditions(numbers):
    plain = st.builds(_applied, st.sampled_from(sorted(COMPARE)), numbers, numbers)
    return plain | st.builds(_applied, st.sampled_from(sorted(LOGIC)), plain, plain)


def _grown(children):
    plain = st.builds(_applied, st.sampled_from(["+", "-", "*", "min", "max", "+", "-"]), children, children)
    divisors = st.sampled_from([2, 3, 4, 8, 8]).map(lambda c: Tree(str(c), lambda _: c, Const(c)))
    divided = st.builds(_applied, st.sampled_from(["//", "%"]), children, divisors)
    by_symbol = st.builds(_applied, st.sampled_from(["//", "%"]), children, st.just(Tree("n", lambda at: at["n"], n)))
    return plain | divided | by_symbol | st.builds(_chosen, conditions(children), children, children)


numbers = st.recursive(leaves(), _grown, max_leaves=7)


def points(**ranges):
    """Every assignment of the variables."""
    names = list(ranges)
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*ranges.values())]


__all__ = ["VARIABLES", "Tree", "conditions", "i", "j", "m", "minimum", "n", "numbers", "points"]
