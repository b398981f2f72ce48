"""What has to hold of every program: nothing that is done to it changes its meaning."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

from tirax.interpreter import InterpreterError, assert_same_meaning, interpret, random_inputs, symbolic_sizes
from tirax.interpreter.compare import same_values
from tirax.ir.equality import assert_structural_equal
from tirax.ir.functions.lookup import functions
from tirax.ir.passes.transform import new_context
from tirax.ir.verification.verify import verify_module
from tirax.lowering.build import build
from tirax.lowering.pipelines import make_passes
from tirax.script import parse_source, print_script

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


def passes_keep_meaning(module: ModuleOp, passes: Sequence[str]) -> ModuleOp:
    """Run passes one after the other; each gives a verified module of the same meaning. Gives the last one."""
    verify_module(module)
    for p in make_passes(passes):
        before = str(module)
        after = p(module)
        assert str(module) == before, f"{p.name} changed its input"
        assert_same_meaning(module, after)
        module = after
    return module


def binding_passes(module: ModuleOp) -> None:
    """Each of the passes on bindings alone, and what it gives passed through it again."""
    for name in BINDING_PASSES:
        once = passes_keep_meaning(module, [name])
        assert_structural_equal(once, make_passes([name])[0](once))


def optimize(module: ModuleOp) -> None:
    """Legalization and fusion; then the functions that came of it scheduled and lowered within tir."""
    passes_keep_meaning(module, OPTIMIZE)


def tir_passes(module: ModuleOp) -> None:
    """The tir functions of the optimized module, scheduled, then lowered to loops."""
    for p in make_passes(OPTIMIZE):
        module = p(module)
    passes_keep_meaning(module, ("default-schedule", *TO_LOOPS))


def mlir_text(module: ModuleOp, generic: bool) -> str:
    stream = io.StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def texts(module: ModuleOp) -> None:
    """MLIR text, generic and custom, and TVMScript: each read back is the same program, and prints the same."""
    for generic in (False, True):
        text = mlir_text(module, generic)
        again = Parser(new_context(), text).parse_module()
        assert_structural_equal(module, again)
        assert mlir_text(again, generic) == text
    script_round_trip(module)


def script_round_trip(module: ModuleOp) -> None:
    text = print_script(module, show_meta=True)
    again = parse_source(text)
    verify_module(again)
    printed = print_script(again, show_meta=True)
    assert printed == text, f"printed first:\n{text}\nand after it was read:\n{printed}"
    assert_structural_equal(module, again)


def all_texts(module: ModuleOp) -> None:
    """The texts of the program after each pass."""
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


def native(module: ModuleOp, pipeline: Any = "default-cpu", sizes: Sequence[int] = (2, 5, 1, 0)) -> None:
    """The executable computes what the interpreter does, and leaves its inputs alone."""
    run = build(module, pipeline=pipeline, opt_level=1)["main"]
    func = functions(module)["main"]
    for n, chosen in enumerate(symbolic_sizes(func, sizes)):
        values = random_inputs(func, chosen, n)
        try:
            random.seed(0)
            expected = interpret(module, "main", [_copied(v) for v in values])
        except InterpreterError:
            continue
        given = [_copied(v) for v in values]
        found = run(*given)
        assert all(map(_identical, given, values)), f"an input was written at {chosen}"
        assert same_values(expected, found), f"at {chosen}\ninputs {values}\nexpected {expected}\nfound {found}"


def _identical(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(map(_identical, a, b))
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)


def tensor_passes(module: ModuleOp) -> None:
    """A tensor function lowered step by step, with and without its schedule."""
    passes_keep_meaning(module, ("default-schedule", *TO_LOOPS))
    passes_keep_meaning(module, TO_LOOPS)
    passes_keep_meaning(module, ("tir-simplify",))


def native_tensor(module: ModuleOp, pipeline: Any = "default-cpu", sizes: Sequence[int] = (2, 5, 1, 19)) -> None:
    """The executable of a tensor function writes what the interpreter does."""
    run = build(module, pipeline=pipeline, opt_level=1)["main"]
    func = functions(module)["main"]
    for n, chosen in enumerate(symbolic_sizes(func, sizes)):
        values = random_inputs(func, chosen, n)
        expected, found = [_copied(v) for v in values], [_copied(v) for v in values]
        try:
            interpret(module, "main", expected)
        except InterpreterError:
            continue
        run(*found)
        for i, (a, b) in enumerate(zip(expected, found, strict=True)):
            assert same_values(a, b), f"argument {i} at {chosen}: expected {a}, found {b}"


def native_tensor_both(module: ModuleOp) -> None:
    """With the default schedule, and as it is written."""
    native_tensor(module)
    native_tensor(module, "lower-cpu-unscheduled", sizes=(2, 5))
