"""Structures of Relax give way to what the fault needs of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax.script import parse_source
from tirax.tools.reduce.edits import operations
from tirax.tools.reduce.program import Reduction

BRANCH = """
@R.function
def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    if c:
        y = R.exp(x)
        z = R.add(y, x)
    else:
        y = R.tanh(x)
        z = R.multiply(y, x)
    return z
"""

CALLS = """
@I.ir_module
class Module:
    @R.function(private=True)
    def inner(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        y = R.exp(x)
        z = R.tanh(y)
        return z

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        cls = Module
        y = R.add(x, x)
        z = cls.inner(y)
        return R.multiply(z, z)
"""

TUPLE = """
@R.function
def main(x: R.Tensor((4, 6), "float32")):
    with R.dataflow():
        a = R.exp(x)
        parts = R.split(a, 2, axis=1)
        b = R.tanh(parts[1])
        c = R.sum(b)
        d = R.sigmoid(x)
        R.output(b, c, d)
    return (b, (c, d))
"""


def reduced(text: str, name: str) -> tuple[ModuleOp, set[str]]:
    def has(modules: Sequence[ModuleOp]) -> list[str | None]:
        return [name if any(op.name == name for op in module.walk()) else None for module in modules]

    small = Reduction(has, name).run(parse_source(text), 60)
    return small, {op.name for op in small.walk()} - {"builtin.module", "relax.func", "relax.return"}


UNUSED = """
@R.function
def main(x: R.Tensor((4, 6), "float32")):
    with R.dataflow():
        a = R.tanh(x)
        b = R.exp(a)
        c = R.sigmoid(b)
        d = R.sqrt(x)
        R.output(d)
    return d
"""


@pytest.mark.parametrize("text", [BRANCH, CALLS, TUPLE, UNUSED], ids=["branch", "calls", "tuple", "unused"])
@pytest.mark.parametrize("name", ["relax.exp", "relax.tanh"])
def test_one_operator_is_left(text, name):
    small, names = reduced(text, name)
    assert names == {name} and operations(small) == 3


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        (BRANCH, "relax.if", {"relax.yield"}),
        (CALLS, "relax.call", set()),
        (TUPLE, "relax.dataflow", {"relax.output"}),
        (TUPLE, "relax.split", set()),
    ],
)
def test_structures_stay_where_they_are_needed(text, name, rest):
    assert reduced(text, name)[1] == {name, *rest}
