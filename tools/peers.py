"""Other runtimes that execute a file of a model, to compare with: `tirax run --compare`, `tirax bench`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..diagnostics import TiraxError, unknown_name
from ..frontend.importing.extras import MissingPackage, pip_line
from .guard import UsageError, as_usage

Call = Callable[[], Sequence[Any]]
"""A call of a model on inputs that were given before; the results are arrays."""


@dataclass(frozen=True)
class Peer:
    """A runtime: the package that it needs, the files that it reads, and how one becomes a call.

    `load(path, threads)` returns a function that takes the inputs, in the order of the model's, and returns a call.
    """

    name: str
    package: str
    reads: tuple[str, ...]
    load: Callable[[str, int], Callable[[Sequence[np.ndarray]], Call]]

    def prepare(self, path: str, threads: int, values: Sequence[np.ndarray]) -> Call:
        """Return a call of a model. Raises `MissingPackage`, and `TiraxError` if the runtime does not run the model."""
        try:
            importlib.import_module(self.package)
        except ModuleNotFoundError as error:
            raise MissingPackage(f"{self.package} is not installed", hint=pip_line(self.package)) from error
        try:
            call = self.load(path, threads)(values)
            call()
        except Exception as error:  # whatever a foreign runtime raises
            first = (str(error).strip().split("\n") or [""])[0]
            raise TiraxError(f"{self.name} does not run this model: {first[:200]}") from error
        return call


def _onnxruntime(path: str, threads: int) -> Callable[[Sequence[np.ndarray]], Call]:
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    return lambda values: lambda: session.run(None, dict(zip(names, values, strict=True)))


def _openvino(path: str, threads: int) -> Callable[[Sequence[np.ndarray]], Call]:
    openvino: Any = importlib.import_module("openvino")
    model = openvino.convert_model(_program(path)) if path.lower().endswith(".pt2") else path
    settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(model, "CPU", settings)
    return lambda values: lambda: list(compiled(list(values)).values())


def _program(path: str) -> Any:
    from ..frontend.torch.archive import load_exported_program

    return load_exported_program(path)


def _torch(path: str, threads: int) -> Callable[[Sequence[np.ndarray]], Call]:
    return _of_module(_program(path).module(), threads)


def _inductor(path: str, threads: int) -> Callable[[Sequence[np.ndarray]], Call]:
    torch: Any = importlib.import_module("torch")
    return _of_module(torch.compile(_program(path).module()), threads)


def _of_module(model: Callable[..., Any], threads: int) -> Callable[[Sequence[np.ndarray]], Call]:
    torch: Any = importlib.import_module("torch")
    leaves: Any = importlib.import_module("torch.utils._pytree").tree_leaves

    def bound(values: Sequence[np.ndarray]) -> Call:
        tensors = [torch.from_numpy(value) for value in values]

        def call() -> Sequence[Any]:
            if torch.get_num_threads() != threads:
                torch.set_num_threads(threads)
            with torch.no_grad():
                return [x.numpy() for x in leaves(model(*tensors)) if isinstance(x, torch.Tensor)]

        return call

    return bound


PEERS = {
    peer.name: peer
    for peer in (
        Peer("onnxruntime", "onnxruntime", (".onnx",), _onnxruntime),
        Peer("openvino", "openvino", (".onnx", ".pt2"), _openvino),
        Peer("torch", "torch", (".pt2",), _torch),
        Peer("inductor", "torch", (".pt2",), _inductor),
    )
}
"""The runtimes by name: `torch` is eager, `inductor` is `torch.compile`."""


def chosen_peers(text: str, path: str) -> list[Peer]:
    """Return the peers of `torch,onnxruntime`. Raises `UsageError` for one that is unknown or cannot read `path`."""
    names = text.replace(" ", "").split(",")
    extension = os.path.splitext(path)[1].lower()
    for name in names:
        if name not in PEERS:
            raise as_usage(unknown_name("runtime", name, PEERS))
        if extension not in PEERS[name].reads:
            others = [p.name for p in PEERS.values() if extension in p.reads]
            raise UsageError(
                f"{name} does not read this file",
                expected=" or ".join(PEERS[name].reads),
                found=path,
                hint=f"runtimes that read it: {', '.join(others)}" if others else None,
            )
    return [PEERS[name] for name in names]


def arrays(values: Sequence[Any]) -> list[np.ndarray]:
    """Return the arguments of a call as plain arrays. Raises `TiraxError` for others, which peers do not take."""
    wrong = next((v for v in values if not isinstance(v, np.ndarray)), None)
    if wrong is not None:
        raise TiraxError("other runtimes take arrays only", found=type(wrong).__name__)
    return [np.asarray(value) for value in values]


def difference(results: Sequence[Any], expected: Sequence[Any]) -> float:
    """Return the largest difference between results, relative to the largest value; infinity for other shapes."""
    if len(results) != len(expected):
        return float("inf")
    return max((_difference(np.asarray(a), np.asarray(b)) for a, b in zip(results, expected, strict=True)), default=0.0)


def _difference(result: np.ndarray, expected: np.ndarray) -> float:
    if result.shape != expected.shape:
        return float("inf")
    if not result.size or np.array_equal(result, expected):
        return 0.0
    if result.dtype.kind in "OUS":
        return float("inf")
    wide, other = (x.astype(np.float64) for x in (result, expected))
    same = (wide == other) | (np.isnan(wide) & np.isnan(other))
    with np.errstate(invalid="ignore"):  # infinity minus infinity, where they are the same
        distance = np.where(same, 0.0, np.abs(wide - other))
    finite = np.abs(other[np.isfinite(other)])
    scale = float(finite.max()) if finite.size else 1.0
    worst = float(distance.max())
    return float("inf") if np.isnan(worst) else worst / max(scale, 1e-30)


__all__ = ["PEERS", "Call", "Peer", "arrays", "chosen_peers", "difference"]
