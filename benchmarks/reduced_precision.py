"""Matrix products of bfloat16 and of bytes beside our own of float32: operations a nanosecond, and their ratio.

    python benchmarks/reduced_precision.py [--rounds 51] [--target llvm]

Each product is a Relax module of one `R.matmul`, on one thread. bfloat16 has to be within (k + 1) 2^-24 of the sum of
magnitudes of float64 on the same numbers (stored as bfloat16, 2^-8 of the result more), bytes have to be exact, before
anything is timed.
"""

from __future__ import annotations

import argparse

import measure

measure.quiet()

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

SIZES = ((128, 128, 128), (512, 512, 512), (128, 768, 3072))
KINDS = (
    ("float32", "float32"),
    ("bfloat16", "float32"),
    ("bfloat16", "bfloat16"),
    ("int8", "int32"),
    ("uint8", "int32"),
)
"""(dtype of the factors, dtype of the result); the others are divided by the first."""
SOURCE = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({m}, {k}), "{dtype}"), w: R.Tensor(({k}, {n}), "{dtype}")):
        with R.dataflow():
            y = R.matmul(x, w, out_dtype="{out}")
            R.output(y)
        return y
"""
RNG = np.random.default_rng(0)


def numbers(shape: tuple[int, int], dtype: str) -> np.ndarray:
    """Random numbers; of bytes all that there are."""
    if dtype in ("int8", "uint8"):
        kind = np.iinfo(dtype)
        return RNG.integers(kind.min, kind.max, shape, dtype, endpoint=True)
    return RNG.standard_normal(shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def check(found: np.ndarray, x: np.ndarray, w: np.ndarray) -> float:
    """The largest error as a part of what is allowed. Ends the program where it is more than 1."""
    wide, others = x.astype("float64"), w.astype("float64")
    wanted = wide @ others
    allowed = (x.shape[1] + 1) * 2.0**-24 * (np.abs(wide) @ np.abs(others))
    if found.dtype == ml_dtypes.bfloat16:
        allowed += 2.0**-8 * (np.abs(wanted) + allowed)
    if found.dtype == np.int32:
        allowed = np.full_like(wanted, np.finfo("float64").tiny)
    worst = float(np.max(np.abs(found.astype("float64") - wanted) / allowed))
    if not worst <= 1:
        raise SystemExit(f"{x.dtype} into {found.dtype}: {worst:.2f} times the error that is allowed")
    return worst


def row(size: tuple[int, int, int], rounds: int, target: str) -> list[dict[str, object]]:
    """All kinds of one size, timed in turns."""
    m, k, n = size
    calls, errors = {}, {}
    for kind in KINDS:
        module = tvm.script.from_source(SOURCE.format(m=m, k=k, n=n, dtype=kind[0], out=kind[1]))
        main = relax.build(module, target=target)["main"]
        x, w = numbers((m, k), kind[0]), numbers((k, n), kind[0])
        errors[kind] = check(np.asarray(main(x, w)), x, w)
        calls["/".join(kind)] = lambda main=main, x=x, w=w: main(x, w)
    times = measure.interleaved(calls, rounds)
    base = times["/".join(KINDS[0])]
    return [
        {
            "size": size,
            "kind": name,
            "gops": 2e-3 * m * k * n / times[name].median,
            "ratio": base.median / times[name].median,
            "ratio of minima": base.minimum / times[name].minimum,
            "error": errors[kind],
        }
        for kind, name in zip(KINDS, calls, strict=True)
    ]


def main() -> None:
    """Print the table and write it to build/benchmarks/reduced_precision.json."""
    options = argparse.ArgumentParser(description="products of bfloat16 and of bytes beside float32")
    options.add_argument("--rounds", type=int, default=51)
    options.add_argument("--target", default="llvm -num-cores=1")
    chosen = options.parse_args()
    print(f"{measure.processor()}; medians of {chosen.rounds}, one thread; error as a part of what is allowed\n")
    print(f"{'m x k x n':16} {'kind':20} {'Gop/s':>8} {'÷ float32':>10} {'of minima':>10} {'error':>6}")
    rows = []
    for size in SIZES:
        for found in row(size, chosen.rounds, chosen.target):
            rows.append(found)
            cells = (
                f"{found['gops']:8.0f} {found['ratio']:10.2f} {found['ratio of minima']:10.2f} {found['error']:6.2f}"
            )
            print(f"{'x'.join(map(str, size)):16} {found['kind']:20} {cells}", flush=True)
    measure.write("reduced_precision", rows)


if __name__ == "__main__":
    main()
