"""Compare native code with numpy in double precision, which approximates exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, DictionaryAttr, FloatAttr, ModuleOp, f64
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.passes import ModulePass

from ...dialects import tir
from ...dialects.relax.data import TensorDataAttr
from ...driver.build import run_passes
from ...interpreter import random_inputs, symbolic_sizes
from ...interpreter.compare import Function, copied, observe
from ...ir.functions.lookup import functions
from ...ir.rewriting.edit import set_type
from ...script.mlir_text import reading_context
from ..native import NativeModule
from ..options import Sizes


def differs(module: ModuleOp, passes: Sequence[ModulePass], sizes: Sizes, tolerance: float) -> bool:
    """Return whether a public function's native result is further than `tolerance`, relative and absolute, from
    numpy's.

    Inputs are random. Raises what lowering, the interpreter and calls raise.
    """
    after, exact = module.clone(), widened(module)
    run_passes(tuple(passes), reading_context(), after, verify_each=False)
    native = NativeModule(after)
    for name, func in functions(module).items():
        for seed, chosen in enumerate(symbolic_sizes(func, sizes) if not func.private else ()):
            inputs = random_inputs(func, chosen, seed)
            expected = observe(exact, name, [_wide(v) for v in inputs])
            if not _near(expected, _called(native, func, inputs), tolerance):
                return True
    return False


def _called(native: NativeModule, func: Function, inputs: list[Any]) -> Any:
    args = [copied(v) for v in inputs]
    if isinstance(func, tir.FuncOp):
        return native.call_kernel(func, args), args
    return native.call(func.sym_name.data, args)


def _near(expected: Any, actual: Any, tolerance: float) -> bool:
    pairs = zip(_numbers(expected), _numbers(actual), strict=True)
    return all(np.allclose(_wide(a), e, rtol=tolerance, atol=tolerance, equal_nan=True) for e, a in pairs)


def _numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for part in cast("Sequence[Any]", value):
            yield from _numbers(part)
    elif value is not None:
        yield np.asarray(value)


def _wide(value: Any) -> Any:
    """Convert floats to 64 bits; other values are returned unchanged."""
    if isinstance(value, tuple | list):
        return type(value)(_wide(v) for v in cast("Sequence[Any]", value))
    is_array = isinstance(value, np.ndarray | np.generic)
    return value.astype(np.float64) if is_array and value.dtype.kind not in "biuc" else value


def widened(module: ModuleOp) -> ModuleOp:
    """Return a copy of a program in which every floating-point type is f64, including constants."""
    copy = module.clone()
    for op in copy.walk():
        for name, attribute in op.properties.items():
            op.properties[name] = _mapped(attribute)
        for name, attribute in op.attributes.items():
            op.attributes[name] = _mapped(attribute)
        args = [arg for region in op.regions for block in region.blocks for arg in block.args]
        for value in (*op.results, *args):
            set_type(value, _mapped(value.type))
    return copy


def _mapped(attribute: Attribute) -> Attribute:
    if isinstance(attribute, AnyFloat):
        return f64
    if isinstance(attribute, FloatAttr):
        return FloatAttr(attribute.value.data, f64)
    if isinstance(attribute, TensorDataAttr):
        wide = isinstance(attribute.data.dtype, AnyFloat)
        return TensorDataAttr.from_numpy(attribute.numpy().astype(np.float64), f64) if wide else attribute
    if isinstance(attribute, ArrayAttr):
        return ArrayAttr([_mapped(a) for a in attribute.data])
    if isinstance(attribute, DictionaryAttr):
        return DictionaryAttr({name: _mapped(a) for name, a in attribute.data.items()})
    if isinstance(attribute, ParametrizedAttribute) and attribute.parameters:
        return attribute.new([_mapped(a) for a in attribute.parameters])
    return attribute
