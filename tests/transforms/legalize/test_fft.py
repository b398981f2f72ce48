"""Fourier transforms: native code and the interpreter beside numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from strength import thinned

from tirax.dev.fuzz import checks
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.runtime.fft import as_complex, as_pairs
from tirax.script import parse_source
from tirax.topi.fft_plan import Bluestein, factors, plan

LENGTHS = [64, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 19, 32, 49, 53, 97, 121, 128, 169, 210, 250, 256]
LENGTHS += [360, 507, 512, 1000, 1009, 1024, 2018, 2310, 4096, 30]
BOUND = {"float32": 4e-7, "float64": 8e-16}
"""Errors relative to the greatest number, for each doubling of the length."""


def module(n: int, dtype: str) -> Any:
    """All transforms of a length, of a symbolic batch."""
    real, pairs, half = (f"R.Tensor(('b', {s}), '{dtype}')" for s in (n, f"{n}, 2", f"{n // 2 + 1}, 2"))
    rows = [
        ("fft", pairs, "R.fft.fft(x)"),
        ("ifft", pairs, "R.fft.fft(x, inverse=True)"),
        ("rfft", real, "R.fft.rfft(x)"),
        ("irfft", half, f"R.fft.irfft(x, {n})"),
    ]
    text = "".join(
        f"    @R.function\n    def {name}(x: {t}):\n        y = {call}\n        return y\n" for name, t, call in rows
    )
    return parse_source(f"@I.ir_module\nclass Module:\n{text}")


def wanted(name: str, x: Any, n: int) -> Any:
    wide = x.astype(np.float64)
    if name == "rfft":
        return as_pairs(np.fft.rfft(wide))
    return np.fft.irfft(as_complex(wide), n) if name == "irfft" else as_pairs(getattr(np.fft, name)(as_complex(wide)))


def close(found: Any, expected: Any, dtype: str, n: int) -> None:
    bound = BOUND[dtype] * (2 + np.log2(n)) * max(np.abs(expected).max(initial=0), 1e-30)
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


@thinned("case", [(n, dtype) for i, n in enumerate(LENGTHS) for dtype in list(BOUND)[:: (-1) ** i]], 3, label=str)
def test_lengths(case: tuple[int, str]) -> None:
    n, dtype = case
    program = module(n, dtype)
    native = build(program)
    random = np.random.default_rng(n)
    for batch in (3, 1, 0):
        shapes = {"fft": (n, 2), "ifft": (n, 2), "rfft": (n,), "irfft": (n // 2 + 1, 2)}
        for name, shape in shapes.items():
            x = random.standard_normal((batch, *shape)).astype(dtype)
            close(native[name](x), wanted(name, x, n), dtype, n)


def test_axes_and_norms() -> None:
    program = parse_source("""
@R.function
def main(x: R.Tensor(("b", 6, "c", 5, 2), "float64"), y: R.Tensor((6, "c", "b"), "float64")):
    a = R.fft.fft(x, axis=1, norm="ortho")
    b = R.fft.fft(a, axis=-1, inverse=True, norm="forward")
    c = R.fft.irfft(b, 9, axis=3, norm="ortho")
    d = R.fft.rfft(y, axis=0, norm="forward")
    return (a, b, c, d)
""")
    native = build(program)
    random = np.random.default_rng(1)
    for b, c in ((2, 3), (1, 1), (0, 2)):
        x, y = random.standard_normal((b, 6, c, 5, 2)), random.standard_normal((6, c, b))
        first = np.fft.fft(as_complex(x), axis=1, norm="ortho")
        second = np.fft.ifft(first, axis=3, norm="forward")
        third = np.fft.irfft(second, 9, axis=3, norm="ortho")
        expected = [as_pairs(first), as_pairs(second), third, as_pairs(np.fft.rfft(y, axis=0, norm="forward"))]
        for results in (native["main"](x, y), interpret(program, "main", [x, y])):
            for found, value in zip(results, expected, strict=True):
                np.testing.assert_allclose(found, value, atol=1e-13)


def test_a_symbolic_length() -> None:
    program = parse_source("""
@R.function
def main(x: R.Tensor(("b", "n"), "float32")):
    n = T.int64()
    a = R.fft.rfft(x)
    b = R.fft.fft(a, axis=-1)
    c = R.fft.irfft(b, n)
    return (a, b, c)
""")
    checks.texts(program)
    native = build(program)
    for b, n in ((2, 7), (1, 1), (0, 4), (3, 8)):
        x = np.random.default_rng(1).standard_normal((b, n)).astype(np.float32)
        first = np.fft.rfft(x)
        second = np.fft.fft(first)
        third = np.fft.irfft(second, n)
        for results in (native["main"](x), interpret(program, "main", [x])):
            for found, value in zip(results, [as_pairs(first), as_pairs(second), third], strict=True):
                np.testing.assert_allclose(found, value, atol=1e-5)


def test_plans_multiply_to_the_length() -> None:
    for n in range(1, 400):
        transform = plan(n, real=False).complex
        assert transform.n == n
        if isinstance(transform, Bluestein):
            assert factors(n) is None and transform.inner.n >= 2 * n - 1
            transform = transform.inner
        parts = [transform.first, *([transform.second] if transform.second else [])]
        assert np.prod([p.n for p in parts], dtype=int) == transform.n
        for part in parts:
            assert np.prod([p.radix for p in part.passes], dtype=int) == part.n
