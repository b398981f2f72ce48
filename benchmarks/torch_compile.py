"""`torch.compile` with the backend tirax beside inductor and eager: what a call costs.

    python benchmarks/torch_compile.py [--batches 1,32] [--rounds 101] [--static]

The MLP 784-128-10 without gradients, one thread each. `tirax` takes the weights at each call, `frozen` has them as
constants; `guards` is what TorchDynamo takes by itself: a backend that returns a tensor that is there. Microseconds of
the process's own clock, medians. Results are compared first. Inductor needs a compiler of C++. All are compiled as
`torch.compile` does by default; `--static` says `dynamic=False`, which Dynamo sets and takes back at each call.
"""

from __future__ import annotations

import argparse
import time
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import measure

measure.quiet()

import torch  # noqa: E402


class MLP(torch.nn.Module):
    """784-128-10, with weights of its own initialization."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(784, 128), torch.nn.Linear(128, 10)

    def forward(self, x: Any) -> Any:
        """The model."""
        return self.second(torch.relu(self.first(x)))


def model(name: str) -> Any:
    """The model with code of its own: TorchDynamo keeps what it compiled by the code of `forward`."""
    code = MLP.forward.__code__.replace(co_name=name)
    return type(name, (MLP,), {"forward": types.FunctionType(code, globals(), name)})().eval()


def guards(result: Any) -> Callable[..., Any]:
    """A backend without any work."""
    return lambda graph_module, inputs: lambda *args: (result,)


def variants(mlp: Any, x: Any, dynamic: bool | None) -> dict[str, Callable[[], Any]]:
    """Calls by the name of what they measure; each is compiled, and compared with eager."""
    expected = mlp(x)
    backends = {
        "tirax": {"backend": "tirax", "options": {"threads": 1}},
        "frozen": {"backend": "tirax", "options": {"threads": 1, "freeze": True}},
        "inductor": {"backend": "inductor"},
        "guards": {"backend": guards(expected)},
    }
    calls: dict[str, Callable[[], Any]] = {"eager": lambda: mlp(x)}
    for name, options in backends.items():
        compiled = torch.compile(model(name), dynamic=dynamic, **options)
        torch.testing.assert_close(compiled(x), expected, rtol=1e-4, atol=1e-4)
        calls[name] = partial(compiled, x)
    return calls


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", default="1,32", help="batch sizes")
    parser.add_argument("--rounds", type=int, default=101, help="samples")
    parser.add_argument("--static", action="store_true", help="compile with dynamic=False")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with torch.no_grad():
        for batch in map(int, arguments.batches.split(",")):
            x = torch.randn(batch, 784)
            calls = variants(model("eager"), x, False if arguments.static else None)
            times = measure.interleaved(calls, arguments.rounds, clock=time.process_time)
            row = {"batch": batch} | {f"{name}_us": each.median for name, each in times.items()}
            rows.append(row)
            print("  ".join(f"{key} {value:.1f}" if key != "batch" else f"batch {value}" for key, value in row.items()))
    print(measure.write("torch_compile", rows))


if __name__ == "__main__":
    main()
