"""Every operator, in every dtype that it accepts, at symbolic, static and empty shapes: machine code agrees with numpy.

The cases are those of the tests of legalization; here the dtype of the tensors is replaced by each other one, the
sizes by numbers and by 0. What the operator's verifier accepts has to compile and to compute what numpy does; an input
on which numpy has no value (the greatest of no elements) is passed over. At less than full strength an operator has
each kind of shape, each in another dtype, and which dtypes these are differs from operator to operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from strength import is_full, thinned
from xdsl.dialects.builtin import ModuleOp, StringAttr

from tirax.dialects import relax
from tirax.interpreter import InterpreterError, interpret, random_inputs
from tirax.interpreter.compare import same_values
from tirax.ir.functions.lookup import functions
from tirax.lowering.build import build
from tirax.tools.fuzz.operator_cases import CASES, POSITIVE, Case, function, shapes, texts

DTYPES = ["f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "i1"]
SIZES: dict[str, dict[str, int]] = {"symbolic": {}, "static": {"n": 3, "m": 2}, "empty": {"n": 0, "m": 0}}
RUN_AT = 3
"""The value of `n` where it is symbolic; `m` is one more."""

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def _with_dtype(arg: Any, old: str, new: str) -> Any:
    if isinstance(arg, list):
        return [_with_dtype(a, old, new) for a in arg]
    return f"{arg.rpartition(' ')[0]} {new}" if isinstance(arg, str) and arg.endswith(f" {old}") else arg


def _with_sizes(arg: Any, sizes: Mapping[str, int]) -> Any:
    if isinstance(arg, list):
        return [_with_sizes(a, sizes) for a in arg]
    if not isinstance(arg, str):
        return arg
    dims, _, dtype = arg.rpartition(" ")
    for name, size in sizes.items():
        dims = dims.replace(name, str(size))
    return f"{dims} {dtype}"


def _main_dtype(case: Case) -> str | None:
    found = texts(case)
    return found[0].rpartition(" ")[2] if found else None


def _variants(case: Case) -> Iterator[tuple[str, ModuleOp]]:
    """The case in each dtype and each kind of shape."""
    name, args, attrs = case
    old = _main_dtype(case)
    for dtype in DTYPES if old is not None else ["f32"]:
        typed = [_with_dtype(a, old, dtype) for a in args] if old is not None else args
        for kind, sizes in SIZES.items():
            if sizes and "n" not in shapes(case) and "m" not in shapes(case):
                continue
            module = function((name, [_with_sizes(a, sizes) for a in typed], attrs))
            if module is not None:
                yield f"{dtype}_{kind}", module


def _chosen(case: Case) -> list[tuple[str, ModuleOp]]:
    """All variants, or one of each kind of shape, in dtypes that are others for each operator."""
    variants = list(_variants(case))
    if is_full():
        return variants
    first = crc32(case[0].encode())
    kinds = [[v for v in variants if v[0].endswith(kind)] for kind in SIZES]
    return [some[(first + 4 * i) % len(some)] for i, some in enumerate(kinds) if some]


def _together(case: Case) -> ModuleOp:
    """The variants of a case as functions of one module."""
    out = ModuleOp([])
    for label, module in _chosen(case):
        (func,) = module.ops
        assert isinstance(func, relax.FuncOp)
        func.detach()
        func.sym_name = StringAttr(label)
        out.body.block.add_op(func)
    return out


def _inputs(name: str, func: Any) -> list[Any]:
    values = random_inputs(func, {"n": RUN_AT, "m": RUN_AT + 1}, seed=1)
    if name not in POSITIVE:
        return values
    return [(np.abs(v) + 1).astype(v.dtype) if isinstance(v, np.ndarray) and v.dtype != bool else v for v in values]


@pytest.mark.thinned  # by `_chosen`, too
@thinned("name", sorted(CASES), 12)
def test_operator(name: str) -> None:
    (case, *_) = CASES[name]
    module = _together(case)
    assert functions(module), "the operator refuses its own case"
    executable = build(module, opt_level=1)
    wrong: list[str] = []
    for label, func in functions(module).items():
        given = _inputs(name, func)
        try:
            expected = interpret(module, label, [np.array(v) if isinstance(v, np.ndarray) else v for v in given])
        except InterpreterError:
            continue
        found = executable[label](*given)
        if not same_values(expected, found):
            wrong.append(f"{label}: inputs {given}\n  expected {expected}\n  found {found}")
    assert not wrong, "\n".join(wrong)
