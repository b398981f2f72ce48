"""The server's readers find fault with what the command lines refuse, and nothing else, in all programs of tests."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from xdsl.utils.exceptions import DiagnosticException

from tirax.ir.equality import structural_equal
from tirax.ir.verification.verify import verify_module
from tirax.script.mlir_text import reading_context
from tirax.tools.lsp.mlir_reader import MlirReader
from tirax.tools.lsp.script_reader import PROGRAM, ScriptReader
from tirax.tools.source import Program, split_program

TESTS = Path(__file__).resolve().parents[2]
FOLDERS = sorted({path.relative_to(TESTS).parts[:2] for path in TESTS.rglob("*.mlir")})


def modules(text: str, language: str) -> list:
    """The programs of a text as the command lines read them, None for one that they refuse."""
    results = []
    for piece in split_program(Program(text, f"a.{language}", language)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = piece.parse(reading_context())
            verify_module(module)
        except DiagnosticException:
            module = None
        results.append(module)
    return results


def says_nothing(text: str) -> bool:
    return all(not line.strip() or line.lstrip().startswith("//") for line in text.split("\n"))


@pytest.mark.parametrize("folder", FOLDERS, ids="/".join)
def test_mlir(folder):
    context = reading_context()
    for path in sorted(TESTS.joinpath(*folder).rglob("*.mlir")):
        text = path.read_text()
        if not says_nothing(text):
            right = None not in modules(text, "mlir")
            problems = list(MlirReader(path.name, context).read(text).problems())
            assert right is not bool(problems), (path, problems)


@pytest.mark.parametrize("folder", ["golden", "filecheck", "script/listings"])
def test_scripts(folder):
    for path in sorted((TESTS / folder).rglob("*.py")):
        text = path.read_text()
        if PROGRAM.search(text):
            (module,) = modules(text, "py")
            reading = ScriptReader(path.name).read(text)
            assert (module is None) is bool(list(reading.problems())), (path, list(reading.problems()))
            if module is not None:
                (own,) = reading.modules.values()
                assert structural_equal(own, module), path
