"""Apache TVM's passes, proved by our validator: `python -m tirax.dev.tvm_diff.proofs --python PYTHON`.

Random programs of the fuzzer go through TVM's passes; what TVM prints after a pass is proved equal to what it printed
before. A pass that fails is left out for that program, and so is what our reader does not know.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import TiraxError
from ...ir.passes.transform import module_op
from ...proof import Validation, Verdict, validate_step
from ...proof.steps import summary_of
from ...script import print_script
from ...tvm_api.script import from_source
from ..fuzz.relax_programs import relax_program
from ..fuzz.tensor_programs import tensor_program
from .rows import HEAD
from .words import newer, older

_SIZES = (3, 1)
_RELAX = (
    "Normalize CanonicalizeBindings EliminateCommonSubexpr ConvertToDataflow "
    "DeadCodeElimination LegalizeOps AnnotateTIROpPattern FoldConstant FuseOps FuseTIR ToNonDataflow"
)
_TIR = (
    "LowerInitBlock PlanAndUpdateBufferAllocationLocation ConvertBlocksToOpaque CompactBufferAllocation "
    "LowerMatchBuffer LowerOpaqueBlock FlattenBuffer NarrowDataType LoopPartition VectorizeLoop UnrollLoop "
    "StorageRewrite RenormalizeSplitPattern Simplify RemoveNoOp RewriteUnsafeSelect HoistIfThenElse ConvertSSA"
)
_ARGUMENTS: dict[str, list[Any]] = {"NarrowDataType": [32]}


@dataclass(frozen=True)
class Chain:
    """Passes, and a function that draws a program for them."""

    room: str
    passes: tuple[str, ...]
    draw: Callable[[random.Random], ModuleOp]

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls of the passes, as `theirs.py` reads them."""
        return [{"room": self.room, "name": p, "args": _ARGUMENTS.get(p, []), "kwargs": {}} for p in self.passes]


CHAINS = (
    Chain("relax", tuple(_RELAX.split()), relax_program),
    Chain("tir", tuple(_TIR.split()), tensor_program),
)


@dataclass
class Findings:
    """Verdicts by pass, and what is wrong."""

    counts: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    wrong: list[str] = field(default_factory=list[str])

    def count(self, name: str, what: str) -> None:
        self.counts.setdefault(name, Counter())[what] += 1

    def add(self, name: str, number: int, result: Validation) -> None:
        """Record the verdicts on one pass and one program."""
        for finding in result.findings:
            self.count(name, summary_of(finding))
            if finding.verdict is Verdict.WRONG:
                self.wrong.append(f"{name}, program {number}: {finding}")
            elif finding.verdict is Verdict.NOT_COVERED:
                print(f"{name}, program {number}: {str(finding)[:200]}")

    def __str__(self) -> str:
        lines = [f"{name}: {dict(counts)}" for name, counts in self.counts.items()]
        total = sum(self.counts.values(), Counter[str]())
        return "\n".join([*lines, *self.wrong, f"{total.total()}: {dict(total)}"])


def drawn(chain: Chain, seed: int) -> Iterator[tuple[int, str]]:
    """Yield seeds and programs in TVM's words; constants that are tensors have no text there, and are left out."""
    for number in count(seed):
        text = print_script(chain.draw(random.Random(number)))
        if "metadata[" not in text:
            yield number, newer(text)


def texts_of(chain: Chain, sources: Sequence[str], python: str) -> Iterator[list[str]]:
    """Yield for each program what TVM prints of it, and after each pass up to one that fails."""
    calls = chain.calls
    lines = [json.dumps({"source": s, "passes": calls, "config": {}, "each": True}) for s in sources]
    while lines:
        command = [python, str(Path(__file__).with_name("theirs.py"))]
        ran = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
        answers = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
        for answer in answers:
            if "error" in answer:
                print(f"{chain.room}: {answer['error'][:200]}")
            yield answer["texts"]
        del lines[: len(answers)]
        if lines:  # a crash of TVM
            yield []
            del lines[0]


def read(text: str) -> ModuleOp | None:
    """Return a program that TVM printed, or None if our reader does not know it."""
    try:
        return module_op(from_source(HEAD + older(text)))
    except (TiraxError, VerifyException, ValueError, TypeError, AttributeError, SyntaxError) as error:
        print(f"not read: {str(error).splitlines()[0][:160]}")
        return None


def proved(names: Sequence[str], texts: Sequence[str], number: int, found: Findings) -> None:
    """Prove each pass on one program, from the texts before and after it."""
    modules = [read(text) for text in texts]
    for name, before, after in zip(names, modules, modules[1:], strict=False):
        if before is None or after is None:
            found.count(name, "not read")
        elif not before.is_structurally_equivalent(after):
            found.add(name, number, validate_step(before, after, sizes=_SIZES))
    for name in names[max(len(texts) - 1, 0) :]:
        found.count(name, "not run")


def main() -> int:
    """Print the verdicts on TVM's passes; return 1 if one is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tirax.dev.tvm_diff.proofs", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="a Python that has Apache TVM")
    parser.add_argument("--count", type=int, default=200, help="the number of programs of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = Findings()
    for chain in CHAINS:
        sources = dict(islice(drawn(chain, options.seed), options.count))
        answers = texts_of(chain, list(sources.values()), options.python)
        for number, texts in zip(sources, answers, strict=True):
            proved(chain.passes, texts, number, found)
    print(found)
    return int(bool(found.wrong))


if __name__ == "__main__":
    raise SystemExit(main())
