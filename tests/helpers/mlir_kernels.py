"""Functions of MLIR's text, run through native code beside what they are to give."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirax.driver.build import build
from tirax.frontend.mlir import from_mlir
from tirax.ir.verification.verify import verify_module
from tirax.script import parse_mlir

A: Any = np.random.default_rng(0).normal(size=(4, 8)).astype("float32")
NUMBERS = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 4, 8))
CONSTANTS = NUMBERS + "\n%z = arith.constant 0.0 : f32\n"


def shape_of(array: Any) -> str:
    """Return the extents of an array as MLIR writes them."""
    return "x".join(map(str, array.shape))


def compiled(text: str) -> Any:
    """Return the callable `main` of a module, verified."""
    module = from_mlir(parse_mlir(text))
    verify_module(module)
    return build(module)["main"]


def check_memref(body: str, expected: Any) -> None:
    """Run a body that reads the memref %x, which is `A`, and writes %y of the shape of the results."""
    expected = np.asarray(expected, "float32")
    y = np.zeros(expected.shape, "float32")
    signature = f"%x: memref<4x8xf32>, %y: memref<{shape_of(y)}xf32>"
    compiled(f"func.func @main({signature}) {{\n{CONSTANTS}{body}\nreturn\n}}")(A, y)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def check_results(signature: str, body: str, args: tuple[Any, ...], *expected: Any) -> None:
    """Run a function that returns values."""
    results = compiled(f"func.func @main({signature} {{\n{CONSTANTS}{body}\n}}")(*args)
    results = results if isinstance(results, list | tuple) else [results]
    for result, right in zip(results, expected, strict=True):
        np.testing.assert_allclose(np.asarray(result), right, rtol=1e-4, atol=1e-5)
