"""The worker process of `processes`: builds and measures candidates.

Started as `python -m tirax.tuning.worker`; it reads jobs from standard input until end of file.
"""

from __future__ import annotations

import base64
import faulthandler
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..diagnostics import TiraxError

_HEADER = 8
_KEPT_REFERENCES = 4
Payload = Mapping[str, Any]


def encode(data: bytes) -> str:
    """Encode bytes as text for JSON."""
    return base64.b64encode(data).decode()


def decode(text: str) -> bytes:
    """Decode the result of `encode`."""
    return base64.b64decode(text)


# building


def build(payload: Payload) -> dict[str, Any]:
    """Compile `module` (MLIR text) for `target`, and return `{"artifact": …}`, the file of an executable.

    `processor` is the processor of the target on the tuning machine: a worker with another one refuses the job.
    Raises the errors of the build.
    """
    from ..driver.build import build as compile_module
    from ..ir.passes.transform import new_context
    from ..ir.text import TextParser
    from ..target import Target

    target = Target(payload["target"])
    if target.cpu != payload["processor"]:
        raise TiraxError("this worker has another processor", expected=payload["processor"], found=target.cpu)
    module = TextParser(new_context(), payload["module"]).parse_module()
    executable = compile_module(module, target, pipeline="lower-cpu")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "candidate")
        executable.save(path)
        return {"artifact": encode(path.read_bytes())}


# measuring

_references: dict[str, tuple[list[np.ndarray], list[np.ndarray]]] = {}
"""Inputs and results of unscheduled functions, by the digest of their artifact."""


def measure(payload: Payload) -> dict[str, Any]:
    """Call `artifact` with the arguments described by `args`, and return its time: `{"run_secs": […]}`.

    Results are first compared with those of the `reference` artifact, if there is one; if they differ, returns
    `{"error": …, "kind": "wrong"}`.
    """
    from ..runtime.timing import Evaluator

    function = _load(payload["artifact"])
    if payload["reference"] is not None:
        inputs, expected = _reference(payload)
        values = _copies(inputs)
        function(*values)
        wrong = _difference(values, expected, payload["tolerance"])
        if wrong is not None:
            return {"error": wrong, "kind": "wrong"}
    else:
        values = _arguments(payload["args"])
    seconds: list[float] = []
    for _ in range(payload["alloc_repeat"]):
        seconds += Evaluator(function, **payload["evaluator"])(*values).results
        values = _copies(values)
    return {"run_secs": seconds}


def _load(artifact: str) -> Callable[..., Any]:
    from ..runtime.executable import Executable

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "candidate")
        path.write_bytes(decode(artifact))
        executable = Executable.load(path)
    name = next(iter(executable.functions))
    return executable[name]


def _reference(payload: Payload) -> tuple[list[np.ndarray], list[np.ndarray]]:
    key = hashlib.sha256(payload["reference"].encode()).hexdigest()
    if key not in _references:
        while len(_references) >= _KEPT_REFERENCES:
            del _references[next(iter(_references))]
        inputs = _arguments(payload["args"])
        expected = _copies(inputs)
        _load(payload["reference"])(*expected)
        _references[key] = (inputs, expected)
    return _references[key]


def _arguments(args: list[Any]) -> list[np.ndarray]:
    """Return random arguments, the same for each candidate. Integers are small, as they may be indices."""
    from ..runtime.dtypes import to_dtype
    from ..runtime.ndarray import empty

    rng = np.random.default_rng(0)
    out: list[np.ndarray] = []
    for _, dtype, shape in args:
        array = empty(tuple(shape), to_dtype(dtype))
        integral = np.issubdtype(array.dtype, np.integer) or array.dtype == np.bool_
        drawn = rng.integers(0, 2, array.shape) if integral else rng.uniform(-1, 1, array.shape)
        np.copyto(array, drawn.astype(array.dtype))
        out.append(array)
    return out


def _copies(arrays: list[np.ndarray]) -> list[np.ndarray]:
    from ..runtime.ndarray import empty

    out: list[np.ndarray] = []
    for array in arrays:
        copy = empty(array.shape, array.dtype)
        np.copyto(copy, array)
        out.append(copy)
    return out


def _difference(results: list[np.ndarray], expected: list[np.ndarray], tolerance: float | None) -> str | None:
    """Describe the difference between results and expected ones, or return None if they agree."""
    for k, (a, b) in enumerate(zip(results, expected, strict=True)):
        if np.issubdtype(b.dtype, np.integer) or b.dtype == np.bool_:
            wrong = a != b
        else:
            x, y = a.astype(np.float64), b.astype(np.float64)
            largest = np.max(np.abs(y[np.isfinite(y)]), initial=1.0)
            near = _epsilon(b.dtype) ** 0.6 if tolerance is None else tolerance
            wrong = ~np.isclose(x, y, rtol=near, atol=near * largest, equal_nan=True)
        if np.any(wrong):
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            count = int(np.count_nonzero(wrong))
            return f"wrong result: argument {k} differs at {count} places, first at {at}: {a[at]} is not {b[at]}"
    return None


def _epsilon(dtype: np.dtype) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).eps)


JOBS: dict[str, Callable[[Payload], dict[str, Any]]] = {"build": build, "measure": measure}
"""The jobs of a worker process."""


# the process


def _limit(memory: int | None, cores: int) -> None:
    """Limit the address space, and pin the process to the last `cores` processors."""
    import resource

    if memory is None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if cores and hasattr(os, "sched_setaffinity"):
        own = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, own[-cores:])


def _answer(request: Payload) -> dict[str, Any]:
    try:
        return JOBS[request["job"]](request["payload"])
    except MemoryError:
        return {"error": "the memory limit was reached", "kind": "memory"}
    except Exception as error:  # noqa: BLE001 (whatever is wrong with a candidate costs that candidate)
        return {"error": f"{type(error).__name__}: {error}", "kind": "error"}


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer jobs until the input ends."""

    def send(answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        sink.write(len(data).to_bytes(_HEADER, "little") + data)
        sink.flush()

    send({"ready": True})
    while header := source.read(_HEADER):
        request = json.loads(source.read(int.from_bytes(header, "little")))
        # The parent may be gone: the process ends itself if it hangs.
        faulthandler.dump_traceback_later(request["seconds"] + 5, exit=True)
        answer = _answer(request)
        faulthandler.cancel_dump_traceback_later()
        send(answer)


def main() -> None:
    """Serve the parent process: `worker.py '{"memory": bytes, "cores": count}'`."""
    options = json.loads(sys.argv[1])
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Output printed by candidates must not mix with the answers.
    os.dup2(2, 1)
    faulthandler.enable()
    _limit(options["memory"], options["cores"])
    serve(source, sink)


if __name__ == "__main__":
    main()
