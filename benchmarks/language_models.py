"""Language models beside llama.cpp: tokens a second of prompts and answers, and whether the texts are the same.

    python benchmarks/language_models.py MODEL.gguf --peer-python VENV/bin/python [--threads 1,2] [--activation int8]

`--peer-python` has llama-cpp-python; without it tirax is measured alone. Each runs in a process of its own, one after
the other, in turns; a row is the best of the rounds. Texts are greedy, `--tokens` of each prompt: they are equal, or
told are the first token that differs and by how much both sides prefer their own one (logits; the goal is 0.02).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PROMPTS = (
    "The capital of France is",
    "Once upon a time there was a",
    "def fibonacci(n):\n",
    "The three laws of thermodynamics are",
    "1, 2, 3, 4,",
)
PROMPT, ANSWER, CONTEXT = 512, 128, 1024
"""Tokens of the prompt and of the answer that are measured."""


class Tirax:
    """A model of tirax."""

    def __init__(self, path: str, threads: int, activation: str):
        from tirax.language import LanguageModel
        from tirax.runtime import set_num_threads

        set_num_threads(threads)
        self.model = LanguageModel.load(path, activation=activation, dequantize=activation == "dequantized")
        self.session = self.model.session(CONTEXT)
        self.sequence = self.session.begin()

    def tokens(self, text: str) -> list[int]:
        return self.model.tokenizer.prompt(text)

    def restart(self) -> None:
        self.session.end(self.sequence)
        self.sequence = self.session.begin()

    def read(self, tokens: list[int]) -> np.ndarray:
        return self.session.read(self.sequence, tokens)


class LlamaCpp:
    """The same model of llama.cpp."""

    def __init__(self, path: str, threads: int, activation: str):
        import llama_cpp

        options = {"n_threads": threads, "n_threads_batch": threads, "n_batch": PROMPT, "n_ubatch": PROMPT}
        self.library = llama_cpp
        self.model = llama_cpp.Llama(path, n_ctx=CONTEXT, verbose=False, **options)

    def tokens(self, text: str) -> list[int]:
        return self.model.tokenize(text.encode(), add_bos=True, special=False)

    def restart(self) -> None:
        self.model.reset()

    def read(self, tokens: list[int]) -> np.ndarray:
        self.model.eval(tokens)
        logits = self.library.llama_get_logits_ith(self.model.ctx, -1)
        return np.ctypeslib.as_array(logits, (self.model.n_vocab(),)).copy()


ENGINES: dict[str, Callable[[str, int, str], Any]] = {"tirax": Tirax, "llama.cpp": LlamaCpp}


def worker(name: str, options: argparse.Namespace) -> None:
    """Measure one engine, and print what was measured as JSON."""
    engine = ENGINES[name](options.model, options.thread_count, options.activation)
    result: dict[str, Any] = {"speed": speed(engine, options.rounds)}
    if options.texts:
        result["texts"] = [text(engine, prompt, options.tokens) for prompt in PROMPTS]
    print(json.dumps(result))


def speed(engine: Any, rounds: int) -> dict[str, float]:
    """Tokens a second of reading and of writing."""
    tokens = [100 + i for i in range(PROMPT)]
    best = {"prompt": 0.0, "answer": 0.0}
    for _ in range(rounds + 1):  # the first one compiles, and takes memory
        engine.restart()
        begin = time.perf_counter()
        logits = engine.read(tokens)
        middle = time.perf_counter()
        for _ in range(ANSWER):
            logits = engine.read([int(logits.argmax())])
        end = time.perf_counter()
        rates = {"prompt": PROMPT / (middle - begin), "answer": ANSWER / (end - middle)}
        best = {what: max(best[what], rates[what]) for what in best}
    return best


def text(engine: Any, prompt: str, count: int) -> dict[str, Any]:
    """The greedy tokens behind a prompt, and the logits of the two likeliest at each."""
    engine.restart()
    logits = engine.read(engine.tokens(prompt))
    steps: list[dict[str, Any]] = []
    for _ in range(count):
        likeliest = np.argsort(-logits, kind="stable")[:8]
        steps.append({"token": int(likeliest[0]), "logits": {int(t): float(logits[t]) for t in likeliest}})
        logits = engine.read([int(likeliest[0])])
    return {"prompt": prompt, "steps": steps}


def run(python: str, name: str, threads: int, texts: bool, options: argparse.Namespace) -> dict[str, Any]:
    """A worker in a process of its own, on as many cores as threads."""
    command = [python, __file__, options.model, "--worker", name, "--thread-count", str(threads)]
    command += ["--activation", options.activation, "--rounds", str(options.rounds), "--tokens", str(options.tokens)]
    cores = sorted(os.sched_getaffinity(0))[-threads:]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        ["taskset", "-c", ",".join(map(str, cores)), *command, *(["--texts"] if texts else [])],
        stdout=subprocess.PIPE, text=True, check=True, env=environment,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def difference(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Where two texts part."""
    for i, (a, b) in enumerate(zip(ours["steps"], theirs["steps"])):
        if a["token"] != b["token"]:
            margins = [_margin(a, b["token"]), _margin(b, a["token"])]
            return f"token {i} differs: preferred by {margins[0]} (tirax) and {margins[1]} (llama.cpp)"
    return f"all {len(ours['steps'])} tokens are the same"


def _margin(step: dict[str, Any], other: int) -> str:
    logits = {int(token): value for token, value in step["logits"].items()}
    return f"{logits[step['token']] - logits[other]:.4f}" if other in logits else "more than the eighth"


def main() -> int:
    options = arguments()
    if options.worker:
        worker(options.worker, options)
        return 0
    pythons = {"tirax": sys.executable, **({"llama.cpp": options.peer_python} if options.peer_python else {})}
    texts: dict[str, Any] = {}
    print(f"{Path(options.model).name}; tokens a second")
    for threads in map(int, options.threads.split(",")):
        for name, python in pythons.items():
            result = run(python, name, threads, not texts.get(name), options)
            texts.setdefault(name, result.get("texts"))
            rates = result["speed"]
            print(
                f"{name:>10}, {threads} threads: prompt {rates['prompt']:8.1f}, answer {rates['answer']:7.1f}",
                flush=True,
            )
    if "llama.cpp" in texts:
        for ours, theirs in zip(texts["tirax"], texts["llama.cpp"]):
            print(f"{ours['prompt']!r}: {difference(ours, theirs)}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("model", help="a .gguf file")
    add("--peer-python", help="the Python that has llama-cpp-python")
    add("--threads", default="1,2", help="numbers of threads, one after the other")
    add("--activation", default="int8", help="int8, float32, or dequantized: weights in float32, too")
    add("--rounds", type=int, default=3, help="of each measurement, besides the first")
    add("--tokens", type=int, default=200, help="of each text")
    for hidden in ("--worker", "--thread-count"):
        add(hidden, help=argparse.SUPPRESS, type=int if hidden == "--thread-count" else str)
    add("--texts", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
