"""From a file to the first result in a new process: for the first time, and where the file is known.

    python benchmarks/cold_start.py [--model bert …] [--small] [--repeats 5] [--threads 1]

Seconds after `import tirax` (or `import onnxruntime`, `import openvino`), which the second table has: `first` compiles,
`known` finds everything in the cache, the peers load the same ONNX file. Each is a process of its own, in turns;
results are compared. The files of Python are compiled, and pages of files are in memory, before the first repeat.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import measure

measure.quiet()

import models  # noqa: E402
import numpy as np  # noqa: E402
from imported_models import exported  # noqa: E402
from models import workload as workloads  # noqa: E402

TOLERANCE = 1e-3
_COMMON = """
import sys, time
started = time.perf_counter()
{imports}
import numpy as np
imported = time.perf_counter()
path, inputs, result = sys.argv[1:]
inputs = list(np.load(inputs).values())
{call}
ended = time.perf_counter()
np.save(result, np.asarray(out))
print(imported - started, ended - imported)
"""
_TIRAX = _COMMON.format(imports="import tirax", call="out = tirax.compile(path)(*inputs)")
_PEERS = {
    "onnxruntime": _COMMON.format(
        imports="import onnxruntime",
        call="""
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = {threads}
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
out = session.run(None, dict(zip((i.name for i in session.get_inputs()), inputs)))[0]
""",
    ),
    "openvino": _COMMON.format(
        imports="import openvino",
        call="""
config = {{"INFERENCE_NUM_THREADS": {threads}, "INFERENCE_PRECISION_HINT": "f32"}}
out = openvino.Core().compile_model(path, "CPU", config).create_infer_request().infer(dict(enumerate(inputs)))[0]
""",
    ),
}


def run(program: str, folder: Path, threads: int) -> tuple[list[float], np.ndarray]:
    """Seconds of import and of the first result, and the result, of a program in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if k not in ("TIRAX_CACHE", "PYTHONDONTWRITEBYTECODE")}
    environment |= {"XDG_CACHE_HOME": str(folder / "cache"), "TIRAX_NUM_THREADS": str(threads)}
    files = [str(folder / name) for name in ("model.onnx", "inputs.npz", "result.npy")]
    text = program.format(threads=threads) if program is not _TIRAX else program
    cores = measure.CORES
    done = subprocess.run(
        [sys.executable, "-c", text, *files],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),  # `quiet` holds this process on one
    )
    return list(map(float, done.stdout.split())), np.load(files[-1])


def measure_model(name: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """Medians of both figures by way. Raises `AssertionError` where a result is wrong."""
    workload = models.make(name, **(models.SMALL[name] if options.small else {}))
    length = min(workload.default_length, workload.positions) if workload.default_length else None
    native = workloads.bind(workloads.export(workload, 1, length), workloads.random_weights(workload))
    peers = {peer: text for peer, text in _PEERS.items() if importlib.util.find_spec(peer)}
    figures: dict[str, list[list[float]]] = {way: [] for way in ("first", "known", *peers)}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "model.onnx").write_bytes(exported(native))
        np.savez(folder / "inputs.npz", *workload.inputs(1, length))
        expected = run(_TIRAX, folder, options.threads)[1]
        for _ in range(options.repeats):
            shutil.rmtree(folder / "cache", ignore_errors=True)
            for way, text in {"first": _TIRAX, "known": _TIRAX, **peers}.items():
                seconds, result = run(text, folder, options.threads)
                assert workloads.difference(result, expected) < TOLERANCE, way
                figures[way].append(seconds)
    return {way: [median(column) for column in zip(*rows, strict=True)] for way, rows in figures.items()}


def main() -> None:
    """Print both tables and write them to build/benchmarks/cold_start.json."""
    options = argparse.ArgumentParser(description="from a file to the first result in a new process")
    options.add_argument("--model", nargs="*", choices=sorted(models.WORKLOADS), default=sorted(models.WORKLOADS))
    options.add_argument("--small", action="store_true", help="two layers, a few channels")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--threads", type=int, default=1)
    chosen = options.parse_args()
    rows = {name: measure_model(name, chosen) for name in chosen.model}
    print(f"{measure.processor()}; {chosen.threads} threads; seconds, medians of {chosen.repeats} processes")
    for title, column in (("first result, after the import", 1), ("the import", 0)):
        ways = list(next(iter(rows.values())))
        print(f"\n{title}\n{'':<8}" + "".join(f"{way:>13}" for way in ways))
        for name, row in rows.items():
            print(f"{name:<8}" + "".join(f"{row[way][column]:>13.3f}" for way in ways))
    measure.write("cold_start", rows)


if __name__ == "__main__":
    main()
