"""Measure the native code of a program."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects import tir
from ...driver.build import run_passes
from ...interpreter import random_inputs, symbolic_sizes
from ...interpreter.compare import Function
from ...ir.functions.lookup import functions
from ...script.mlir_text import reading_context
from ..guard import UsageError
from ..native import NativeModule
from ..options import Sizes

_ROUNDS = 15
_SECONDS = 2e-3
"""Minimum seconds of a measurement: short calls are repeated."""

Call = Callable[[], object]


def times(module: ModuleOp, pipelines: Sequence[Sequence[ModulePass]], sizes: Sizes) -> list[float]:
    """Return the seconds that calls of all public functions take, for each of several pipelines.

    Measurements are interleaved, and the minimum is returned, since other load only makes calls slower. Raises
    what building and calls raise.
    """
    calls = [_calls(module, passes, sizes) for passes in pipelines]
    numbers = [max(1, int(_SECONDS / max(_seconds(c), 1e-9))) for c in calls]
    rounds = [[_seconds(c, n) for c, n in zip(calls, numbers, strict=True)] for _ in range(_ROUNDS)]
    return [min(column) for column in zip(*rounds, strict=True)]


def _calls(module: ModuleOp, passes: Sequence[ModulePass], sizes: Sizes) -> list[Call]:
    """Build a call of each public function after the passes, at the first of `sizes`."""
    copy = module.clone()
    public = {name: func for name, func in functions(module).items() if not func.private}
    inputs = {name: _inputs(func, sizes) for name, func in public.items()}
    run_passes(tuple(passes), reading_context(), copy, verify_each=False)
    native = NativeModule(copy)
    return [_call(native, public[name], args) for name, args in inputs.items()]


def _call(native: NativeModule, func: Function, args: list[Any]) -> Call:
    if isinstance(func, tir.FuncOp):
        return functools.partial(native.call_kernel, func, args)
    return functools.partial(native.call, func.sym_name.data, args)


def _inputs(func: Function, sizes: Sizes) -> list[Any]:
    return random_inputs(func, next(iter(symbolic_sizes(func, sizes))))


def _seconds(calls: Sequence[Call], number: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(number):
        for call in calls:
            call()
    return (time.perf_counter() - start) / number


def limit_of(text: str) -> float | None:
    """Return the seconds of a text such as `200us`, None if it is not a time. Raises `UsageError` for 0."""
    for unit, scale in {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}.items():
        number = text.removesuffix(unit)
        if number != text and number.replace(".", "", 1).isdecimal():
            return _positive(float(number) * scale, text)
    return None


def _positive(seconds: float, text: str) -> float:
    if seconds <= 0:
        raise UsageError("a time is longer than nothing", found=text)
    return seconds
