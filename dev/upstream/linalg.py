"""The kernels of each operator as linalg, beside the kernels: `python -m tirax.dev.upstream --linalg`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...diagnostics import TiraxError
from ...dialects import tir
from ...driver.pipelines import pipeline_passes
from ...frontend.mlir import from_mlir
from ...interpreter.compare import random_inputs, same_values, symbolic_sizes
from ...interpreter.run import interpret
from ...ir.passes.transform import new_context
from ...ir.upstream_text import upstream_text
from ...ir.verification.verify import verify_module
from ...lowering.tir_to_linalg import ConvertTirToLinalg
from ...script import parse_mlir
from ..fuzz.operator_cases import CASES, function

SIZES = (3, 0, 1, 7)
"""The symbolic sizes of comparisons."""


def cases() -> list[tuple[str, int]]:
    """Return the operators, and the numbers of their cases."""
    return [(name, number) for name in CASES for number in range(len(CASES[name]))]


def kernels(name: str, number: int, after: str = "legalize-ops") -> Iterator[ModuleOp]:
    """Yield the tensor functions of a case of an operator after a pass of the pipeline, a module each."""
    module = function(CASES[name][number])
    if module is None:
        return
    context = new_context()
    for p in pipeline_passes("default-cpu"):
        p.apply(context, module)
        if p.name == after:
            break
    for op in module.body.block.ops:
        if isinstance(op, tir.FuncOp):
            kernel = op.clone()
            kernel.properties.pop("sym_visibility", None)
            yield ModuleOp([kernel])


def as_linalg(module: ModuleOp, strict: bool = False, generic: bool = False) -> str:
    """Return the text of a module of tensor functions in linalg. Raises `TiraxError`."""
    module = module.clone()
    ConvertTirToLinalg(strict=strict).apply(new_context(), module)
    verify_module(module)
    return upstream_text(module, generic)


def difference(kernel: ModuleOp, text: str, sizes: Sequence[int] = SIZES, imported: bool = True) -> str | None:
    """Return what a kernel and a text compute differently in the interpreter.

    The text is MLIR's, which is imported, or that of another tensor function.
    """
    (op,) = kernel.body.block.ops
    assert isinstance(op, tir.FuncOp)
    other = from_mlir(parse_mlir(text)) if imported else parse_mlir(text)
    verify_module(other)
    for assignment in symbolic_sizes(op, sizes):
        expected = random_inputs(op, assignment)
        found = [_signless(value.copy()) if isinstance(value, np.ndarray) else value for value in expected]
        try:
            interpret(kernel, op.sym_name.data, expected)
        except TiraxError:
            continue  # the kernel is not defined at this size
        interpret(other, op.sym_name.data, found)
        for position, (a, b) in enumerate(zip(expected, found, strict=True)):
            if isinstance(a, np.ndarray) and not same_values(a, b.view(a.dtype)):
                return f"argument {position} at {assignment}: {a.ravel()[:4]} and {b.ravel()[:4]}"
    return None


def _signless(array: Any) -> Any:
    """Return an array as MLIR has it: its integers have no sign."""
    return array.view(f"int{8 * array.itemsize}") if array.dtype.kind == "u" else array
