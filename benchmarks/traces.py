"""How large the trace of BERT is, and how long a browser takes to open it (docs/explain.md).

    python benchmarks/traces.py

BERT-base with its weights as constants, built and called once. Opening is the wall time of a headless Chromium with the
trace less that with an empty page, the shortest of five turns each, so that starting the browser is not in it. Goals:
50 MB, 2 s.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure

measure.quiet()

import models  # noqa: E402
from models import workload as workloads  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.driver.tracing import trace  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

MEGABYTES, SECONDS = 50, 2.0
"""The goals."""
_REPEATS = 5


def write_trace(path: Path, small: bool) -> dict[str, float]:
    """Build BERT, call it, and write its trace; seconds of the CPU that building took."""
    bert = models.make("bert", **(models.SMALL["bert"] if small else {}))
    length = min(bert.default_length or 1, bert.positions)
    module = workloads.bind(workloads.export(bert, 1, length), workloads.random_weights(bert))
    with trace(str(path), "BERT") as recorder:
        start = time.process_time()
        executable = relax.build(module, target="llvm")
        took = time.process_time() - start
        inputs = [tvm.nd.array(x) for x in bert.inputs(1, length)]
        recorder.profile(executable.profile("forward", *inputs), f"batch 1, length {length}")
    return {"cpu_s": took, "mb": path.stat().st_size / 1e6}


def opening(browser: str, path: Path) -> float:
    """Seconds until the trace is shown."""
    empty = path.with_name("empty.html")
    empty.write_text("<!doctype html><title>empty</title>")
    seconds = {page: min(_seconds(browser, page) for _ in range(_REPEATS)) for page in (empty, path)}
    return seconds[path] - seconds[empty]


def _seconds(browser: str, page: Path) -> float:
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=1000", "--dump-dom"]
    start = time.perf_counter()
    done = subprocess.run([browser, *options, f"file://{page}"], capture_output=True, check=True)
    took = time.perf_counter() - start
    assert page.name == "empty.html" or b"blocks" in done.stdout, "the graph is not shown"
    return took


def main(small: bool = False) -> int:
    """Print the row and write it; 1 where a goal is missed."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bert.html"
        row = {"model": "bert", **write_trace(path, small)}
        row |= {} if browser is None else {"open_s": opening(browser, path)}
    opened = f"opened in {row['open_s']:.2f} s" if "open_s" in row else "not opened: there is no Chromium"
    print(f"trace of bert: {row['mb']:.2f} MB, built in {row['cpu_s']:.1f} s of the CPU, {opened}")
    measure.write("traces", [row])
    return int(row["mb"] > MEGABYTES or row.get("open_s", 0.0) > SECONDS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="the trace of BERT")
    parser.add_argument("--small", action="store_true", help="a narrow model, to see that it runs")
    os.environ.pop("TIRAX_TRACE", None)
    sys.exit(main(parser.parse_args().small))
