"""Expressions that are deeper than Python's stack: what works does, all else says so in a message of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
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
