"""Compiles the digit classifier of `model.py` for any batch, runs it on the held-out images and compares with numpy.

Prints what each stage did and writes the IR after each to build/digits, to be read in order.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

# numpy beside it should be at its best: the kernels that its BLAS chooses for this processor. Both run on one thread;
# the BLAS reads these when numpy is imported, tirax when its first executable is loaded.
os.environ.pop("OPENBLAS_CORETYPE", None)
os.environ.update(dict.fromkeys(("TIRAX_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np  # noqa: E402
from data import classify, gallery, load_images, load_weights  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

OUT = Path(__file__).resolve().parents[2] / "build" / "digits"
TOLERANCE = 1e-4


def parse(_: object) -> tvm.IRModule:
    """Importing the file makes the decorators read its source."""
    from model import Classifier

    return Classifier


STAGES: tuple[tuple[str, str, Callable[[tvm.IRModule], tvm.IRModule]], ...] = (
    ("parse", "TVMScript read into relax", parse),
    ("legalize", "operators become loops (tir)", relax.transform.LegalizeOps()),
    ("annotate", "what kind of loops each function has", relax.transform.AnnotateTIROpPattern()),
    ("fuse-ops", "calls that can share loops grouped", relax.transform.FuseOps()),
    ("fuse-tir", "each group made one function", relax.transform.FuseTIR()),
    ("bind-params", "trained weights made constants", relax.transform.BindParams("main", load_weights())),
)


def timed(function: Callable, *args: object) -> tuple[object, float]:
    """What `function` returns, and the milliseconds that it took."""
    start = time.perf_counter()
    result = function(*args)
    return result, (time.perf_counter() - start) * 1e3


def compile_model() -> relax.VirtualMachine:
    """All stages, a line and a file of IR for each; a machine that runs the result."""
    OUT.mkdir(parents=True, exist_ok=True)
    print(f"{'stage':<12} {'':<38} {'functions':>9} {'ms':>8}")
    mod = None
    for number, (name, does, stage) in enumerate(STAGES):
        mod, ms = timed(stage, mod)
        (OUT / f"{number}-{name}.py").write_text(mod.script() + "\n")
        print(f"{name:<12} {does:<38} {len(mod.functions):>9} {ms:>8.1f}")
    executable, ms = timed(lambda: relax.build(mod, target="llvm"))
    print(f"{'build':<12} {'lowered to native code':<38} {'':>9} {ms:>8.1f}")
    print(f"The IR after each stage: {os.path.relpath(OUT)}{os.sep}\n")
    return relax.VirtualMachine(executable, tvm.cpu())


def interleaved(ours: Callable[[], object], numpys: Callable[[], object], rounds: int = 200) -> tuple[float, float]:
    """Median microseconds of both, called in turns so that a busy machine slows both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for function, actual in zip((ours, numpys), times, strict=True):
            start = time.perf_counter()
            for _ in range(10):
                function()
            actual.append((time.perf_counter() - start) * 1e5)
    return median(times[0]), median(times[1])


def check(logits: np.ndarray, reference: np.ndarray, labels: np.ndarray) -> bool:
    """Print accuracy and agreement; whether the two agree."""
    right = logits.argmax(1) == labels
    difference = float(np.abs(logits - reference).max())
    print(f"accuracy   {right.sum()} of {len(labels)} held-out images right ({right.mean():.2%})")
    same = logits.argmax(1) == reference.argmax(1)
    print(f"agreement  largest difference from numpy {difference:.1e}; same digit for {same.sum()} of {len(same)}")
    return difference <= TOLERANCE


def compare_latency(vm: relax.VirtualMachine, images: np.ndarray, weights: dict[str, np.ndarray]) -> None:
    """Print the time of one image and of all, beside numpy's."""
    main = vm["main"]
    print(f"{'latency':<10} {'tirax':>10} {'numpy':>10}   (median, one thread each)")
    for count in (1, len(images)):
        x = np.ascontiguousarray(images[:count])
        device_x = tvm.nd.array(x)
        ours, numpys = interleaved(lambda a=device_x: main(a), lambda a=x: classify(a, weights))
        label = "1 image" if count == 1 else f"{count} images"
        print(f"{label:<10} {ours:>7.2f} µs {numpys:>7.2f} µs   {numpys / ours:.1f}x")


def show_some(images: np.ndarray, labels: np.ndarray, actual: np.ndarray) -> None:
    """Five images that were taken right and up to five that were not."""
    right, wrong = np.flatnonzero(actual == labels)[:5], np.flatnonzero(actual != labels)[:5]
    chosen = np.concatenate([right, wrong])
    captions = [f"{actual[i]}" if actual[i] == labels[i] else f"{actual[i]}, but is {labels[i]}" for i in chosen]
    print(gallery(images[chosen], captions))


def main() -> int:
    """The whole demo; 1 where the compiled model and numpy disagree."""
    images, labels = load_images()
    weights = load_weights()
    vm = compile_model()
    logits = vm["main"](tvm.nd.array(images)).numpy()
    show_some(images, labels, logits.argmax(1))
    good = check(logits, classify(images, weights), labels)
    if not good:
        print(f"error: compiled model and numpy differ by more than {TOLERANCE}", file=sys.stderr)
        return 1
    compare_latency(vm, images, weights)
    return 0


if __name__ == "__main__":
    sys.exit(main())
