"""Sweep over models of PyTorch's libraries, one process each, beside PyTorch; goes on where it stopped.

python -m tirax.dev.models build/models.jsonl                             # all that is installed
python -m tirax.dev.models build/models.jsonl --libraries timm --modes static,dynamic,compile
python -m tirax.dev.models build/models.jsonl --only transformers/bert --again
python -m tirax.dev.models build/models.jsonl --report
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import json
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from ...api import compile as compile_model
from .cases import LIBRARIES, names
from .check import checked

_BYTES = 6 << 30


class _OutOfTime(BaseException):
    """The limit of processor time is reached; nothing else catches it."""


def _too_long(_number: int, _frame: object) -> None:
    raise _OutOfTime


def _child(name: str, modes: list[str], how: dict[str, bool], seconds: int, path: str) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, 2 * seconds))
    signal.signal(signal.SIGXCPU, _too_long)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    line: dict[str, Any] = {"name": name, **how}
    try:
        checked(name, modes, line)
    except _OutOfTime:
        line["stopped"] = "at the limit of processor time"
    finally:
        Path(path).write_text(json.dumps(line), encoding="utf-8")


def _run(name: str, modes: list[str], how: dict[str, bool], seconds: int, scratch: Path) -> dict[str, Any]:
    scratch.unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(target=_child, args=(name, modes, how, seconds, str(scratch)))
    start = time.monotonic()
    process.start()
    process.join(seconds * 8)
    if process.is_alive():
        process.kill()
        process.join()
    if scratch.exists():
        return json.loads(scratch.read_text(encoding="utf-8"))
    return {"name": name, "case": "died", "exit": process.exitcode, "wall": round(time.monotonic() - start)}


def _preload(libraries: list[str]) -> None:
    """Import what the models need, so that their processes, which are forks, need not."""
    import torch
    import torch._dynamo
    import torch._functorch.aot_autograd

    torch.set_num_threads(1)
    for library in libraries:
        importlib.import_module(_MODULES.get(library, library))
    x = torch.ones(2, 3)
    compile_model(torch.nn.Linear(3, 2), x, dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))(x)


_MODULES = {"torch_geometric": "torch_geometric.nn", "transformers": "transformers.models.auto.modeling_auto"}


def _order(name: str) -> str:
    """A fixed random order, so that a part of the sweep is a sample of the whole."""
    return hashlib.sha256(name.encode()).hexdigest()


def _read(path: Path) -> dict[str, dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {line["name"]: line for line in map(json.loads, lines)}


def report(lines: dict[str, dict[str, Any]]) -> None:
    """Print the outcomes of each library, by mode."""
    for library in LIBRARIES:
        of = [line for name, line in lines.items() if name.startswith(f"{library}/")]
        if not of:
            continue
        print(f"{library}: {len(of)} tried, {sum(line['case'] == 'ok' for line in of)} made")
        for mode in ("native", "static", "dynamic native", "dynamic", "compile"):
            words = Counter(_word(line[mode], mode) for line in of if mode in line)
            if words:
                print(f"  {mode:15}", ", ".join(f"{word} {count}" for word, count in words.most_common()))


def _word(outcome: str, mode: str) -> str:
    if "native" in mode:
        return "ok" if outcome == "ok" else "missing"
    return outcome.partition(":")[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--libraries", default=",".join(n for n in LIBRARIES if importlib.util.find_spec(n)))
    parser.add_argument("--modes", default="static,dynamic,compile")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--again", action="store_true", help="run what the file has already, too")
    parser.add_argument("--import-only", action="store_true", help="do not build what is exported with fixed sizes")
    parser.add_argument("--interpret", action="store_true", help="run exported programs on the interpreter")
    parser.add_argument("--seconds", type=int, default=120, help="of the processor, a model")
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    known = _read(args.results)
    if not args.report:
        chosen = args.only or sorted(names(args.libraries.split(",")), key=_order)
        how = {"import only": args.import_only, "interpret": args.interpret}
        _preload(sorted({name.partition("/")[0] for name in chosen}))
        with args.results.open("a", encoding="utf-8") as file:
            for name in chosen:
                if name in known and not args.again:
                    continue
                known[name] = _run(name, args.modes.split(","), how, args.seconds, args.results.with_suffix(".one"))
                file.write(json.dumps(known[name]) + "\n")
                file.flush()
                print(json.dumps(known[name]), flush=True)
    report(known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
