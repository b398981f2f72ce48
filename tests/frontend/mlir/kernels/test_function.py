"""Functions on memrefs, through native code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirax
from tirax.diagnostics import UnsupportedError
from tirax.driver.build import build
from tirax.frontend.mlir import from_mlir
from tirax.script import parse_mlir

LOOPS = """
func.func @main(%x: memref<?x?xf32>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %rows = memref.dim %x, %c0 : memref<?x?xf32>
  %columns = memref.dim %x, %c1 : memref<?x?xf32>
  scf.for %i = %c0 to %rows step %c1 {
    %sum = scf.for %j = %c0 to %columns step %c2 iter_args(%s = %zero) -> (f32) {
      %v = memref.load %x[%i, %j] : memref<?x?xf32>
      %positive = arith.cmpf ogt, %v, %zero : f32
      %w = scf.if %positive -> (f32) {
        scf.yield %v : f32
      } else {
        %m = arith.negf %v : f32
        scf.yield %m : f32
      }
      %t = arith.addf %s, %w : f32
      scf.yield %t : f32
    }
    %k = arith.remui %i, %n : index
    %old = memref.load %y[%k] : memref<?xf32>
    %new = arith.addf %old, %sum : f32
    memref.store %new, %y[%k] : memref<?xf32>
  }
  func.return
}"""


def test_loops_branches_and_carried_values() -> None:
    x = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")
    y, expected = np.ones(2, "float32"), np.ones(2, "float32")
    for i, row in enumerate(np.abs(x[:, ::2]).sum(1)):
        expected[i % 2] += row
    build(from_mlir(parse_mlir(LOOPS)))["main"](x, y, 2)
    np.testing.assert_allclose(y, expected, rtol=1e-5)


def test_a_loop_that_ends_by_its_data() -> None:
    text = """
func.func @main(%x: memref<1xi64>, %steps: memref<1xi64>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %none = arith.constant 0 : i64
  %first = memref.load %x[%c0] : memref<1xi64>
  %last, %count = scf.while (%v = %first, %k = %none) : (i64, i64) -> (i64, i64) {
    %more = arith.cmpi ne, %v, %one : i64
    scf.condition(%more) %v, %k : i64, i64
  } do {
  ^bb0(%v: i64, %k: i64):
    %odd = arith.remsi %v, %two : i64
    %is = arith.cmpi eq, %odd, %one : i64
    %up = arith.muli %v, %three : i64
    %up1 = arith.addi %up, %one : i64
    %half = arith.divsi %v, %two : i64
    %next = arith.select %is, %up1, %half : i64
    %next_k = arith.addi %k, %one : i64
    scf.yield %next, %next_k : i64, i64
  }
  memref.store %count, %steps[%c0] : memref<1xi64>
  func.return
}"""
    steps = np.zeros(1, "int64")
    build(from_mlir(parse_mlir(text)))["main"](np.array([27]), steps)
    assert steps[0] == 111


def test_linalg_in_place_and_on_a_part() -> None:
    text = """
func.func @main(%a: memref<4x3xf32>, %b: memref<3x5xf32>, %c: memref<4x5xf32>) {
  linalg.matmul ins(%a, %b : memref<4x3xf32>, memref<3x5xf32>) outs(%c : memref<4x5xf32>)
  %part = memref.subview %c[1, 2] [2, 3] [1, 1] : memref<4x5xf32> to memref<2x3xf32, strided<[5, 1], offset: 7>>
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%part : memref<2x3xf32, strided<[5, 1], offset: 7>>)
  func.return
}"""
    draw = np.random.default_rng(0)
    a, b, c = (draw.normal(size=s).astype("float32") for s in ((4, 3), (3, 5), (4, 5)))
    expected = c + a @ b
    expected[1:3, 2:5] = 1
    build(from_mlir(parse_mlir(text)))["main"](a, b, c)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-6)


def test_a_file_is_compiled(tmp_path: Any) -> None:
    path = tmp_path / "double.mlir"
    path.write_text(
        "func.func @double(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "%y = arith.addf %x, %x : tensor<?xf32>\nfunc.return %y : tensor<?xf32>\n}"
    )
    double = tirax.compile(str(path))
    for size in (3, 0, 17):
        x = np.arange(size, dtype="float32")
        np.testing.assert_array_equal(np.asarray(double(x)), x * 2)


def test_unknown_operations_are_named() -> None:
    text = 'func.func @main(%x: memref<4xf32>) {\n"memref.dma_wait"(%x) : (memref<4xf32>) -> ()\nfunc.return\n}'
    with pytest.raises(UnsupportedError, match="'memref.dma_wait. in a function on memrefs"):
        from_mlir(parse_mlir(text))
