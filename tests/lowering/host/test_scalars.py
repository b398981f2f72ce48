"""Kernels that differ in numbers alone become one: the numbers reach it, and what they compute stays the same."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from tirax.dialects import tir
from tirax.driver.build import build
from tirax.driver.pipelines import make_passes
from tirax.interpreter import assert_same_meaning
from tirax.ir.passes.transform import Sequential, module_op
from tirax.script.mlir_text import parse_mlir

KERNEL = """
tir.func private @{name}(%A: !tir.buffer<[n], {dtype}>, %B: !tir.buffer<[n], {dtype}>) {{
  tir.for %i = 0 for n {{
    tir.block "B" (%v = spatial(%i, n)) {{
      tir.reads %A[%v]
      tir.writes %B[%v]
      %0 = tir.load %A[%v] : {dtype}
      %1 = tir.const {factor} : {dtype}
      %2 = tir.mul %0, %1 : {dtype}
      %3 = tir.const {summand} : {dtype}
      %4 = tir.add %2, %3 : {dtype}
      tir.store %4, %B[%v]
    }}
  }}
}}
"""
NUMBERS = {"a": ("0.7", "3.1"), "b": ("1.3", "1.3"), "c": ("0.37", "-2.9")}
ORDER = ("a", "b", "c", "a")


def program(dtype: str, numbers: dict[str, tuple[str, str]], order: tuple[str, ...]) -> ModuleOp:
    """Kernels that are called one after the other."""
    texts = [KERNEL.format(name=name, dtype=dtype, factor=f, summand=s) for name, (f, s) in numbers.items()]
    tensor = f"!relax.tensor<[n], {dtype}>"
    calls = [f"  %x{i + 1} = relax.call_tir @{name}(%x{i}) : {tensor}" for i, name in enumerate(order)]
    main = [f"relax.func @main(%x0: {tensor}) -> {tensor} {{", *calls, f"  relax.return %x{len(order)} : {tensor}", "}"]
    return parse_mlir("\n".join([*texts, *main]))


def merged(module: ModuleOp) -> ModuleOp:
    return module_op(Sequential(make_passes(["merge-kernels"]))(module))


def kernels(module: ModuleOp) -> list[str]:
    return [f.sym_name.data for f in merged(module).ops if isinstance(f, tir.FuncOp)]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_numbers_reach_the_kernel_that_is_left(dtype: str) -> None:
    """One kernel is left of three, and gives bit by bit what each gives by itself, where its numbers stay."""
    module = program(dtype, NUMBERS, ORDER)
    assert kernels(module) == ["a"]
    together = build(module)["main"]
    alone = {name: build(program(dtype, {name: numbers}, (name,)))["main"] for name, numbers in NUMBERS.items()}
    for size in (0, 1, 5, 1000):
        x = np.random.default_rng(size).standard_normal(size).astype({"f32": "float32", "f64": "float64"}[dtype])
        expected = x
        for name in ORDER:
            expected = np.asarray(alone[name](expected))
        np.testing.assert_array_equal(np.asarray(together(x)), expected)


def test_the_interpreter_agrees() -> None:
    module = program("f32", NUMBERS, ORDER)
    assert_same_meaning(module, merged(module))


OTHERWISE = {
    "one": ("1.0", "3.1"),
    "nothing added": ("0.7", "0.0"),
    "minus one": ("-1.0", "3.1"),
    "infinite": ("0x7F800000", "3.1"),
}


@pytest.mark.parametrize("numbers", OTHERWISE.values(), ids=OTHERWISE)
def test_numbers_that_mean_more_stay(numbers: tuple[str, str]) -> None:
    module = program("f32", {"a": NUMBERS["a"], "b": numbers}, ("a", "b"))
    assert kernels(module) == ["a", "b"]


def test_narrow_numbers_stay() -> None:
    assert kernels(program("f16", NUMBERS, ORDER)) == ["a", "b", "c"]


def test_equal_numbers_stay_in_the_kernel() -> None:
    module = program("f32", {"a": ("0.7", "3.1"), "b": ("0.9", "3.1")}, ("a", "b"))
    [kernel] = [f for f in merged(module).ops if isinstance(f, tir.FuncOp)]
    assert [str(p.type) for p in kernel.params][1:2] == ["f32"] and len(kernel.params) == 3
    assert "tir.const 3.1" in str(kernel) and "tir.const 0.7" not in str(kernel)


def test_names_of_handles_are_no_obstacle() -> None:
    """A function that was written with `match_buffer` has a name for each parameter, and gets parameters more."""
    module = program("f32", NUMBERS, ORDER)
    for f in (f for f in module.ops if isinstance(f, tir.FuncOp)):
        f.properties["handle_names"] = ArrayAttr([StringAttr("a"), StringAttr("b")])
    assert kernels(module) == ["a"]
    assert_same_meaning(module, merged(module))
