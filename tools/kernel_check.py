"""`tirax run --check`: compare native code with the interpreter, kernel by kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import PythonValues

from ..dialects import tir
from ..dialects.names import name_of
from ..driver.build import run_passes
from ..driver.pipelines import HOST, LOWERING, PIPELINES, make_passes
from ..interpreter import interpret
from ..interpreter.compare import copied, same_values, widening_tolerance
from ..interpreter.environment import Environment
from ..interpreter.machine import Machine, Steps
from ..interpreter.tir import TirSemantics
from ..ir.passes.transform import new_context
from ..target import Target
from .checking import MeaningChangedError, save_reproducer
from .native import NativeModule

_AT = HOST[2]
"""The pass before which kernels are tensor functions that the interpreter calls."""


@dataclass
class _NativeComparison(TirSemantics):
    """Runs each tensor function on the interpreter and natively, and raises at the first difference."""

    native: NativeModule
    program: ModuleOp
    compared: dict[str, int] = field(default_factory=dict[str, int])
    tolerance: float = 0.0

    def __init__(self, env: Environment, native: NativeModule, program: ModuleOp):
        super().__init__(env)
        self.native, self.program, self.compared = native, program, {}
        self.tolerance = widening_tolerance(program)

    def call(self, interpreter: Machine, func: tir.FuncOp, args: PythonValues) -> Steps:
        """As `TirSemantics.call`."""
        name, inputs = func.sym_name.data, [copied(a) for a in args]
        results = yield super().call(interpreter, func, args)
        if not results and self.native.has_kernel(name):
            outputs = [copied(a) for a in inputs]
            self.native.call_kernel(func, outputs)
            self.compared[name] = self.compared.get(name, 0) + 1
            if not same_values(list(args), outputs, self.tolerance):
                raise self._changed(name, inputs, args, outputs)
        return results

    def _changed(
        self, name: str, inputs: Sequence[Any], expected: Sequence[Any], outputs: Sequence[Any]
    ) -> MeaningChangedError:
        at = next(
            i for i, (a, b) in enumerate(zip(expected, outputs, strict=True)) if not same_values(a, b, self.tolerance)
        )
        func = next(f for f in self.program.ops if isinstance(f, tir.FuncOp) and f.sym_name.data == name)
        copy = func.clone()
        copy.properties.pop("sym_visibility", None)
        options = " ".join(f"--input {name_of(p)}=input{i}.npy" for i, p in enumerate(func.params))
        folder = save_reproducer(
            str(ModuleOp([copy])), inputs, f"tirax run program.mlir --func {name} {options} --check"
        )
        for i, value in enumerate(inputs):
            np.save(folder / f"input{i}.npy", np.asarray(value))
        return MeaningChangedError(
            f"the kernel '{name}' computes something else natively than on the interpreter",
            expected=_text(expected[at]),
            found=_text(outputs[at]),
            notes=[f"in argument {at}", f"reproducer: {folder}"],
        )


def _plain(value: Any) -> Any:
    """Copy an argument for the interpreter."""
    return copied(np.asarray(value)) if isinstance(value, np.ndarray) else value


def _text(value: Any) -> str:
    return np.array2string(np.asarray(value), threshold=16, precision=6).replace("\n", " ")


def check_kernels(
    module: ModuleOp,
    pipeline: str,
    target: Target,
    name: str,
    values: Sequence[Any],
    result: Any,
    written: Sequence[Any],
) -> str:
    """Call `name` on the interpreter, with each kernel also run natively, and compare with the native `result`.

    `written` are the arguments after the native call, which were `values` before it.

    Returns a description of what was compared. Raises `MeaningChangedError`, which names the first kernel that
    differs.
    """
    passes = PIPELINES[pipeline]
    at = passes.index(_AT) if _AT in passes else len(passes)
    program = module.clone()
    run_passes(make_passes(passes[:at], target.text), new_context(), program, verify_each=False)
    lowered = program.clone()
    rest = passes[at:] if _AT in passes else LOWERING
    run_passes(make_passes(rest, target.text), new_context(), lowered, verify_each=False)
    beside: list[_NativeComparison] = []

    def semantics(env: Environment) -> TirSemantics:
        beside.append(_NativeComparison(env, NativeModule(lowered, target), program))
        return beside[0]

    interpret(program, name, [_plain(v) for v in values], semantics=semantics)
    arguments = [_plain(v) for v in values]
    expected = interpret(module, name, arguments)
    sides = (arguments, list(written)) if expected is None else (expected, result)
    if not same_values(*sides, widening_tolerance(module)):
        raise MeaningChangedError(
            f"'{name}' computes something else natively than on the interpreter, though each kernel computes the same",
            hint="tirax-opt --pipeline default-cpu --check-each names the pass",
        )
    counts = ", ".join(f"{kernel} {count} times" for kernel, count in beside[0].compared.items())
    return f"check: the same as the interpreter; kernels compared: {counts or 'none'}"
