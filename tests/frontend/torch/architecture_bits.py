"""Architectures of transformers (`architectures.py`): are the bits of a row the same alone and in any batch?

    python tests/frontend/torch/architecture_bits.py build/bits.jsonl                  # goes on where it stopped
    python tests/frontend/torch/architecture_bits.py build/bits.jsonl --only bert vit

Each is built once with a symbolic batch. Eight different rows run together, and then each alone and in batches of two
to seven, on one, two and three threads. A line of the file is an architecture: how many numbers of how many differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from architectures import FirstTensors, _all, _drawn, run_all  # pyright: ignore[reportPrivateUsage]

from tirax.driver.build import build
from tirax.frontend.torch.exported_program import from_exported_program
from tirax.runtime import set_num_threads

ROWS = 8
RANGES = [*((i, i + 1) for i in range(ROWS)), (0, 2), (2, 5), (4, 8), (1, 6), (0, 6), (1, 8), (0, 8)]


def _rows(values: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Inputs of eight different rows like the first ones."""
    generator = torch.Generator().manual_seed(3)
    rows: dict[str, torch.Tensor] = {}
    for name, value in values.items():
        shape = (ROWS, *value.shape[1:])
        if value.is_floating_point():
            rows[name] = torch.randn(shape, generator=generator)
        elif name.endswith("ids"):
            rows[name] = torch.randint(3, 90, shape, generator=generator)
        else:
            rows[name] = torch.cat([value] * ROWS)[:ROWS]
    return rows


def run(name: str) -> dict[str, Any]:
    """Compare the results of rows alone, in batches and on threads with those of all rows."""
    torch.manual_seed(0)
    line: dict[str, Any] = {"architecture": name}
    model, inputs = _all()[name]()
    _drawn(model)
    rows = _rows({k: v for k, v in inputs.items() if isinstance(v, torch.Tensor)})
    options = {k: v for k, v in inputs.items() if k not in rows}
    module = FirstTensors(model.eval(), list(rows), options).eval()
    batch = {0: torch.export.Dim("batch", min=1, max=64)}
    try:
        with torch.no_grad():
            args = tuple(rows.values())
            program = torch.export.export(module, args, dynamic_shapes=(tuple(batch for _ in args),), strict=False)
    except Exception as error:  # noqa: BLE001 (whatever PyTorch refuses is reported)
        return line | {"status": "not exported", "what": f"{type(error).__name__}: {error}"[:300]}
    main = build(from_exported_program(program)).jit()["main"]
    differing = compared = 0
    together = _results(main, args, 0, ROWS)
    for threads in (1, 2, 3):
        set_num_threads(threads)
        for first, end in RANGES:
            for part, all_rows in zip(_results(main, args, first, end), together, strict=True):
                if part.shape[:1] == (end - first,) and all_rows.shape[1:] == part.shape[1:]:
                    differing += int((part.view(np.int32) != all_rows[first:end].view(np.int32)).sum())
                    compared += part.size
    return line | {"status": "same" if compared and not differing else "differs", "of": compared, "differ": differing}


def _results(main: Any, args: Sequence[torch.Tensor], first: int, end: int) -> list[np.ndarray[Any, Any]]:
    result = main(*(np.ascontiguousarray(a[first:end].numpy()) for a in args))
    return [np.array(r, np.float32) for r in (result if isinstance(result, tuple | list) else [result])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", nargs="*", default=list(_all()))
    args = parser.parse_args()
    known = run_all(args.results, args.only, run, again=False)
    same = sum(e["status"] == "same" for e in known.values())
    print(f"{same} of {len(known)} architectures have the same bits in all batches and on all numbers of threads")


if __name__ == "__main__":
    sys.exit(main())
