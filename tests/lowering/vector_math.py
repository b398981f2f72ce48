"""Kernels of one function of `math`, expanded for a target, and references for them."""

import ctypes
import ctypes.util
from functools import cache

import numpy as np

from tirax.lowering.convert_to_llvm import ConvertToLLVM
from tirax.lowering.llvm_text import print_llvm
from tirax.lowering.vector_math import ExpandMath
from tirax.target import Target

Long = np.longdouble


def elementwise(op: str, element: str, lanes: int, count: int = 1) -> str:
    """A function that applies an operation of `math`, or `frem`, to arrays of a length that `lanes` divides."""
    type_ = element if lanes == 1 else f"vector<{lanes}x{element}>"
    memref = f"memref<?x{element}>"
    if lanes == 1:
        loads = [f"%v{i} = memref.load %a{i}[%i] : {memref}" for i in range(count)]
        store = f"memref.store %r, %out[%i] : {memref}"
    else:
        loads = [f"%v{i} = vector.load %a{i}[%i] : {memref}, {type_}" for i in range(count)]
        store = f"vector.store %r, %out[%i] : {memref}, {type_}"
    params = ", ".join([f"%a{i} : {memref}" for i in range(count)] + [f"%out : {memref}", "%n : index"])
    name = f"llvm.{op}" if op == "frem" else f"math.{op}"
    body = "\n".join([*loads, f"%r = {name} {', '.join(f'%v{i}' for i in range(count))} : {type_}", store])
    return function(params, body, lanes)


def function(params: str, body: str, lanes: int) -> str:
    """A function with a loop over %i from 0 to %n in steps of `lanes`."""
    return f"""
      func.func @f({params}) {{
        %zero = arith.constant 0 : index
        %step = arith.constant {lanes} : index
        scf.for %i = %zero to %n step %step {{
          {body}
        }}
        func.return
      }}"""


def expanded(backend, source: str, target: str = "llvm"):
    """The module after `expand-math`."""
    module = backend.parse(source)
    ExpandMath(target).apply(backend.context(), module)
    module.verify()
    return module


def compiled(backend, source: str, target: str = "llvm"):
    """The function as one of numpy arrays; the result is as the first of them."""
    module = expanded(backend, source, target)
    ConvertToLLVM().apply(backend.context(), module)
    loaded = backend.load_text(print_llvm(module), target=Target(target))

    def run(*arrays):
        out = np.empty_like(arrays[0])
        backend.call_loaded(loaded, "f", [*arrays, out, len(out)])
        return out

    return run


@cache
def _libm(name: str):
    """A function of the C library in long double; the result is rounded to f64."""
    actual = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name + "l")
    actual.argtypes, actual.restype = [ctypes.c_longdouble], ctypes.c_longdouble
    return lambda x: np.array([actual(float(v)) for v in x], Long)


REFERENCES = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "log": np.log,
    "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "erf": _libm("erf"), "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan,
    "atan2": np.arctan2, "asin": np.arcsin, "acos": np.arccos, "powf": np.power,
    "frem": np.fmod,
}  # fmt: skip
"""Operation -> the function in f64 (for f32) and long double (for f64)."""


def ulps(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The error in units in the last place of the format of `got`, which is as wide below the least normal number as
    there; infinite where only one is NaN or infinite (unless rounding makes it so), or where the signs differ."""
    info = np.finfo(got.dtype)
    size = np.abs(expected.astype(Long))
    unit = np.ldexp(Long(1), np.frexp(np.maximum(size, Long(info.tiny)))[1] - 1 - info.nmant)
    error = np.abs(got.astype(Long) - expected) / unit
    too_large = np.isinf(got) & (size > info.max)
    error = np.where(too_large | (np.isinf(got) & np.isinf(expected)), 0, error)
    same_sign = np.signbit(got) == np.signbit(expected)
    error = np.where(same_sign & ~np.isnan(error), error, np.inf)
    return np.where(np.isnan(got) & np.isnan(expected), 0, error)


def inputs(dtype, per_exponent: int, seed: int = 0) -> np.ndarray:
    """Numbers of every sign and exponent, more of those that are usual, and what is special."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    integer = np.uint32 if info.bits == 32 else np.uint64
    heads = np.repeat(np.arange(1 << (info.bits - info.nmant), dtype=integer), per_exponent) << integer(info.nmant)
    strata = (heads | rng.integers(0, 1 << info.nmant, len(heads)).astype(integer)).view(dtype)
    usual = [rng.uniform(-a, a, 400 * per_exponent) for a in (1, 3, 12, 110, 800)]
    near_one = 1 + rng.choice([-1, 1], 100 * per_exponent) * 2.0 ** rng.uniform(-info.nmant, -1, 100 * per_exponent)
    rest = np.concatenate([*usual, near_one]).astype(dtype)
    actual = np.concatenate([strata, rest, special(dtype)])
    return np.concatenate([actual, np.zeros(-len(actual) % 32, dtype)])


def special(dtype) -> np.ndarray:
    """Zeros, infinities, NaN, limits of the format and of the functions, and their neighbours."""
    info = np.finfo(dtype)
    limits = [88.72283905, 103.9720770, 709.782712893384, 745.1332191019411, 127.0, 128.0, 149.0, 150.0, 1023.0, 1024.0]
    marks = [
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        10.0,
        100.0,
        np.sqrt(0.5),
        np.sqrt(2),
        np.pi,
        np.pi / 2,
        np.pi / 4,
        2.0**15,
        2.0**30,
    ]
    at = np.array([0.0, info.smallest_subnormal, info.tiny, info.max, info.eps, *limits, *marks], dtype)
    up, down = np.nextafter(at, dtype(np.inf)), np.nextafter(at, dtype(-np.inf))
    at = np.concatenate([at, up, down])
    with np.errstate(over="ignore"):
        return np.concatenate([at, -at, np.array([np.inf, -np.inf, np.nan], dtype)])
