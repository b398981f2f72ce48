"""The MLP 784-128-10 at several batch sizes: our executable beside numpy, one thread each.

    python benchmarks/mlp.py [--batches 1,32,256] [--rounds 101]

The weights are bound; numpy has them transposed beforehand, so that both do the same work. Results are compared first.
"""

from __future__ import annotations

import argparse

import measure

measure.quiet()

import numpy as np  # noqa: E402
from models import MLP  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

FLOP = 2 * (784 * 128 + 128 * 10)


def parameters() -> dict[str, np.ndarray]:
    """Random weights of the size that training starts from, float32."""
    rng = np.random.default_rng(0)
    shapes = {"fc1_weight": (128, 784), "fc1_bias": (128,), "fc2_weight": (10, 128), "fc2_bias": (10,)}
    return {name: rng.standard_normal(shape, dtype=np.float32) * np.float32(0.1) for name, shape in shapes.items()}


def numpy_forward(params: dict[str, np.ndarray]):
    """The model as a numpy programmer writes it when it has to be fast: no temporary that can be avoided."""
    w1, w2 = (np.ascontiguousarray(params[name].T) for name in ("fc1_weight", "fc2_weight"))
    b1, b2 = params["fc1_bias"], params["fc2_bias"]

    def forward(x: np.ndarray) -> np.ndarray:
        hidden = x @ w1
        hidden += b1
        np.maximum(hidden, 0, out=hidden)
        result = hidden @ w2
        result += b2
        return result

    return forward


def compiled_forward(params: dict[str, np.ndarray]):
    """The model built once for all batch sizes."""
    mod = relax.transform.BindParams("forward", params)(tvm.script.from_source(MLP))
    return relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())["forward"]


def measure_batch(batch: int, ours, numpys, rounds: int) -> dict[str, float]:
    """One row of the table; raises where the two results differ."""
    x = np.random.default_rng(batch).standard_normal((batch, 784), dtype=np.float32)
    device_x = tvm.nd.array(x)
    np.testing.assert_allclose(ours(device_x).numpy(), numpys(x), rtol=1e-4, atol=1e-4)
    times = measure.interleaved({"tirax": lambda: ours(device_x), "numpy": lambda: numpys(x)}, rounds)
    return {
        "batch": batch,
        "tirax_us": times["tirax"].median,
        "tirax_min_us": times["tirax"].minimum,
        "numpy_us": times["numpy"].median,
        "numpy_min_us": times["numpy"].minimum,
        "ratio": times["numpy"].median / times["tirax"].median,
        "gflops": FLOP * batch / times["tirax"].median / 1e3,
    }


def main() -> None:
    """Print the table and write it to build/benchmarks/mlp.json."""
    options = argparse.ArgumentParser(description="MLP 784-128-10: tirax beside numpy, one thread")
    options.add_argument("--batches", default="1,32,256", help="batch sizes, with commas")
    options.add_argument("--rounds", type=int, default=101, help="samples of each")
    chosen = options.parse_args()
    params = parameters()
    ours, numpys = compiled_forward(params), numpy_forward(params)
    rows = [measure_batch(int(batch), ours, numpys, chosen.rounds) for batch in chosen.batches.split(",")]
    print(f"{measure.processor()}, one thread; µs a call, median (minimum)\n")
    print(f"{'batch':>6} {'tirax':>19} {'numpy':>19} {'numpy/tirax':>12} {'GFLOP/s':>8}")
    for row in rows:
        ours_text = f"{row['tirax_us']:.2f} ({row['tirax_min_us']:.2f})"
        numpy_text = f"{row['numpy_us']:.2f} ({row['numpy_min_us']:.2f})"
        print(f"{row['batch']:>6} {ours_text:>19} {numpy_text:>19} {row['ratio']:>12.2f} {row['gflops']:>8.1f}")
    measure.write("mlp", rows)


if __name__ == "__main__":
    main()
