"""Products and convolutions of bfloat16 and of bytes beside our own of float32: rates, their ratio, and accuracy.

    python benchmarks/reduced_precision.py [--rounds 51] [--target llvm] [--only conv] [--models bert,resnet]

On one thread, with weights that are constant (products also with weights that are given). bfloat16 has to be within
(k + 1) 2^-24 of the sum of magnitudes of float64 on the same numbers (stored as bfloat16, 2^-8 of the result more),
bytes have to be exact, before anything is timed. `quantized` is the float32 program with `quantize` and `dequantize`
around it, as models have them: from float32 to float32, weights by output channel.

`rms` is the error against float64 on normally distributed numbers before they were rounded, as a part of the result:
the root of the mean of its squares. `--models` runs whole models, as they are and after `ToMixedPrecision`; their error
is the largest difference as a part of the largest magnitude.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import measure

measure.quiet()

import ml_dtypes  # noqa: E402
import models  # noqa: E402
import numpy as np  # noqa: E402
from models import workload as workloads  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

FLOAT = "float32"
KINDS = (
    (FLOAT, FLOAT, FLOAT),
    ("bfloat16", "bfloat16", FLOAT),
    ("bfloat16", "bfloat16", "bfloat16"),
    ("int8", "int8", "int32"),
    ("uint8", "int8", "int32"),
    ("quantized", "int8", FLOAT),
)
"""(dtype of the data, of the weights, of the result); the others are divided by the first."""
SOURCE = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "{a}"), w: R.Tensor({w}, "{b}"), s: R.Tensor(({n},), "float32")):
        with R.dataflow():
{body}
            R.output(y)
        return y
"""
DEQUANTIZED = """\
            q = R.quantize(x, R.const({step}, "float32"), R.const(128, "uint8"), out_dtype="uint8")
            a = R.dequantize(q, R.const({step}, "float32"), R.const(128, "uint8"))
            b = R.dequantize(w, s, R.const(0, "int8"), axis={axis})
            y = {operation}"""
STEP = 4 / 127
"""Numbers of at most 4 are quantized."""
RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Work:
    """A product (`m`, `k`, `n`), or with `layout` a convolution of an image of `m` x `m`, k -> n channels."""

    m: int
    k: int
    n: int
    layout: str = ""
    taps: int = 1
    constant: bool = True

    @property
    def name(self) -> str:
        if not self.layout:
            return f"{self.m}x{self.k}x{self.n}{'' if self.constant else ', w given'}"
        return f"conv {self.taps}x{self.taps} {self.layout} {self.m}² {self.k}→{self.n}"

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of the data and of the weights, whose last dimension (NCHW: the first) is that of the output channels."""
        if not self.layout:
            return (self.m, self.k), (self.k, self.n)
        if self.layout == "NHWC":
            return (1, self.m, self.m, self.k), (self.taps, self.taps, self.k, self.n)
        return (1, self.k, self.m, self.m), (self.n, self.k, self.taps, self.taps)

    @property
    def axis(self) -> int:
        return 0 if self.layout == "NCHW" else -1

    @property
    def operations(self) -> int:
        rows = self.m * self.m if self.layout else self.m
        return 2 * rows * self.k * self.n * self.taps**2

    def text(self, x: str, w: str, out: str) -> str:
        if not self.layout:
            return f'R.matmul({x}, {w}, out_dtype="{out}")'
        kernel = {"NHWC": "HWIO", "NCHW": "OIHW"}[self.layout]
        layouts = f'data_layout="{self.layout}", kernel_layout="{kernel}"'
        return f'R.nn.conv2d({x}, {w}, padding={self.taps // 2}, {layouts}, out_dtype="{out}")'

    def compute(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """In float64."""
        x, w = x.astype("float64"), w.astype("float64")
        if not self.layout:
            return x @ w
        if self.layout == "NCHW":
            return np.moveaxis(self._channels_last(np.moveaxis(x, 1, -1), w.transpose(2, 3, 1, 0)), -1, 1)
        return self._channels_last(x, w)

    def _channels_last(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        edge, places = self.taps // 2, np.ndindex(self.taps, self.taps)
        x = np.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
        return sum(x[:, i : i + self.m, j : j + self.m] @ w[i, j] for i, j in places)


WORKS = (
    Work(128, 128, 128, constant=False),
    Work(512, 512, 512, constant=False),
    Work(512, 512, 512),
    Work(128, 768, 3072),
    Work(1, 4096, 4096),
    *(Work(56, 64, 64, layout, taps) for layout in ("NHWC", "NCHW") for taps in (1, 3)),
    *(Work(14, 256, 256, layout, 3) for layout in ("NHWC", "NCHW")),
)


def rounded(x: np.ndarray, dtype: str, step: np.ndarray | float) -> np.ndarray:
    """float32 as another dtype; bytes are multiples of `step`, unsigned ones from -128 on."""
    if dtype in (FLOAT, "quantized"):
        return x
    if dtype == "bfloat16":
        return x.astype(ml_dtypes.bfloat16)
    integers = np.rint(x / step)
    return (np.clip(integers, -128, 127) + (128 if dtype == "uint8" else 0)).astype(dtype)


def check(actual: np.ndarray, work: Work, x: np.ndarray, w: np.ndarray) -> None:
    """End the program where a result is off by more than is allowed."""
    expected, depth = work.compute(x, w), work.k * work.taps**2
    allowed = (depth + 1) * 2.0**-24 * work.compute(np.abs(x.astype("float64")), np.abs(w.astype("float64")))
    if actual.dtype == ml_dtypes.bfloat16:
        allowed += 2.0**-8 * (np.abs(expected) + allowed)
    if actual.dtype == np.int32:
        allowed = np.zeros_like(expected)
    if not (np.abs(actual.astype("float64") - expected) <= allowed).all():
        raise SystemExit(f"{work.name}: {x.dtype} into {actual.dtype} is off by more than is allowed")


def case(work: Work, kind: tuple[str, str, str], target: str) -> tuple[Callable[[], object], float]:
    """(a call, its error) of one kind, built and checked."""
    a, b, out = kind
    shapes = work.shapes
    x32, w32 = (RNG.standard_normal(shape).astype(FLOAT) for shape in shapes)
    step = np.abs(w32).max(axis=tuple(i for i in range(w32.ndim) if i != work.axis % w32.ndim), keepdims=True) / 127
    x, w = rounded(x32, a, STEP), rounded(w32, b, step)
    body = f"            y = {work.text('x', 'w', out)}"
    if a == "quantized":
        axis = work.axis % w32.ndim
        body = DEQUANTIZED.format(step=STEP, axis=axis, operation=work.text("a", "b", out))
    source = SOURCE.format(x=shapes[0], w=shapes[1], a=FLOAT if a == "quantized" else a, b=b, n=work.n, body=body)
    scales = step.reshape(-1).astype(FLOAT)
    module = relax.transform.BindParams("main", {"s": scales, **({"w": w} if work.constant else {})})(
        tvm.script.from_source(source)
    )
    main = relax.build(module, target=target)["main"]
    args = (x,) if work.constant else (x, w)
    result = np.asarray(main(*args))
    if a == "quantized":
        check(result, work, (rounded(x32, "int8", STEP) * STEP).astype("float64"), w.astype("float64") * step)
    else:
        check(result, work, x, w)
    return lambda: main(*args), rms(result, work, (x32, w32), (a, b), step)


def rms(actual: np.ndarray, work: Work, array: tuple[np.ndarray, np.ndarray], kinds: tuple[str, str], step) -> float:
    """The error against numbers that were not rounded."""
    exact, result = work.compute(*array), actual.astype("float64")
    if kinds[1] == "int8" and kinds[0] != "quantized":
        if kinds[0] == "uint8":  # what was added to the data
            result = result - work.compute(np.full(work.shapes[0], 128.0), rounded(array[1], "int8", step))
        result = result * STEP * (np.moveaxis(step, 0, 1) if work.layout == "NCHW" else step)
    return float(np.sqrt(np.mean((result - exact) ** 2) / np.mean(exact**2)))


def rows(work: Work, rounds: int, target: str) -> list[dict[str, object]]:
    """All kinds of one work, timed in turns."""
    names = ["quantized" if kind[0] == "quantized" else "·".join(kind[:2]) + "→" + kind[2] for kind in KINDS]
    cases = {name: case(work, kind, target) for name, kind in zip(names, KINDS, strict=True)}
    times = measure.interleaved({name: call for name, (call, _) in cases.items()}, rounds)
    base = times[names[0]]
    return [
        {
            "work": work.name,
            "kind": name,
            "gops": 1e-3 * work.operations / times[name].minimum,
            "ratio": base.median / times[name].median,
            "ratio of minima": base.minimum / times[name].minimum,
            "rms": cases[name][1],
        }
        for name in names
    ]


def model(name: str, rounds: int, target: str) -> list[dict[str, object]]:
    """A model in float32 and in bfloat16, by the process's own clock."""
    workload = models.make(name)
    length = min(workload.default_length, workload.positions) if workload.default_length else None
    weights, inputs = workloads.random_weights(workload), workload.inputs(1, length)
    expected = workload.reference(workloads.in_double(weights), *inputs)
    bound = workloads.bind(workloads.export(workload, 1, length), weights)
    calls = {}
    for kind, mod in ((FLOAT, bound), ("bfloat16", relax.transform.ToMixedPrecision(dtype="bfloat16")(bound))):
        main = relax.build(mod, target=target)["forward"]
        calls[kind] = lambda main=main: np.asarray(main(*inputs))
    times = measure.interleaved(calls, rounds, sample=0, clock=time.process_time)
    return [
        {
            "model": name,
            "kind": kind,
            "ms": times[kind].minimum / 1e3,
            "ratio": times[FLOAT].minimum / times[kind].minimum,
            "error": workloads.difference(call(), expected),
        }
        for kind, call in calls.items()
    ]


def main() -> None:
    """Print the table and write it to build/benchmarks/reduced_precision.json."""
    options = argparse.ArgumentParser(description="products of bfloat16 and of bytes beside float32")
    options.add_argument("--rounds", type=int, default=51)
    options.add_argument("--target", default="llvm -num-cores=1")
    options.add_argument("--only", default="", help="works whose name contains this")
    options.add_argument("--models", default="", help="names of models, for these instead")
    chosen = options.parse_args()
    print(f"{measure.processor()}; {chosen.rounds} samples, one thread\n")
    results: list[dict[str, object]] = []
    for name in filter(None, chosen.models.split(",")):
        results += model(name, min(chosen.rounds, 7), chosen.target)
        for row in results[-2:]:
            numbers = f"{row['ms']:8.1f} ms {row['ratio']:6.2f} error {row['error']:.1e}"
            print(f"{row['model']:12} {row['kind']:12} {numbers}", flush=True)
    if results:
        measure.write("reduced_precision_models", results)
        return
    print(f"{'work':26} {'kind':28} {'Gop/s':>8} {'÷ float32':>10} {'of minima':>10} {'rms':>9}")
    for work in WORKS:
        if chosen.only not in work.name:
            continue
        for row in rows(work, chosen.rounds, chosen.target):
            results.append(row)
            numbers = f"{row['gops']:8.0f} {row['ratio']:10.2f} {row['ratio of minima']:10.2f} {row['rms']:9.1e}"
            print(f"{row['work']:26} {row['kind']:28} {numbers}", flush=True)
    measure.write("reduced_precision", results)


if __name__ == "__main__":
    main()
