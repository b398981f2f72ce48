"""Apply the patches of docs/upstream to a copy of xDSL, and run their tests there:

python -m tirax.dev.upstream.patches                     # on a copy of the xDSL that is installed
python -m tirax.dev.upstream.patches --source DIRECTORY  # on a copy of the sources of that release, with its own tests
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import xdsl

from ...diagnostics import TiraxError
from ...tools.guard import FAILED, OK, ArgumentParser, run_guarded

FOLDER = Path(__file__).parents[2] / "docs" / "upstream"
_NEW_FILE = re.compile(r"^\+\+\+ b/(tests/\S+)$", re.MULTILINE)
_LIT = """import os
import lit.formats

config.name = "patches of xDSL"
config.suffixes = [".mlir"]
config.test_format = lit.formats.ShTest(execute_external=False)
"""
_ENVIRONMENT = """
config.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
config.environment["PATH"] = os.environ["PATH"]
"""
"""What makes lit run the copy, also with the configuration that xDSL has."""
_LEFT_OUT = ("tests/interactive", "tests/filecheck")
"""What needs packages for terminals, and what `lit` runs."""


def patches() -> list[Path]:
    """Return the files of the patches, in their order."""
    return sorted(FOLDER.glob("*.patch"))


def added_tests(files: Sequence[Path]) -> list[str]:
    """Return the paths of the tests that patches add."""
    return [path for file in files for path in _NEW_FILE.findall(file.read_text())]


def copied(source: Path | None, target: Path) -> Path:
    """Copy a source tree of xDSL, or the installed package, into a folder; return the folder."""
    ignored = shutil.ignore_patterns("__pycache__", ".git")
    if source is None:
        shutil.copytree(Path(xdsl.__file__).parent, target / "xdsl", ignore=ignored)
    elif (source / "xdsl" / "dialects").is_dir():
        shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
    else:
        raise TiraxError(f"'{source}' has no sources of xDSL", expected="a folder with xdsl/ and tests/")
    return target


def apply_patch(file: Path, folder: Path) -> None:
    """Apply a patch to a copy. Raises `TiraxError` with what does not fit."""
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    result = subprocess.run(
        ["git", "apply", str(file)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise TiraxError(f"{file.name} does not apply to xDSL {version('xdsl')}", notes=result.stderr.splitlines())


def run_tests(folder: Path, tests: Sequence[str]) -> bool:
    """Run tests of a copy, of pytest and of lit; return whether all pass."""
    configuration = folder / "tests" / "filecheck" / "lit.cfg"
    known = configuration.read_text() if configuration.exists() else _LIT
    configuration.write_text(known.removesuffix(_ENVIRONMENT) + _ENVIRONMENT)
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    texts = [t for t in tests if t.endswith(".mlir")]
    commands = [["pytest", "-q", "-p", "no:cacheprovider", *(t for t in tests if t not in texts)]]
    commands += [["lit.main", "-sv", *texts]] if texts else []
    codes = [
        subprocess.run([sys.executable, "-m", *command], cwd=folder, env=environment, check=False).returncode
        for command in commands
    ]
    return not any(codes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 if all patches apply and all tests pass."""
    parser = ArgumentParser(
        prog="python -m tirax.dev.upstream.patches",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--source", type=Path, help="the sources of the release, with tests")
    return run_guarded(lambda: _main(parser.parse_args(arguments)))


def _main(options: argparse.Namespace) -> int:
    files = patches()
    with tempfile.TemporaryDirectory() as scratch:
        folder = copied(options.source, Path(scratch))
        for file in files:
            apply_patch(file, folder)
            print(f"applied: {file.name}", flush=True)
        tests = added_tests(files)
        passed = run_tests(folder, tests)
        if options.source is not None:
            passed &= run_tests(folder, ["tests", *(f"--ignore={path}" for path in _LEFT_OUT)])
    print(f"{len(files)} patches, {len(tests)} files of tests: {'passed' if passed else 'failed'}")
    return OK if passed else FAILED


if __name__ == "__main__":
    sys.exit(main())
