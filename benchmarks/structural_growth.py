"""How the time of a build grows with the program: programs that grow in one way each, at 10, 100 and 1,000.

    python benchmarks/structural_growth.py [--sizes 10,100,1000] [--only concat] [--seconds 600]

Each build is a process of its own, its time the processor's for reading and building, after a program of size 2 for
what is done once. The results are compared with those of the interpreter, which computes with numpy. The exponent is
that between the last two sizes; above 1.2 it is marked. What cannot grow to a thousand has sizes of its own (`SIZES`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import measure

BAR = 1.2
SIZES = {"nested branches": [5, 20, 80], "nested tuples": [5, 20, 80], "ranks": [4, 8, 16]}


def child(name: str, size: int) -> None:
    """Build a program of a size, after one of size 2, and compare its results; prints the seconds of both as JSON."""
    from tirax.dev.fuzz.checks import native_main
    from tirax.dev.fuzz.structures import SHALLOW, STRUCTURES
    from tirax.tvm_api import relax
    from tirax.tvm_api.script import from_source

    text, seconds, module, run = {**STRUCTURES, **SHALLOW}[name], [], None, None
    for n in (2, size):
        begin = time.process_time()
        module = from_source(text(n))
        run = relax.build(module, target="llvm -num-cores=1")["main"]
        seconds.append(time.process_time() - begin)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    compared = native_main(module.op, run, sizes=(2, 0))
    print(json.dumps({"seconds": seconds, "memory": memory, "compared": compared}))


def limited(seconds: int) -> Callable[[], None]:
    """What gives a process so many seconds of the processor."""
    return lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def once(name: str, size: int, limit: int) -> dict[str, object]:
    """One process; `error` says why there is no result."""
    command = [sys.executable, __file__, "--child", name, "--sizes", str(size)]
    env = {**os.environ, "TIRAX_CACHE": "0", "TIRAX_BUILD_THREADS": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, preexec_fn=limited(limit))
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"error": f"more than {limit} s"}
    lines = done.stderr.strip().splitlines() or ["no output"]
    result = json.loads(done.stdout) if done.returncode == 0 else {"error": lines[-1][:160]}
    return result if result.get("compared", 1) else {"error": "nothing was compared"}


def exponent(small: float, large: float, ratio: float) -> float:
    """By which power the time grows where the size grows `ratio`-fold."""
    return math.log(max(large, 1e-3) / max(small, 1e-3)) / math.log(ratio)


def row(name: str, sizes: Sequence[int], limit: int) -> dict[str, object]:
    """The seconds at each size, and the exponent between the last two."""
    results: list[float | str] = []
    for size in sizes:
        result = once(name, size, limit)
        if "error" in result:
            results.append(str(result["error"]))
            break
        first, seconds = result["seconds"]  # type: ignore[misc]
        results.append(round(seconds, 3))
    points = [(size, seconds) for size, seconds in zip(sizes, results, strict=False) if isinstance(seconds, float)]
    if len(points) < 2:
        return {"seconds": results, "exponent": None}
    (small, before), (large, after) = points[-2:]
    return {"seconds": results, "exponent": exponent(before, after, large / small)}


def main() -> None:
    """Print the table and write it to build/benchmarks/structural_growth.json."""
    options = argparse.ArgumentParser(description="how the time of a build grows with the program")
    options.add_argument("--sizes", default="10,100,1000")
    options.add_argument("--only", default="")
    options.add_argument("--seconds", type=int, default=600)
    options.add_argument("--child", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    sizes = [int(size) for size in chosen.sizes.split(",")]
    if chosen.child is not None:
        child(chosen.child, sizes[0])
        return
    from tirax.dev.fuzz.structures import SHALLOW, STRUCTURES

    rows = {}
    for name in (*STRUCTURES, *SHALLOW):
        if chosen.only in name:
            own = SIZES.get(name, sizes)
            rows[name] = row(name, own, chosen.seconds)
            grown = rows[name]["exponent"]
            mark = "" if grown is not None and grown <= BAR and len(rows[name]["seconds"]) == len(own) else "  <--"
            shown = f"{grown:.2f}" if grown is not None else "-"
            print(f"{name:<20} {shown:>5}  {rows[name]['seconds']}{mark}", flush=True)
    measure.write("structural_growth", rows)


if __name__ == "__main__":
    main()
