"""Properties that hold of every program: no transformation changes its semantics."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...driver.build import build
from ...driver.pipelines import make_passes
from ...interpreter import (
    InterpreterError,
    MeaningError,
    assert_same_meaning,
    interpret,
    random_inputs,
    symbolic_sizes,
)
from ...interpreter.compare import same_values, widening_tolerance
from ...ir.equality import assert_structural_equal
from ...ir.functions.lookup import functions
from ...ir.verification.verify import verify_module
from ...script import parse_mlir, parse_source, print_script

BINDING_PASSES = (
    "normalize", "canonicalize-bindings", "eliminate-common-subexpr", "dead-code-elimination", "fold-constant",
)  # fmt: skip
OPTIMIZE = (
    "normalize", "legalize-ops", "annotate-tir-op-pattern", "fold-constant", "fuse-ops", "fuse-tir",
    "dead-code-elimination",
)  # fmt: skip
TO_LOOPS = (
    "lower-init-block", "plan-and-update-buffer-allocation-location", "convert-blocks-to-opaque",
    "compact-buffer-allocation", "lower-match-buffer", "lower-opaque-block", "flatten-buffer", "unroll-loop",
    "tir-simplify",
)  # fmt: skip


def demand(holds: bool, message: str) -> None:
    """Raise `MeaningError` with the message unless `holds`."""
    if not holds:
        raise MeaningError(message)


def passes_keep_meaning(module: ModuleOp, passes: Sequence[str]) -> ModuleOp:
    """Run passes in order, check that each result verifies and is equivalent to its input, and return the last one."""
    verify_module(module)
    for p in make_passes(passes):
        before = str(module)
        after = p(module)
        demand(str(module) == before, f"{p.name} changed its input")
        assert_same_meaning(module, after)
        module = after
    return module


def binding_passes(module: ModuleOp) -> None:
    """Check each pass on bindings alone, and that it is idempotent but for aliases of aliases, as in TVM."""
    (without_aliases,) = make_passes(["canonicalize-bindings"])
    for name in BINDING_PASSES:
        once = passes_keep_meaning(module, [name])
        assert_structural_equal(without_aliases(once), without_aliases(make_passes([name])[0](once)))


def optimize(module: ModuleOp) -> None:
    """Check legalization and fusion, then scheduling and tir lowering of the resulting functions."""
    passes_keep_meaning(module, OPTIMIZE)


def tir_passes(module: ModuleOp) -> None:
    """Check scheduling and lowering to loops of the optimized module's tir functions."""
    for p in make_passes(OPTIMIZE):
        module = p(module)
    passes_keep_meaning(module, ("default-schedule", *TO_LOOPS))


def mlir_text(module: ModuleOp, generic: bool) -> str:
    stream = io.StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def texts(module: ModuleOp, script: bool = True) -> None:
    """Check that MLIR text, generic and custom, and with `script` TVMScript, round-trips to the same program."""
    for generic in (False, True):
        text = mlir_text(module, generic)
        again = parse_mlir(text)
        assert_structural_equal(module, again)
        demand(mlir_text(again, generic) == text, f"what is read of this text prints otherwise:\n{text}")
    if script:
        script_round_trip(module)


def has_script(module: ModuleOp) -> bool:
    """Return whether TVMScript can express a program; names that are not Python identifiers make printing fail."""
    try:
        print_script(module)
    except UnsupportedError:
        return False
    return True


def script_round_trip(module: ModuleOp) -> None:
    text = print_script(module, show_meta=True)
    again = parse_source(text)
    verify_module(again)
    printed = print_script(again, show_meta=True)
    demand(printed == text, f"printed first:\n{text}\nand after it was read:\n{printed}")
    assert_structural_equal(module, again)


def all_texts(module: ModuleOp) -> None:
    """Check the texts of the program after each pass."""
    texts(module)
    for p in make_passes(OPTIMIZE):
        module = p(module)
        texts(module)


def _copied(value: Any) -> Any:
    return (
        tuple(map(_copied, value))
        if isinstance(value, tuple)
        else np.array(value)
        if isinstance(value, np.ndarray)
        else value
    )


def native(module: ModuleOp, pipeline: Any = "default-cpu", sizes: Sequence[int] = (2, 5, 1, 0)) -> int:
    """Check that the executable agrees with the interpreter and keeps its inputs; return the number of runs."""
    return native_results(module, build(module, pipeline=pipeline, opt_level=1)["main"], sizes)


def native_results(module: ModuleOp, run: Any, sizes: Sequence[int] = (2, 5, 1, 0)) -> int:
    """As `native`, for an already built `main`, `run`."""
    func = functions(module)["main"]
    compared, tolerance = 0, widening_tolerance(module)
    for n, chosen in enumerate(symbolic_sizes(func, sizes)):
        values = random_inputs(func, chosen, n)
        try:
            random.seed(0)
            expected = interpret(module, "main", [_copied(v) for v in values])
        except InterpreterError:
            continue
        inputs = [_copied(v) for v in values]
        result = run(*inputs)
        demand(all(map(_identical, inputs, values)), f"an input was written at {chosen}")
        same = same_values(expected, result, tolerance)
        demand(same, f"at {chosen}\ninputs {values}\nexpected {expected}\nfound {result}")
        compared += 1
    return compared


def _identical(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(map(_identical, a, b))
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)


def tensor_passes(module: ModuleOp) -> None:
    """Check a tensor function lowered step by step, with and without its schedule."""
    passes_keep_meaning(module, ("default-schedule", *TO_LOOPS))
    passes_keep_meaning(module, TO_LOOPS)
    passes_keep_meaning(module, ("tir-simplify",))


def native_tensor(module: ModuleOp, pipeline: Any = "default-cpu", sizes: Sequence[int] = (2, 5, 1, 19)) -> int:
    """Check that a tensor function's executable writes what the interpreter does; return the number of runs."""
    return native_writes(module, build(module, pipeline=pipeline, opt_level=1)["main"], sizes)


def native_writes(module: ModuleOp, run: Any, sizes: Sequence[int] = (2, 5, 1, 19)) -> int:
    """As `native_tensor`, for an already built `main`, `run`."""
    func = functions(module)["main"]
    compared, tolerance = 0, widening_tolerance(module)
    for n, chosen in enumerate(symbolic_sizes(func, sizes)):
        values = random_inputs(func, chosen, n)
        expected, results = [_copied(v) for v in values], [_copied(v) for v in values]
        try:
            interpret(module, "main", expected)
        except InterpreterError:
            continue
        run(*results)
        for i, (a, b) in enumerate(zip(expected, results, strict=True)):
            demand(same_values(a, b, tolerance), f"argument {i} at {chosen}: expected {a}, found {b}")
        compared += 1
    return compared


def native_main(module: ModuleOp, run: Any, sizes: Sequence[int] = (2, 5, 1, 0)) -> int:
    """Check that the built `main`, `run`, returns or writes what the interpreter does; return the number of runs."""
    is_tensor = isinstance(functions(module)["main"], tir.FuncOp)
    return (native_writes if is_tensor else native_results)(module, run, sizes)


def native_tensor_both(module: ModuleOp) -> int:
    """As `native_tensor`, with the default schedule and without a schedule."""
    return native_tensor(module) + native_tensor(module, "lower-cpu-unscheduled", sizes=(2, 5))
