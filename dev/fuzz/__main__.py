"""`python -m tirax.dev.fuzz`: fuzz for a time, keep a finding as a test, or replay one."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from ...diagnostics import TiraxError, unknown_name
from ...tools.guard import FAILED, OK, ArgumentParser, run_guarded
from .kinds import KINDS
from .runner import Finding, Tally, fuzz, outcome

_HEAD = "tirax fuzz case"


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 without findings, 1 with findings or if nothing was compared."""
    return run_guarded(lambda: _main(_parser().parse_args(arguments)))


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m tirax.dev.fuzz", description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"what to fuzz, all by default: {', '.join(KINDS)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="time for all kinds together (default: 60)")
    parser.add_argument("--count", type=int, help="cases of each kind, at the most")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="where findings go (default: build/fuzz)")
    parser.add_argument("--replay", type=Path, metavar="CASE", help="try a finding again")
    parser.add_argument("--keep", type=Path, nargs=2, metavar=("CASE", "FOLDER"), help="make a test of a finding")
    return parser


def _main(options: argparse.Namespace) -> int:
    if options.replay is not None:
        return _replay(*_read(options.replay)[:2])
    if options.keep is not None:
        print(keep(*options.keep))
        return OK
    names = options.kinds or list(KINDS)
    for name in names:
        if name not in KINDS:
            raise unknown_name("kind of case", name, KINDS)
    for name in names:
        if KINDS[name].missing:
            print(f"{name:12} left out: it needs {', '.join(KINDS[name].missing)}", flush=True)
    names = [name for name in names if not KINDS[name].missing]
    codes = [
        _report(fuzz(name, options.seconds / len(names), options.seed, options.count, options.jobs), options.out)
        for name in names
    ]
    return max(codes, default=OK)


def _report(tally: Tally, folder: Path) -> int:
    """Print the results of a kind, and write its findings to files."""
    wrong = sum(tally.repeats.values())
    print(
        f"{tally.kind:12} {tally.cases:7} cases in {tally.seconds:5.0f} s, {tally.compared} results compared, "
        f"{tally.refused} refused, {wrong} wrong of {len(tally.findings)} kinds",
        flush=True,
    )
    for key, finding in tally.findings.items():
        path = folder / f"{tally.kind}_{hashlib.sha256(key.encode()).hexdigest()[:8]}.case"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(_case_text(finding))
        print(f"  {finding.status} ({tally.repeats[key]} times): {finding.message}\n    {path}")
    if tally.blind:
        print(f"  {tally.kind}: nothing was compared")
    return FAILED if tally.findings or tally.blind else OK


def _case_text(finding: Finding) -> str:
    head = (_HEAD, finding.kind, " ".join(map(str, finding.choices)), f"{finding.status}: {finding.message}")
    return "\n".join(line.replace("\n", " ") for line in head) + f"\n{finding.text}"


def _read(path: Path) -> tuple[str, list[int], str, str]:
    """Return kind, choices, message and text from a finding's file."""
    try:
        head, kind, choices, message, *text = path.read_text().split("\n")
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise TiraxError(f"'{path}' is not a finding of the fuzzer", notes=[str(error)]) from error
    if head != _HEAD or kind not in KINDS:
        raise TiraxError(f"'{path}' is not a finding of the fuzzer", expected=_HEAD, found=head)
    return kind, [int(c) for c in choices.split()], message, "\n".join(text)


def _replay(kind: str, choices: Sequence[int]) -> int:
    finding = outcome(kind, choices)
    print("sound" if finding is None else f"{finding.status}: {finding.message}\n{finding.text}")
    return OK if finding is None else FAILED


def _literal(text: str) -> str:
    """Return a Python literal of a text, in triple quotes if possible."""
    plain = text.isascii() and text.replace("\n", "").isprintable()
    return f'"""\\\n{text}"""' if plain and "\\" not in text and '"""' not in text else repr(text)


def keep(case: Path, folder: Path) -> Path:
    """Write a test that fails as long as a finding does, and return its path. Raises `TiraxError`."""
    kind, _, message, text = _read(case)
    name = case.stem.replace("-", "_")
    path = folder / f"test_{name}.py"
    path.write_text(
        f'"""Found by the fuzzer of {kind}."""\n\n'
        "from tirax.dev.fuzz.kinds import KINDS\n\n"
        f"MESSAGE = {message!r}\n"
        f"CASE = {_literal(text)}\n\n\n"
        f"def test_{name}() -> None:\n"
        f'    KINDS["{kind}"].check(CASE)\n'
    )
    return path


if __name__ == "__main__":
    sys.exit(main())
