"""Functions that a script captures: simple ones are read in the place of their calls, others are refused."""

from __future__ import annotations

import numpy as np
import pytest

from tirax import tvm_api as tvm
from tirax.driver.build import build
from tirax.script.parser.source import ScriptError
from tirax.tvm_api import tir
from tirax.tvm_api.script import tir as T

ROWS = 8
RAN: list[int] = []


def clipped(x, low=0, high=6):
    """Between two bounds."""
    least = T.max(x, T.float32(low))
    return T.min(least, T.float32(high))


def cubed(x):
    product = x * x
    product *= x
    return product


def chosen(name, *args, **kwargs):
    if name == "clipped":
        return clipped(*args, **kwargs)
    return T.exp(*args)


def runs(x):
    RAN.append(1)
    return x


def forever(x):
    return forever(x) + 1


both = lambda a, b: tir.all(a < ROWS, tir.any(b > 0, a > 0))  # noqa: E731


def test_their_expressions_stand_in_the_place_of_calls():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = T.if_then_else(both(i, i), chosen("clipped", A[i], high=4), chosen("exp", A[i]))

    a, b = np.linspace(-9, 9, 8, dtype="float32"), np.zeros(8, "float32")
    build(tvm.IRModule({"main": main}))["main"](a, b)
    np.testing.assert_allclose(b, [np.exp(a[0]), *np.clip(a[1:], 0, 4)], rtol=1e-6)
    assert "clipped" not in main.script() and not RAN


def test_names_may_be_changed():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = cubed(A[i])

    assert "A[i] = A[i] * A[i] * A[i]" in main.script()


REFUSED = {
    "statements": (lambda: runs, "cannot be called in a script"),
    "wrong arguments": (lambda: lambda x, y: x + y, "wrong arguments"),
    "recursion": (lambda: forever, "nested too deeply"),
    "functions of Python": (lambda: np.sin, "cannot be called in a script"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_refused(name):
    make, message = REFUSED[name]
    function = make()
    with pytest.raises(Exception, match=message):

        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            for i in range(8):
                A[i] = function(A[i])

    assert not RAN


def test_a_refusal_has_its_place():
    function = runs
    with pytest.raises(ScriptError) as info:

        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            for i in range(8):
                A[i] = function(A[i])

    assert "A[i] = function(A[i])" in str(info.value) and "T.macro" in str(info.value)
