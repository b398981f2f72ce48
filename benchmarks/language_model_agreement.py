"""How near language models are to llama.cpp: greedy texts, and logits along the same tokens.

    python benchmarks/language_model_agreement.py MODEL.gguf --peer-python VENV/bin/python [--tokens 200]

`--peer-python` has llama-cpp-python. Two questions are answered apart:

- In floats: both multiply the numbers that the blocks of the file stand for, in float32, with a cache of float32.
  llama.cpp reads them from a file of float32, which is written beside the output.
- By the file: weights in blocks, activations rounded to bytes. There the order of sums decides which byte an activation
  becomes, and that byte all that follows; llama.cpp differs from itself as soon as anything changes that order.

A row says how far an engine's logits are from the reference's, the mean and the largest difference over the two tokens
that the reference finds likeliest, along the reference's own texts; and of each text whether it is the same, or where
it parts, and by how much the reference and the engine prefer their own token there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from peers.language_models import LlamaCpp, Tirax

PROMPTS = (
    "The capital of France is",
    "Once upon a time there was a",
    "def fibonacci(n):\n",
    "The three laws of thermodynamics are",
    "1, 2, 3, 4,",
)
CONTEXT = 512
F32 = 0
"""The number of float32 among ggml's types."""


@dataclass(frozen=True)
class Engine:
    """A row: which library, whether it has the file of float32, and its options."""

    library: str
    floats: bool = False
    options: Any = None


ENGINES = {
    "llama.cpp": Engine("llama.cpp"),
    "llama.cpp, flash attention": Engine("llama.cpp", options={"flash_attn": True}),
    "llama.cpp, cache of float32": Engine("llama.cpp", options={"type_k": F32, "type_v": F32}),
    "tirax": Engine("tirax", options={"activation": "int8"}),
    "tirax, cache of float32": Engine("tirax", options={"activation": "int8", "cache_dtype": "float32"}),
    "tirax, activations in floats": Engine("tirax", options={"activation": "float32"}),
    "llama.cpp in floats": Engine("llama.cpp", True, {"type_k": F32, "type_v": F32}),
    "tirax in floats": Engine("tirax", options={"dequantize": True, "cache_dtype": "float32"}),
}
COMPARISONS = {
    "llama.cpp in floats": ["tirax in floats"],
    "llama.cpp": [
        "llama.cpp, flash attention",
        "llama.cpp, cache of float32",
        "llama.cpp in floats",
        "tirax",
        "tirax, cache of float32",
        "tirax, activations in floats",
    ],
}
"""Reference -> what is compared with it."""
LIBRARIES: dict[str, Callable[..., Any]] = {
    "tirax": Tirax,
    "llama.cpp": partial(LlamaCpp, n_threads=1, n_threads_batch=1),
}


def worker(options: argparse.Namespace) -> None:
    """Write an engine's greedy texts, and its logits along the texts of `--along` (by default its own)."""
    row = ENGINES[options.worker]
    engine = LIBRARIES[row.library](options.model, CONTEXT, **(row.options or {}))
    texts = [greedy(engine, prompt, options.tokens) for prompt in PROMPTS]
    result = {"texts": [[int(logits.argmax()) for logits in text] for text in texts]}
    arrays = {f"own{i}": np.stack(text) for i, text in enumerate(texts)}
    for name in options.along or []:
        along = json.loads(Path(options.folder, f"{number(name)}.json").read_text())["texts"]
        for i, (prompt, tokens) in enumerate(zip(PROMPTS, along)):
            arrays[f"{number(name)}.{i}"] = np.stack(forced(engine, prompt, tokens))
    np.savez(Path(options.folder, f"{number(options.worker)}.npz"), **arrays)
    Path(options.folder, f"{number(options.worker)}.json").write_text(json.dumps(result))


def number(name: str) -> int:
    """The place of an engine in the table: what its files are called."""
    return list(ENGINES).index(name)


def greedy(engine: Any, prompt: str, count: int) -> list[np.ndarray]:
    """The logits of each of so many tokens behind a prompt, the likeliest of which are read."""
    engine.restart()
    steps = [engine.read(engine.tokens(prompt))]
    while len(steps) < count:
        steps.append(engine.read([int(steps[-1].argmax())]))
    return steps


def forced(engine: Any, prompt: str, tokens: Sequence[int]) -> list[np.ndarray]:
    """The logits along other tokens."""
    engine.restart()
    return [engine.read(engine.tokens(prompt)), *(engine.read([token]) for token in tokens[:-1])]


def float_file(path: str, out: Path) -> None:
    """The same model with the numbers of its blocks as float32."""
    from tirax.dialects.block_formats import BLOCK_FORMATS
    from tirax.llm.gguf import open_gguf, write_gguf

    file = open_gguf(path)
    tensors = {
        name: BLOCK_FORMATS[t.format].dequantize(t.data) if t.format in BLOCK_FORMATS else t
        for name, t in file.tensors.items()
    }
    write_gguf(out, {k: v for k, v in file.metadata.items() if k != "general.alignment"}, tensors)


def run(name: str, along: Sequence[str], folder: Path, options: argparse.Namespace) -> None:
    """An engine, in a process of its own."""
    row = ENGINES[name]
    python = sys.executable if row.library == "tirax" else options.peer_python
    model = str(folder / "floats.gguf") if row.floats else options.model
    command = [python, __file__, model, "--worker", name, "--folder", str(folder), "--tokens", str(options.tokens)]
    for reference in along:
        command += ["--along", reference]
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def report(reference: str, name: str, folder: Path) -> None:
    """The row of an engine beside its reference, and of each text."""
    theirs, ours = (np.load(folder / f"{number(n)}.npz") for n in (reference, name))
    distances: list[np.ndarray] = []
    lines: list[str] = []
    for i, prompt in enumerate(PROMPTS):
        expected, along = theirs[f"own{i}"], ours[f"{number(reference)}.{i}"]
        likeliest = np.argsort(-expected, axis=1, kind="stable")[:, :2]
        distances.append(np.abs(np.take_along_axis(along - expected, likeliest, 1)))
        lines.append(f"    {prompt!r}: {parting(expected, along, ours[f'own{i}'])}")
    all_ = np.concatenate(distances)
    print(f"{name} beside {reference}: logits differ by {all_.mean():.2g} on average, {all_.max():.2g} at most")
    print("\n".join(lines), flush=True)


def parting(expected: np.ndarray, along: np.ndarray, own: np.ndarray) -> str:
    """Where two texts part: up to there both have read the same tokens."""
    theirs, ours = expected.argmax(1), own.argmax(1)
    different = np.flatnonzero(theirs != ours)
    if not different.size:
        return f"all {len(theirs)} tokens are the same"
    at = int(different[0])
    by = [abs(float(logits[at][theirs[at]] - logits[at][ours[at]])) for logits in (expected, along)]
    return f"token {at} differs: the reference prefers its own by {by[0]:.4f}, the other one by {by[1]:.4f}"


def main() -> int:
    options = arguments()
    if options.worker:
        worker(options)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        float_file(options.model, folder / "floats.gguf")
        for reference, others in COMPARISONS.items():
            run(reference, [], folder, options)
            for name in others:
                run(name, [reference], folder, options)
                report(reference, name, folder)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("model", help="a .gguf file")
    add("--peer-python", help="the Python that has llama-cpp-python", default=sys.executable)
    add("--tokens", type=int, default=200, help="of each text")
    for hidden in ("--worker", "--folder"):
        add(hidden, help=argparse.SUPPRESS)
    add("--along", action="append", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
