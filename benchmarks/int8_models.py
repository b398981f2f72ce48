"""Models in int8 beside ONNX Runtime and OpenVINO: ResNet-50, MobileNetV3 and BERT, quantized by ONNX Runtime's tool.

    python benchmarks/int8_models.py [--models bert,resnet50] [--forms qdq_u8s8] [--threads 2] [--rounds 15]

OpenVINO does not read all QLinear operators: where it refuses a file, its columns are left out.

    pip install onnx onnxruntime openvino         # OpenVINO is left out where it is missing
    pip install torch torchvision transformers    # where the files are not in --folder, and are made

Each runs in a process of its own, one after the other, in turns, at batch 1. `x/onnxruntime` is our time over its own:
below 1 ours is the faster one. Results are compared before, by roots of mean squares: each with that of the model in
float32 (`to_float`), and ours with ONNX Runtime's (`difference`). Sums of integers are exact, but what is rounded to
bytes again may be off by one step, and by more after dozens of layers of random weights: ours has to be as near to
float32 as ONNX Runtime's, within a tenth and `TOLERANCE`.

`--clock process` counts the time of the process, for one thread on a machine that others use.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import measure

if "--threads" not in sys.argv:
    measure.quiet()

import numpy as np  # noqa: E402
from peers.quantized_models import FORMS, MODELS, Feed, feed, quantized  # noqa: E402

TOLERANCE = 0.01
"""How much farther from float32 ours may be than ONNX Runtime's."""
SAMPLE = 1e-1
"""Seconds of a sample, at least."""
Call = Callable[[], Any]


# What runs in a process of its own.


def _tirax(path: Path, inputs: Feed, threads: int) -> Call:
    import onnx

    from tirax.driver.build import build
    from tirax.frontend.onnx import from_onnx
    from tirax.runtime import set_num_threads

    set_num_threads(threads)
    main = build(from_onnx(path, shape_dict={name: list(x.shape) for name, x in inputs.items()}))["main"]
    arguments = [inputs[value.name] for value in onnx.load(str(path)).graph.input]
    return lambda: np.asarray(main(*arguments))


def _onnxruntime(path: Path, inputs: Feed, threads: int) -> Call:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)[0]


def _openvino(path: Path, inputs: Feed, threads: int) -> Call | None:
    import openvino

    hints = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    try:
        compiled = openvino.Core().compile_model(str(path), "CPU", hints)
    except RuntimeError:
        return None
    return lambda: list(compiled(inputs).values())[0]


ENGINES: dict[str, Callable[[Path, Feed, int], Call | None]] = {
    "tirax": _tirax,
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
}


def worker(engine: str, options: argparse.Namespace) -> None:
    """Build, write the result to a file, and take a sample for each line that comes in."""
    start = time.perf_counter()
    call = ENGINES[engine](options.file, feed(options.models, seed=7), options.threads)
    if call is None:
        print(json.dumps(None), flush=True)
        return
    np.save(options.result, call())
    print(json.dumps(time.perf_counter() - start), flush=True)
    clock = time.process_time if options.clock == "process" else time.perf_counter
    for _ in sys.stdin:
        begin, calls = clock(), 0
        while clock() - begin < SAMPLE:
            call()
            calls += 1
        print(json.dumps((clock() - begin) / calls), flush=True)


class Engine:
    """A process that runs a model when it is asked to; `refuses` where it cannot."""

    def __init__(self, process: Any, result: Path):
        self.process = process
        self.build_s: float | None = self._answer()
        self.refuses = self.build_s is None
        self.result: np.ndarray = np.zeros(()) if self.refuses else np.load(result)

    def sample(self) -> float:
        """Seconds of a call."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self.process.args)} ended")
        return json.loads(line)


@contextmanager
def running(name: str, model: str, file: Path, options: argparse.Namespace) -> Iterator[Engine]:
    """The process of an engine."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.npy"
        command = [sys.executable, __file__, "--worker", name, "--models", model, "--file", file, "--result", result]
        command += ["--clock", options.clock] + ["--threads", str(options.threads)] * (options.threads > 1)
        environment = {**os.environ, **({} if options.threads > 1 else dict.fromkeys(measure.THREADS, "1"))}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(list(map(str, command)), env=environment, **pipes) as process:
            try:
                yield Engine(process, result)
            finally:
                process.stdin.close()


# A row.


def measure_model(model: str, form: str, options: argparse.Namespace) -> dict[str, Any]:
    """The row of a model in a form. Raises `AssertionError` where the result is farther off than ONNX Runtime's."""
    plain, small = quantized(options.folder, model, form)
    exact: np.ndarray = _onnxruntime(plain, feed(model, seed=7), options.threads)()
    names = [name for name in ENGINES if name == "tirax" or importlib.util.find_spec(name)]
    with ExitStack() as stack:
        every = {name: stack.enter_context(running(name, model, small, options)) for name in names}
        engines = {name: engine for name, engine in every.items() if not engine.refuses}
        results = {name: engine.result for name, engine in engines.items()}
        away = {name: difference(result, exact) for name, result in results.items()}
        assert away["tirax"] <= 1.1 * away["onnxruntime"] + TOLERANCE, (model, form, away)
        samples: dict[str, list[float]] = {name: [] for name in engines}
        for _ in range(options.rounds):
            for name, engine in engines.items():
                samples[name].append(engine.sample())
        times = {name: median(seconds) * 1e3 for name, seconds in samples.items()}
        row: dict[str, Any] = {"model": model, "form": form, "build_s": engines["tirax"].build_s}
    row |= {f"{name}_ms": ms for name, ms in times.items()}
    row |= {f"x/{name}": times["tirax"] / ms for name, ms in times.items() if name != "tirax"}
    row |= {f"to_float_{name}": off for name, off in away.items()}
    return row | {"difference": difference(results["tirax"], results["onnxruntime"])}


def difference(result: np.ndarray, expected: np.ndarray) -> float:
    """The root of the mean square of what differs, by that of what is expected."""
    return float(np.sqrt(np.square(result - expected).mean() / np.square(expected).mean()))


def main() -> None:
    """Print a row for each model and form, and write them to build/benchmarks/int8_models.json."""
    parser = argparse.ArgumentParser(description="models in int8 beside ONNX Runtime and OpenVINO")
    parser.add_argument("--models", default=",".join(MODELS), help="names, with commas")
    parser.add_argument("--forms", default=",".join(FORMS), help="names, with commas")
    parser.add_argument("--threads", type=int, default=1, help="threads of each")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each")
    parser.add_argument("--clock", choices=("wall", "process"), default="wall")
    parser.add_argument("--folder", type=Path, default=measure.RESULTS / "int8", help="where the models are")
    parser.add_argument("--worker", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--result", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options)
        return
    print(f"{measure.processor()}, {options.threads} thread{'s' * (options.threads > 1)}, batch 1\n")
    rows: list[dict[str, Any]] = []
    for model in options.models.split(","):
        for form in options.forms.split(","):
            row = measure_model(model, form, options)
            print(" ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{v}" for k, v in row.items()), flush=True)
            rows.append(row)
    measure.write("int8_models" + (f"_{options.threads}" if options.threads > 1 else ""), rows)


if __name__ == "__main__":
    main()
