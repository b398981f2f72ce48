"""Programs that are deeper than Python's stack: what works does, all else is refused by a message of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.dev.fuzz.structures import STRUCTURES
from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.ir.passes.limits import LimitError
from tirax.ir.verification.verify import verify_module
from tirax.script import parse_mlir, print_script
from tirax.tvm_api import te, tir
from tirax.tvm_api.script import from_source

TERMS = 700


def summed(a: Any, i: Any) -> Any:
    total = a[i]
    for k in range(TERMS):
        total = total + a[(i + k) % 8]
    return total


def chosen(a: Any, i: Any) -> Any:
    value = a[i]
    for k in range(TERMS):
        value = tir.if_then_else(i < k % 8, a[i], value)
    return value


def looked_up(a: Any, i: Any) -> Any:
    value = a[i]
    for _ in range(TERMS):
        value = a[value]
    return value


def function(body: Callable[[Any, Any], Any], dtype: str = "float32") -> tir.PrimFunc:
    a = te.placeholder((8,), dtype, "A")
    return te.create_prim_func([a, te.compute((8,), lambda i: body(a, i), name="O")])


def test_a_long_sum() -> None:
    """It is made, compared and printed; what cannot read or compile it says so."""
    module = tvm.IRModule({"main": function(summed)})
    assert tvm.ir.structural_equal(module, tvm.IRModule({"main": function(summed)}))
    assert tvm.ir.structural_hash(module) == tvm.ir.structural_hash(module.clone())
    with pytest.raises(TiraxError, match="nested too deeply"):
        from_source(module.script())
    with pytest.raises(TiraxError, match="nested too deeply"):
        tvm.build(module, target="llvm")


@pytest.mark.parametrize("body, dtype", [(chosen, "float32"), (looked_up, "int32")])
def test_what_is_no_sum(body: Callable[[Any, Any], Any], dtype: str) -> None:
    with pytest.raises(TiraxError, match="nested too deeply"):
        function(body, dtype)


def test_expressions_of_handles() -> None:
    i = tir.Var("i", "int32")
    total: Any = i
    for k in range(TERMS):
        total = tir.Add(total, tir.max(i, k))
    for door in (str, lambda e: tir.stmt_functor.substitute(e, {i: tir.const(1, "int32")})):
        with pytest.raises(TiraxError, match="nested too deeply"):
            door(total)


@pytest.mark.parametrize("depth", [200, 700])
def test_tuples_of_tuples(depth: int) -> None:
    lines = ["t0 = (x, x)", *(f"t{i} = (t{i - 1}, x)" for i in range(1, depth)), f"return t{depth - 1}"]
    body = "".join(f"        {line}\n" for line in lines)
    head = '@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor((4,), "float32")):\n'
    with pytest.raises(TiraxError, match="nested too deeply"):
        from_source(head + body)


@contextmanager
def deeper() -> Iterator[None]:
    """With a stack that is deep enough to read every program of this table."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


_HEAD = """tir.func @main(%A: !tir.buffer<[4], f32>) {
  %z = tir.const 0 : i64
  %v = tir.load %A[%z] : f32
  %s = tir.add %v, %v : f32
  %c = tir.lt %v, %s : f32
"""
_T = "!relax.tensor<[4], f32>"


def statements(opening: str, depth: int) -> str:
    """A store in as many statements that hold each other."""
    head = _HEAD + "".join(opening.replace("#", str(i)) for i in range(depth))
    return head + "tir.store %s, %A[%z]\n" + "}\n" * (depth + 1)


def branches(depth: int) -> str:
    lines = [f"%v{i} = relax.if %c : {_T} {{\n" for i in range(depth)]
    lines += [f"%y = relax.add %x, %x : {_T}\nrelax.yield %y : {_T}\n"]
    for i in reversed(range(depth)):
        end = "yield" if i else "return"
        lines += [f"}} else {{\nrelax.yield %x : {_T}\n}}\nrelax.{end} %v{i} : {_T}\n"]
    return f"relax.func @main(%x: {_T}, %c: !relax.tensor<[], i1>) -> {_T} {{\n{''.join(lines)}}}\n"


NESTED: dict[str, Callable[[int], str]] = {
    "if": lambda n: statements("tir.if %c {\n", n),
    "for": lambda n: statements("tir.for %i# = 0 for 1 {\n", n),
    "block": lambda n: statements('tir.block "b#" () {\n', n),
    "branch": branches,
}


def computed(run: Callable[..., Any], kind: str) -> None:
    """The first element, or all of a branch, is the sum of 1 and 1."""
    x = np.ones(4, "float32")
    result = run(x, np.array(True)) if kind == "branch" else run(x)
    np.testing.assert_array_equal(x if result is None else result, [2, 2, 2, 2] if kind == "branch" else [2, 1, 1, 1])


DOORS: dict[str, Callable[[Any, str, str], Any]] = {
    "parse": lambda _m, text, _k: parse_mlir(text),
    "verify": lambda m, _t, _k: verify_module(m),
    "print": lambda m, _t, _k: print_script(m),
    "read again": lambda m, _t, _k: from_source(print_script(m)),
    "interpret": lambda m, _t, kind: computed(lambda *args: interpret(m, "main", args), kind),
    "build": lambda m, _t, kind: computed(build(m)["main"], kind),
}


@pytest.mark.parametrize("depth", [30, 200, 1000])
@pytest.mark.parametrize("kind", NESTED)
def test_statements_in_statements(kind: str, depth: int) -> None:
    """30 are taken everywhere; what is deeper gives the right result, or a message."""
    text, refused = NESTED[kind](depth), list[str]()
    with deeper():
        module = parse_mlir(text)
    for name, door in DOORS.items():
        try:
            door(module, text, kind)
        except TiraxError as error:
            assert "nested too deeply" in str(error) or "too many levels of indentation" in str(error), name
            refused.append(name)
    assert depth > 30 or not refused


CALLS = """
@I.ir_module
class Module:
    @R.function
    def main(i: R.Tensor((), "int64"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        c: R.Tensor((), "bool") = R.greater(i, R.const(0, "int64"))
        if c:
            j: R.Tensor((), "int64") = R.subtract(i, R.const(1, "int64"))
            r: R.Tensor((4,), "float32") = Module.main(j, x)
            y: R.Tensor((4,), "float32") = R.add(r, x)
        else:
            y: R.Tensor((4,), "float32") = x
        return y
"""


def test_calls_in_calls_are_interpreted() -> None:
    """As deep as the limit, which calls that never end reach."""
    module, x = from_source(CALLS), np.ones(4, "float32")
    np.testing.assert_array_equal(interpret(module, "main", [np.array(2000), x]), 2001 * x)
    with tvm.transform.PassContext(config={"tirax.limit.interpret.depth": 100}):
        np.testing.assert_array_equal(interpret(module, "main", [np.array(20), x]), 21 * x)
        with pytest.raises(LimitError, match="at most 100 .interpret.depth"):
            interpret(module, "main", [np.array(2000), x])


def test_a_thousand_functions_that_call_each_other() -> None:
    module, x = from_source(STRUCTURES["functions"](1000)), np.ones((8, 8), "float32")
    np.testing.assert_allclose(interpret(module, "main", [x]), np.exp(x), rtol=1e-6)
