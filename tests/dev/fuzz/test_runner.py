"""Fuzzers find what is planted: wrong results, crashes and endless cases; and what compares nothing is no success."""

from __future__ import annotations

import os
import random
import re
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from packages import PACKAGES
from strength import only_full, thinned

from tirax.dev.fuzz import runner
from tirax.dev.fuzz.__main__ import keep, main
from tirax.dev.fuzz.kinds import KINDS, Kind


def _word(rng: random.Random) -> str:
    return "".join(rng.choice("abcdefgh") for _ in range(rng.randint(0, 12)))


def _wrong(text: str) -> int:
    if "c" in text:
        raise ValueError(f"there is a c at {text.index('c')}")
    return len(text)


def _fatal(text: str) -> int:
    if "h" in text:
        os.kill(os.getpid(), signal.SIGSEGV)
    return 1


def _endless(text: str) -> int:
    while "e" in text:
        pass
    return 1


PLANTED = {"wrong": _wrong, "fatal": _fatal, "endless": _endless, "blind": lambda text: 0}
REAL = sorted(KINDS)
OTHERS = [kind for kind in REAL if set(KINDS[kind].needs) & set(PACKAGES)]


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, check in PLANTED.items():
        monkeypatch.setitem(KINDS, name, Kind("planted", _word, check))
    monkeypatch.setattr(runner, "REDUCING_SECONDS", 3.0)


@thinned(
    ("kind", "status", "message", "text"),
    [
        ("wrong", "failed", "ValueError: there is a c at", "c"),
        ("endless", "hang", "more than", "e"),
        ("fatal", "crash", "ended by SIGSEGV", "h"),
    ],
    2,
)
def test_what_is_planted_is_detected_and_reduced(
    kind: str, status: str, message: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if status == "hang":
        # Each smaller case that hangs takes its second: the search must end, however slow the machine is.
        monkeypatch.setattr(runner, "CASE_SECONDS", 1.0)
        monkeypatch.setattr(runner, "REDUCING_SECONDS", 60.0)
    else:
        monkeypatch.setattr(runner, "CASE_SECONDS", 30.0)
    tally = runner.fuzz(kind, seconds=10.0, count=4 if status == "hang" else 40)
    (finding,) = tally.findings.values()
    assert finding.status == status
    assert message in finding.message
    assert text in finding.text
    assert len(finding.choices) <= 4
    assert runner.outcome(kind, finding.choices) is not None


def test_sound_cases_are_counted_and_nothing_compared_is_a_failure(tmp_path: Path) -> None:
    assert main(["databases", "--seconds", "30", "--count", "3", "--out", str(tmp_path)]) == 0
    assert main(["blind", "--seconds", "30", "--count", "5", "--out", str(tmp_path)]) == 1
    assert not list(tmp_path.iterdir())


def test_a_finding_is_a_file_that_is_tried_again_and_kept_as_a_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wrong", "--seconds", "30", "--count", "40", "--out", str(tmp_path)]) == 1
    assert re.search(r"wrong +\d+ cases", capsys.readouterr().out)
    (case,) = tmp_path.glob("*.case")
    assert main(["--replay", str(case)]) == 1
    assert "there is a c" in capsys.readouterr().out
    test = runpy.run_path(str(keep(case, tmp_path)))
    with pytest.raises(ValueError, match="there is a c"):
        next(value for name, value in test.items() if name.startswith("test_"))()


def test_bad_arguments_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.case"
    other.write_text("hello")
    assert main(["--replay", str(other)]) == 1
    assert "is not a finding of the fuzzer" in capsys.readouterr().err
    assert main(["relx"]) == 1
    assert "did you mean 'relax'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [kind for kind in REAL if kind not in OTHERS])
def test_a_case_of_each_kind(kind: str) -> None:
    gives_the_same_again(kind)


@pytest.mark.usefixtures("torch", "onnxruntime")
@pytest.mark.parametrize("kind", OTHERS)
def test_a_case_of_each_kind_with_another_compiler(kind: str) -> None:
    gives_the_same_again(kind)


def gives_the_same_again(kind: str) -> None:
    if KINDS[kind].missing:
        pytest.skip(f"{', '.join(KINDS[kind].missing)} not installed")
    status, message, _, choices, text = runner.attempt(kind, None, seed=1)
    assert status == "ok", f"{message}\n{text}"
    assert runner.attempt(kind, choices)[4] == text


@only_full
def test_it_is_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tirax.dev.fuzz", "executables", "--count", "5", "--seconds", "30"]
    done = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "0 wrong" in done.stdout
