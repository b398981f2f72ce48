"""Language models beside llama.cpp: tokens a second of prompts and answers, and memory.

    python benchmarks/language_models.py MODEL.gguf --peer-python VENV/bin/python [--threads 1,2] [--activation int8]

`--peer-python` has llama-cpp-python; without it tirax is measured alone. Each runs in a process of its own, one behind
the other; a row is the best of the rounds. Of the bandwidth: what a token has to read, the file and the cache behind
the prompt and half of the answer, times answered tokens, as a part of what as many threads of numpy read a second.
Memory is what is resident behind the last answer, beyond what was when the library was imported. Texts are compared by
`language_model_agreement.py`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from peers.language_models import LlamaCpp, Tirax

PROMPT, CONTEXT = 512, 1024
"""Tokens of the prompt, and positions of the cache."""


def tirax(path: str, threads: int, activation: str) -> Tirax:
    """The model on so many threads."""
    from tirax.runtime import set_num_threads

    set_num_threads(threads)
    return Tirax(path, CONTEXT, activation=activation, dequantize=activation == "dequantized")


def llama_cpp(path: str, threads: int, activation: str) -> LlamaCpp:
    """The same of llama.cpp, which rounds activations in its own way."""
    return LlamaCpp(path, CONTEXT, n_threads=threads, n_threads_batch=threads, n_batch=PROMPT, n_ubatch=PROMPT)


ENGINES: dict[str, Callable[[str, int, str], Any]] = {"tirax": tirax, "llama.cpp": llama_cpp}


def worker(name: str, options: argparse.Namespace) -> None:
    """Measure one engine, and print what was measured as JSON."""
    importlib.import_module({"tirax": "tirax.llm", "llama.cpp": "llama_cpp"}[name])
    before = memory()
    engine = ENGINES[name](options.model, options.thread_count, options.activation)
    result: dict[str, Any] = {"speed": speed(engine, options.rounds, options.answer)}
    result["memory"] = memory() - before
    result["bandwidth"] = bandwidth(os.path.getsize(options.model), options.thread_count)
    print(json.dumps(result))


def speed(engine: Any, rounds: int, answer: int) -> dict[str, float]:
    """Tokens a second of reading and of writing."""
    tokens = [100 + i for i in range(PROMPT)]
    best = {"prompt": 0.0, "answer": 0.0}
    for _ in range(rounds + 1):  # the first one compiles, and takes memory
        engine.restart()
        begin = time.perf_counter()
        logits = engine.read(tokens)
        middle = time.perf_counter()
        for _ in range(answer):
            logits = engine.read([int(logits.argmax())])
        end = time.perf_counter()
        rates = {"prompt": PROMPT / (middle - begin), "answer": answer / (end - middle)}
        best = {what: max(best[what], rates[what]) for what in best}
    return best


def memory() -> float:
    """What of this process is resident, in MB."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmRSS"].split()[0]) / 1024


def bytes_of_a_token(path: str, position: int) -> int:
    """What has to be read for a token behind `position` others: all weights, and their keys and values in float16."""
    from tirax.llm.gguf import open_gguf

    metadata = open_gguf(path).metadata
    known = {name.partition(".")[2]: value for name, value in metadata.items()}
    heads = known["attention.head_count"]
    size = known.get("attention.key_length", known["embedding_length"] // heads)
    row = known["block_count"] * known.get("attention.head_count_kv", heads) * size
    return os.path.getsize(path) + 2 * 2 * row * position


def bandwidth(size: int, threads: int) -> float:
    """Bytes a second that so many threads read, of `size` bytes in all: the largest number is looked for."""
    parts = [np.ones(size // 4 // threads, np.float32) for _ in range(threads)]
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(20):
            begin = time.perf_counter()
            list(pool.map(np.max, parts))
            best = max(best, size / (time.perf_counter() - begin))
    return best


def run(python: str, name: str, threads: int, options: argparse.Namespace) -> dict[str, Any]:
    """A worker in a process of its own, on as many cores as threads."""
    command = [python, __file__, options.model, "--worker", name, "--thread-count", str(threads)]
    command += ["--activation", options.activation, "--rounds", str(options.rounds)]
    command += ["--answer", str(options.answer)]
    cores = sorted(os.sched_getaffinity(0))[-threads:]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        ["taskset", "-c", ",".join(map(str, cores)), *command],
        stdout=subprocess.PIPE, text=True, check=True, env=environment,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    options = arguments()
    if options.worker:
        worker(options.worker, options)
        return 0
    pythons = {"tirax": sys.executable, **({"llama.cpp": options.peer_python} if options.peer_python else {})}
    pythons = {name: python for name, python in pythons.items() if options.only in (None, name)}
    print(f"{Path(options.model).name}, {os.path.getsize(options.model) / 1e6:.0f} MB; tokens a second")
    for threads in map(int, options.threads.split(",")):
        for name, python in pythons.items():
            print(row(name, threads, run(python, name, threads, options), options), flush=True)
    return 0


def row(name: str, threads: int, result: dict[str, Any], options: argparse.Namespace) -> str:
    """What was measured of an engine."""
    rates = result["speed"]
    part = rates["answer"] * bytes_of_a_token(options.model, PROMPT + options.answer // 2) / result["bandwidth"]
    return (
        f"{name:>10}, {threads} threads: prompt {rates['prompt']:8.1f}, answer {rates['answer']:7.1f} "
        f"({part:.2f} of {result['bandwidth'] / 1e9:.1f} GB/s), memory {result['memory']:6.1f} MB"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("model", help="a .gguf file")
    add("--peer-python", help="the Python that has llama-cpp-python")
    add("--threads", default="1,2", help="numbers of threads, one after the other")
    add("--activation", default="int8", help="int8, float32, or dequantized: weights in float32, too")
    add("--rounds", type=int, default=3, help="of each measurement, besides the first")
    add("--answer", type=int, default=128, help="tokens of the answer")
    add("--only", choices=ENGINES, help="measure one of them alone")
    for hidden in ("--worker", "--thread-count"):
        add(hidden, help=argparse.SUPPRESS, type=int if hidden == "--thread-count" else str)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
