"""Every operator, in each kind of dtype that it accepts, at symbolic, static and empty shapes: native code as numpy.

The cases are those of the tests of legalization; here the dtype of the tensors is replaced by each other one, the
sizes by numbers and by 0. What the operator's verifier accepts has to compile and to compute what numpy does; an input
on which numpy has no value (the greatest of no elements) is passed over.

All pairs of operator, kind of dtype and kind of shape are there, not all triples: what a shape is known to be changes
loops, what a dtype is changes their bodies. An operator has its first dtype in each kind of shape, every other float,
bool and one integer of eight in one, which differs from operator to operator; and what is symbolic runs at 0, too,
without being built again. At less than full strength an operator has each kind of shape, each in another dtype; so has
one on each element, whose dtypes are those of test_arithmetic.py, at full strength.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

import arithmetic
import numpy as np
import pytest
from strength import is_full, thinned
from xdsl.dialects.builtin import ModuleOp, StringAttr

from tirax.dev.fuzz.operator_cases import CASES, POSITIVE, Case, function, shapes, texts
from tirax.dialects import relax
from tirax.driver.build import build
from tirax.interpreter import InterpreterError, interpret, random_inputs
from tirax.interpreter.compare import same_values
from tirax.ir.functions.lookup import functions

INTEGERS = ["i8", "ui16", "i32", "ui64", "i16", "ui8", "i64", "ui32"]
DTYPES = ["f64", "f32", "f16", "bf16", *INTEGERS, "i1"]
SIZES: dict[str, dict[str, int]] = {"symbolic": {}, "static": {"n": 3, "m": 2}, "empty": {"n": 0, "m": 0}}
OF_ELEMENTS = {*arithmetic.UNARY, *arithmetic.BINARY}
"""Each of these runs there in each of its dtypes, natively and interpreted, beside numpy."""
RUN_AT: list[dict[str, int]] = [{"n": 3, "m": 4}, {"n": 0, "m": 0}]
"""The values of `n` and `m` where they are symbolic."""

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
    actual = texts(case)
    return actual[0].rpartition(" ")[2] if actual else None


def _variants(case: Case) -> Iterator[tuple[str, str, ModuleOp]]:
    """The case in each dtype and each kind of shape, after the names of both."""
    name, args, attrs = case
    old = _main_dtype(case)
    for dtype in DTYPES if old is not None else ["f32"]:
        typed = [_with_dtype(a, old, dtype) for a in args] if old is not None else args
        for kind, sizes in SIZES.items():
            if sizes and "n" not in shapes(case) and "m" not in shapes(case):
                continue
            module = function((name, [_with_sizes(a, sizes) for a in typed], attrs))
            if module is not None:
                yield dtype, kind, module


def _chosen(case: Case) -> list[tuple[str, str, ModuleOp]]:
    """Each dtype and each kind of shape, or one of each kind of shape, in dtypes that are others for each operator."""
    variants = list(_variants(case))
    kinds = [kind for kind in SIZES if any(v[1] == kind for v in variants)]
    dtypes = list(dict.fromkeys(v[0] for v in variants))
    first = crc32(case[0].encode())
    if is_full() and case[0] not in OF_ELEMENTS:
        passed_over = {INTEGERS[(first + i) % len(INTEGERS)] for i in range(7)} - {dtypes[0]}
        kind_of = {d: kinds[(first + i) % len(kinds)] for i, d in enumerate(dtypes) if d not in passed_over}
        return [v for v in variants if v[0] == dtypes[0] or v[1] == kind_of.get(v[0])]
    of_kind = [[v for v in variants if v[1] == kind] for kind in kinds]
    return [some[(first + 4 * i) % len(some)] for i, some in enumerate(of_kind)]


def _together(case: Case) -> ModuleOp:
    """The variants of a case as functions of one module."""
    out = ModuleOp([])
    for dtype, kind, module in _chosen(case):
        (func,) = module.ops
        assert isinstance(func, relax.FuncOp)
        func.detach()
        func.sym_name = StringAttr(f"{dtype}_{kind}")
        out.body.block.add_op(func)
    return out


def _inputs(name: str, func: Any, sizes: dict[str, int]) -> list[Any]:
    values = random_inputs(func, sizes, seed=1)
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
        for sizes in RUN_AT if label.endswith("symbolic") else RUN_AT[:1]:
            inputs = _inputs(name, func, sizes)
            try:
                expected = interpret(module, label, [np.array(v) if isinstance(v, np.ndarray) else v for v in inputs])
            except InterpreterError:
                continue
            actual = executable[label](*inputs)
            if not same_values(expected, actual):
                wrong.append(f"{label}: inputs {inputs}\n  expected {expected}\n  found {actual}")
    assert not wrong, "\n".join(wrong)
