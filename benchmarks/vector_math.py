"""Elementary functions of 64 Ki numbers beside numpy and beside the C library: elements per nanosecond, and the error.

    python benchmarks/vector_math.py [--rounds 101] [--element float32 float64]

Each function is a Relax module of one operator, built with polynomials (the default) and with `-math=libm`; the results
are compared with f64 (long double for f64) before anything is timed. The error is in units in the last place.
"""

from __future__ import annotations

import argparse

import measure

measure.quiet()

import numpy as np  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

COUNT = 1 << 16
NAMES = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "tanh": np.tanh, "sigmoid": None, "erf": None,
    "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "sqrt": np.sqrt, "rsqrt": None, "nn.gelu": None,
    "nn.gelu_tanh": None, "nn.silu": None,
    "power": np.power,
}  # fmt: skip
"""Relax operator -> numpy's function, where there is one."""
RANGES = {
    "log": (0.01, 100),
    "log2": (0.01, 100),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "acosh": (1, 100),
    "atanh": (-0.99, 0.99),
    "power": (0.01, 8),
}
RANGES |= dict.fromkeys(("sqrt", "rsqrt"), (0.01, 100))
BINARY = ("power",)
"""What has a second operand, of -8 to 8."""
SOURCE = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main({params}) -> R.Tensor(({count},), "{element}"):
        with R.dataflow():
            out = R.{name}({names})
            R.output(out)
        return out
"""


def built(name: str, element: str, target: str):
    """The compiled function."""
    names = "xy"[: 1 + (name in BINARY)]
    params = ", ".join(f'{n}: R.Tensor(({COUNT},), "{element}")' for n in names)
    text = SOURCE.format(name=name, element=element, count=COUNT, params=params, names=", ".join(names))
    mod = tvm.script.from_source(text)
    return relax.build(mod, target=target)["main"]


def ulps(got: np.ndarray, expected: np.ndarray) -> float:
    """The largest error in units in the last place of `got`."""
    return float(np.max(np.abs(got - expected) / np.spacing(np.abs(expected).astype(got.dtype))))


def row(name: str, element: str, rounds: int) -> dict[str, object]:
    """Elements per nanosecond of each side, medians, and the error of ours."""
    low, high = RANGES.get(name, (-8.0, 8.0))
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(low, high, COUNT).astype(element)]
    if name in BINARY:
        inputs.append(rng.uniform(-8, 8, COUNT).astype(element))
    ours, strict, function = built(name, element, "llvm"), built(name, element, "llvm -math=libm"), NAMES[name]
    got, other = np.asarray(ours(*inputs)), np.asarray(strict(*inputs))
    np.testing.assert_allclose(got, other, rtol=1e-4 if element == "float32" else 1e-11, atol=1e-6)
    sides = {"ours": lambda: ours(*inputs), "libm": lambda: strict(*inputs)}
    entry: dict[str, object] = {"function": name, "element": element}
    if function is not None:
        wide = [x.astype(np.float64 if element == "float32" else np.longdouble) for x in inputs]
        entry["ulps"] = ulps(got, function(*wide))
        if entry["ulps"] > 4:
            raise SystemExit(f"{name}: wrong by {entry['ulps']} units in the last place")
        out = np.empty_like(inputs[0])
        sides["numpy"] = lambda: function(*inputs, out=out)
    times = measure.interleaved(sides, rounds)
    return entry | {side: COUNT / times[side].median / 1e3 for side in sides}


def main() -> None:
    """Print the table and write it to build/benchmarks/vector_math.json."""
    options = argparse.ArgumentParser(description="elementary functions beside numpy and the C library")
    options.add_argument("--rounds", type=int, default=101)
    options.add_argument("--element", nargs="+", default=["float32", "float64"])
    chosen = options.parse_args()
    print(f"{measure.processor()}; elements per ns, medians of {chosen.rounds}; {COUNT} elements\n")
    print(f"{'':22} {'ours':>8} {'libm':>8} {'numpy':>8} {'÷ libm':>8} {'÷ numpy':>8} {'ulps':>6}")
    rows = []
    for element in chosen.element:
        for name in NAMES:
            actual = row(name, element, chosen.rounds)
            rows.append(actual)
            ratios = [actual["ours"] / actual[side] if side in actual else None for side in ("libm", "numpy")]
            cells = [actual["ours"], actual["libm"], actual.get("numpy"), *ratios]
            text = " ".join(f"{c:8.2f}" if c is not None else f"{'-':>8}" for c in cells)
            error = f"{actual['ulps']:6.2f}" if "ulps" in actual else f"{'-':>6}"
            print(f"{name + ' ' + element:22} {text} {error}", flush=True)
    measure.write("vector_math", rows)


if __name__ == "__main__":
    main()
