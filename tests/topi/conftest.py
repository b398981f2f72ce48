"""`check`: an operator on arrays against numpy, for known extents and for symbolic ones of either dtype.

What runs natively is called with each of its allocations failing, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from failing_calls import every_call_fails_first
from xdsl.dialects.builtin import ModuleOp

from tirax.interpreter import interpret
from tirax.ir.verification.verify import verify_module
from tirax.tvm_api import te

SYMBOLIC = 7
"""Extents of this size are symbolic in the symbolic runs."""


def evaluate(function: Callable[..., Any], arrays: Sequence[Any], extent: Any = SYMBOLIC) -> list[Any]:
    """The results of `function` on placeholders for `arrays`; `extent` stands for extents of 7."""
    tensors = [
        te.placeholder([extent if d == SYMBOLIC else d for d in a.shape], str(a.dtype), f"x{i}")
        for i, a in enumerate(arrays)
    ]
    result = function(*tensors)
    results = list(result) if isinstance(result, list | tuple) else [result]
    out = [np.zeros([d.evaluate({"n": SYMBOLIC}) for d in r.dims], r.dtype) for r in results]
    # a symbolic variable is a parameter: not all shapes say it
    variables = [] if isinstance(extent, int) else [extent]
    func = te.create_prim_func([*tensors, *results, *variables])
    module = ModuleOp([func.op])
    verify_module(module)
    interpret(module, "main", [*arrays, *out, *(SYMBOLIC for _ in variables)])
    return out


def compare(actual: Sequence[Any], reference: Any, tolerance: float) -> None:
    expected = list(reference) if isinstance(reference, list | tuple) else [reference]
    assert len(actual) == len(expected)
    for have, want in zip(actual, expected, strict=True):
        assert have.shape == np.shape(want)
        np.testing.assert_allclose(have.astype("float64"), np.asarray(want).astype("float64"), tolerance, tolerance)


@pytest.fixture
def check() -> Callable[..., None]:
    """`check(function, arrays, wanted)`."""

    def run(function: Callable[..., Any], arrays: Sequence[Any], expected: Any, tolerance: float = 1e-4) -> None:
        compare(evaluate(function, arrays), expected, tolerance)
        if any(SYMBOLIC in a.shape for a in arrays):
            for dtype in ("int32", "int64"):
                compare(evaluate(function, arrays, te.var("n", dtype)), expected, tolerance)

    return run


@pytest.fixture(scope="module", autouse=True)
def failing_first() -> Iterator[None]:
    with every_call_fails_first():
        yield
