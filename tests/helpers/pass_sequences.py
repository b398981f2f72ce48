"""Random sequences of passes over the inputs of the FileCheck tests: what comes out is IR or a diagnostic.

    python tests/helpers/pass_sequences.py [count] [seed]

`sequences` draws them, `outcome` runs one: a list of what is wrong, empty where nothing is.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from xdsl.context import Context
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.exceptions import DiagnosticException

from tirax.dev.fuzz.kinds import OPTIONS
from tirax.diagnostics import TiraxError
from tirax.ir.passes.transform import new_context, run_pass
from tirax.ir.verification.verify import Verifier
from tirax.script.mlir_text import parse_mlir
from tirax.tools.checking import MeaningChangedError, MeaningCheck
from tirax.tools.specs import make_pass
from tirax.universe import TIRAX_UNIVERSE

FILECHECK = Path(__file__).parents[1] / "filecheck"


def inputs() -> list[tuple[str, str]]:
    """The modules of the FileCheck tests, with the name of the file."""
    results: list[tuple[str, str]] = []
    for path in sorted(FILECHECK.rglob("*.mlir")):
        for part in re.split(r"^// -----$", path.read_text(encoding="utf-8"), flags=re.M):
            text = re.sub(r"^\s*//.*$", "", part, flags=re.M).strip()
            results += [(str(path.relative_to(FILECHECK)), text)] if text else []
    return results


def passes() -> list[str]:
    """The passes of tirax that need no options."""
    names = []
    for name, factory in sorted(TIRAX_UNIVERSE.all_passes.items()):
        cls = factory()
        needed = [f for f in fields(cls) if f.default is f.default_factory]
        names += [] if needed else [name]
    return names


def sequences(count: int, seed: int) -> Iterator[tuple[str, str, list[str]]]:
    """So many inputs (name and text), each with one to eight passes."""
    rng = random.Random(seed)
    texts, names = inputs(), passes()
    for _ in range(count):
        file, text = rng.choice(texts)
        yield file, text, [rng.choice(names) for _ in range(rng.randint(1, 8))]


def context() -> Context:
    """One that knows all dialects, as the command line's."""
    ctx = new_context()
    for dialect, factory in TIRAX_UNIVERSE.all_dialects.items():
        if dialect not in ctx.registered_dialect_names:
            ctx.register_dialect(dialect, factory)
    return ctx


def _pass_of(name: str) -> ModulePass:
    """The pass with its defaults, but for those that would take minutes: tuning tries one candidate."""
    return make_pass(ArgSpec(name, OPTIONS.get(name, {})), TIRAX_UNIVERSE.all_passes)


def outcome(text: str, names: Sequence[str]) -> str | None:
    """What is wrong with running these passes: an exception that is no diagnostic; None where nothing is."""
    ctx, verifier, name = context(), Verifier(), "parse"
    try:
        module = parse_mlir(text, ctx=ctx)
        verifier.verify(module)  # as the command line does
        for name in names:
            _pass_of(name).apply(ctx, module)
            verifier.verify(module, after=name)
    except (TiraxError, DiagnosticException):
        return None
    except Exception as error:  # noqa: BLE001 (that is what is looked for)
        return f"{name}: {type(error).__name__}: {error}"
    return None


def comparison(text: str, names: Sequence[str]) -> dict[str, int]:
    """How often each function was compared before and after these passes; as far as they go.

    Raises `MeaningChangedError` where one changes what a function computes.
    """
    ctx = context()
    module, check = parse_mlir(text, ctx=ctx), MeaningCheck((5, 0))
    check.start(module)
    for number, name in enumerate(names, 1):
        before = module.clone()
        try:
            run_pass(_pass_of(name), ctx, module)
        except (TiraxError, DiagnosticException):
            break
        try:
            check.check(before, module, number, name)
        except MeaningChangedError:
            raise
        except TiraxError:  # nothing could be compared, or what there is now cannot be run
            continue
    return check.counts


def main(count: int = 1000, seed: int = 0) -> None:
    """Print what is wrong, and how often the same."""
    seen: dict[str, tuple[int, str, list[str]]] = {}
    for file, text, names in sequences(count, seed):
        wrong = outcome(text, names)
        if wrong is not None:
            times, *first = seen.get(wrong, (0, file, names))
            seen[wrong] = (times + 1, *first)
    for wrong, (times, file, names) in sorted(seen.items(), key=lambda item: -item[1][0]):
        print(f"{times} x {wrong}\n    {file}: {','.join(names)}")
    print(f"{count} sequences, {len(seen)} kinds of errors")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
