"""Compile programs, and have MLIR read what is printed of them:

python -m tirax.dev.upstream              # each operator, the programs that benchmarks and tests have, models
python -m tirax.dev.upstream layer.py     # these programs
python -m tirax.dev.upstream --linalg     # the kernels of each operator as linalg, which are also imported and compared
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr

from ...diagnostics import TiraxError
from ...lowering.tir_to_linalg.convert import REASON
from ...script import parse_mlir, parse_source
from ..fuzz.operator_cases import CASES, function
from ..fuzz.workloads import WORKLOADS
from .judges import Judge, judges
from .linalg import as_linalg, cases, difference, kernels
from .models import models
from .stages import OWN, UPSTREAM, stages


def programs(files: list[Path]) -> Iterator[tuple[str, ModuleOp]]:
    """Yield the names and modules to compile."""
    for path in files:
        text = path.read_text()
        yield path.name, parse_mlir(text, str(path)) if path.suffix == ".mlir" else parse_source(text, str(path))
    if files:
        return
    named = ((f"{name}_{number}", function(case)) for name in CASES for number, case in enumerate(CASES[name]))
    known = [(name, module) for name, module in named if module is not None]
    for first in range(0, len(known), _TOGETHER):
        group = known[first : first + _TOGETHER]
        yield f"{group[0][0]} to {group[-1][0]}", together(dict(group))
    for name, text in WORKLOADS.items():
        yield name, parse_source(text)
    yield from models()


_TOGETHER = 8
"""Operators of one module: a compilation of eight takes less than eight do."""


def together(modules: Mapping[str, ModuleOp]) -> ModuleOp:
    """Return one module with the functions `main` of several, under the names given."""
    all_of_them = ModuleOp([])
    for name, module in modules.items():
        for op in list(module.body.block.ops):
            op.detach()
            op.properties["sym_name"] = StringAttr(name.replace(".", "_"))
            all_of_them.body.block.add_op(op)
    return all_of_them


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tirax.dev.upstream", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--generic", action="store_true", help="judge the generic form")
    parser.add_argument("--own", action="store_true", help="judge the stages with dialects of tirax, unregistered")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write what is refused to FOLDER")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take one program of N")
    parser.add_argument("--linalg", action="store_true", help="judge and compare kernels as linalg")
    options = parser.parse_args()
    known = judges()
    if options.linalg:
        return _linalg(known, options)
    if not known:
        print("no judge is installed: pip install iree-base-compiler jaxlib", file=sys.stderr)
        return 2
    counts: Counter[str] = Counter()
    for number, (name, module) in enumerate(programs(options.files)):
        if number % options.every:
            continue
        try:
            for stage, text in stages(module, OWN if options.own else UPSTREAM, options.generic or options.own):
                counts["texts"] += 1
                for judge in known:
                    counts[judge] += _judge(name, stage, text, judge, known[judge], options)
        except TiraxError as error:
            counts["not compiled"] += 1
            print(f"{name}: {str(error).splitlines()[0]}")
    print(", ".join(f"{key}: {count}" for key, count in counts.items()))
    return int(any(counts[judge] < counts["texts"] for judge in known))


def _linalg(known: Mapping[str, Judge], options: argparse.Namespace) -> int:
    """Judge each kernel as linalg, and compare it with what is imported; jaxlib's MLIR has no linalg."""
    counts: Counter[str] = Counter()
    for name, number in cases()[:: options.every]:
        for kernel in kernels(name, number):
            counts["kernels"] += 1
            try:
                text = as_linalg(kernel)
            except TiraxError as error:
                print(f"{name} {number}: {str(error).splitlines()[0]}")
                counts["refused"] += 1
                continue
            counts["structured"] += REASON not in text
            if "iree-opt" in known:
                counts["iree-opt"] += _judge(name, "linalg", text, "iree-opt", known["iree-opt"], options)
            found = difference(kernel, text)
            counts["equal"] += found is None
            if found is not None:
                print(f"{name} {number}: {found}")
    print(", ".join(f"{key}: {count}" for key, count in counts.items()))
    return int(counts["equal"] < counts["kernels"] - counts["refused"])


def _judge(name: str, stage: str, text: str, judge: str, check: Judge, options: argparse.Namespace) -> bool:
    error = check(text, options.own)
    if error is None:
        return True
    print(f"{name} after {stage}, {judge}: {' | '.join(error.splitlines()[:3])}", flush=True)
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
        (options.keep / f"{name}-{stage}.mlir").write_text(text)
    return False


if __name__ == "__main__":
    raise SystemExit(main())
