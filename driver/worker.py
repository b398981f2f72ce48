"""A process that lowers parts of a module for another one (`part_workers.py`) until its input ends.

python -m tirax.driver.worker TARGET LEVEL
"""

from __future__ import annotations

import os
import sys
from typing import IO

from ..dialects import tir
from ..ir.passes.transform import no_gc
from ..lowering.machine import compile_object, target_machine
from ..script.mlir_text import parse_mlir
from ..target import Target
from .object_cache import text_key
from .partition import Part, lowered_text
from .pipelines import HOST, LOWERING, make_passes
from .timings import Timings, stage
from .worker_pool import read_message, write_message

_KERNELS = LOWERING[len(HOST) :]
"""The passes that are usually requested: those that lower kernels."""


def serve(requests: IO[bytes], answers: IO[bytes], target: Target, opt_level: int) -> None:
    """Answer each text of self-contained kernels with the key of its LLVM text, its object, and seconds by stage."""
    pipelines = {_KERNELS: make_passes(_KERNELS, target.text)}  # imports the passes before the first request
    target_machine(target)
    while (request := read_message(requests)) is not None:
        names = tuple(request[0]["passes"])
        passes = pipelines.get(names) or pipelines.setdefault(names, make_passes(names, target.text))
        with Timings() as timings:
            with stage("parse"):
                module = parse_mlir(request[1].decode())
            exported = frozenset(f.sym_name.data for f in module.ops if isinstance(f, tir.FuncOp))
            text = lowered_text(Part(module, exported), passes)
            with stage("object"):
                code = compile_object(text, target, opt_level)
        write_message(answers, code, key=text_key(text, target, opt_level), stages=timings.stages)


def main() -> None:
    """Serve standard input; output of passes is redirected to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with no_gc():
        serve(sys.stdin.buffer, answers, Target(sys.argv[1]), int(sys.argv[2]))


if __name__ == "__main__":
    main()
