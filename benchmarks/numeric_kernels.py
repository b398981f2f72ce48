"""Fourier transforms and factorizations of matrices beside numpy, one thread.

    python benchmarks/numeric_kernels.py [fft] [linalg] [--rounds 15]

Each row is checked against numpy first; times are those of the processor, so that other programs count less. The ratio
is numpy's time divided by ours: above 1 tirax is faster.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import measure

measure.quiet()

import numpy as np  # noqa: E402

from tirax.driver.build import build  # noqa: E402
from tirax.script import parse_source  # noqa: E402

Array = Any
LENGTHS = (64, 256, 1000, 1009, 1024, 4096, 65536)
SIZES = (64, 256, 1024)


def compiled(parameters: str, call: str) -> Callable[..., Any]:
    """Return a function of one call of Relax."""
    return build(parse_source(f"@R.function\ndef main({parameters}):\n    y = {call}\n    return y\n"))["main"]


def transforms() -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """Yield the name of each row, and calls of ours and of numpy's."""
    random = np.random.default_rng(0)
    for dtype in ("float32", "float64"):
        for n in LENGTHS:
            whole = compiled(f"x: R.Tensor(('b', {n}, 2), '{dtype}')", "R.fft.fft(x)")
            half = compiled(f"x: R.Tensor(('b', {n}), '{dtype}')", "R.fft.rfft(x)")
            for batch in (1, 64):
                x = random.standard_normal((batch, n, 2)).astype(dtype)
                z, real = x.view(np.result_type(dtype, np.complex64))[..., 0], np.ascontiguousarray(x[..., 0])
                yield f"fft {dtype} {batch} x {n}", lambda f=whole, x=x: f(x), lambda z=z: np.fft.fft(z)
                yield f"rfft {dtype} {batch} x {n}", lambda f=half, x=real: f(x), lambda x=real: np.fft.rfft(x)


def factorizations() -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """Yield the name of each row, and calls of ours and of numpy's."""
    random = np.random.default_rng(0)
    for dtype in ("float32", "float64"):
        t = f"R.Tensor(('n', 'n'), '{dtype}')"
        cholesky, svd = compiled(f"x: {t}", "R.linalg.cholesky(x)"), compiled(f"x: {t}", "R.linalg.svd(x)")
        solve = compiled(f"x: {t}, b: R.Tensor(('n', 8), '{dtype}')", "R.linalg.solve(x, b)")
        for n in SIZES:
            x, b = random.standard_normal((n, n)).astype(dtype), random.standard_normal((n, 8)).astype(dtype)
            positive = x @ x.T + n * np.eye(n, dtype=dtype)
            yield (
                f"cholesky {dtype} {n}",
                lambda f=cholesky, x=positive: f(x)[0],
                lambda x=positive: np.linalg.cholesky(x),
            )
            yield (
                f"solve {dtype} {n}",
                lambda f=solve, x=x, b=b: f(x, b)[0],
                lambda x=x, b=b: np.linalg.solve(x, b),
            )
            yield f"svd {dtype} {n}", lambda f=svd, x=x: f(x)[1], lambda x=x: np.linalg.svd(x)[1]


def checked(name: str, ours: Array, numpys: Array) -> None:
    """Raise `ValueError` if results differ by more than the precision of the dtype."""
    ours = np.asarray(ours)
    if np.iscomplexobj(numpys):
        numpys = np.stack([numpys.real, numpys.imag], axis=-1)
    bound = 1e-3 if ours.dtype == np.float32 else 1e-8
    if np.abs(ours - numpys).max() > bound * np.abs(numpys).max():
        raise ValueError(f"{name} differs from numpy")


TABLES = {"fft": transforms, "linalg": factorizations}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="which tables, by default both")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    for table in [t for t in TABLES if t in (options.tables or TABLES)]:
        print(f"{table:28} {'tirax µs':>12} {'numpy µs':>12} {'ratio':>7}")
        for name, ours, numpys in TABLES[table]():
            checked(name, ours(), numpys())
            times = measure.interleaved({"tirax": ours, "numpy": numpys}, options.rounds, 5e-4, time.process_time, 1.0)
            mine, other = times["tirax"].minimum, times["numpy"].minimum
            print(f"{name:28} {mine:12.1f} {other:12.1f} {other / mine:7.2f}", flush=True)


if __name__ == "__main__":
    main()
