"""The price of a call: arguments of PyTorch and numpy through `tirax.compile`, and through the executable itself.

    python benchmarks/call_cost.py

Sums of 1, 2, 4 and 8 matrices of 4x4, beside PyTorch's own; all results are compared first. Nanoseconds of a call,
medians of interleaved repeats on one thread; the last column is the price of each further argument.
"""

from __future__ import annotations

import measure

measure.quiet()

import numpy as np  # noqa: E402
import torch  # noqa: E402

import tirax  # noqa: E402

COUNTS = (1, 2, 4, 8)
WAYS = ("tirax.compile, torch", "executable, torch", "tirax.compile, numpy", "executable, numpy", "torch")


class Sum(torch.nn.Module):
    """The sum of all arguments."""

    def forward(self, x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        result = x
        for each in others:
            result = result + each
        return result + 1.0


def ways(count: int) -> dict[str, object]:
    """Return a call of each way, whose results are equal."""
    tensors = tuple(torch.randn(4, 4) for _ in range(count))
    arrays = tuple(tensor.numpy() for tensor in tensors)
    model = Sum()
    compiled = tirax.compile(model, tensors)
    main = compiled.executable[compiled.function]
    calls = {
        "tirax.compile, torch": lambda: compiled(*tensors),
        "executable, torch": lambda: main(*tensors),
        "tirax.compile, numpy": lambda: compiled(*arrays),
        "executable, numpy": lambda: main(*arrays),
        "torch": lambda: model(*tensors),
    }
    expected = np.asarray(model(*tensors))
    for name, call in calls.items():
        result = call()
        result = result[0] if isinstance(result, tuple) else result
        if not np.allclose(np.asarray(result), expected, atol=1e-5):
            raise SystemExit(f"{name}: another result")
    return calls


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    times = {count: measure.interleaved(ways(count), sample=2e-4) for count in COUNTS}
    print("| way | " + " | ".join(f"{count} arguments" for count in COUNTS) + " | each |")
    print("|---|" + "---|" * (len(COUNTS) + 1))
    for way in WAYS:
        row = [1000 * times[count][way].median for count in COUNTS]
        each = (row[-1] - row[0]) / (COUNTS[-1] - COUNTS[0])
        print(f"| {way} | " + " | ".join(f"{value:.0f}" for value in row) + f" | {each:.0f} |")


if __name__ == "__main__":
    main()
