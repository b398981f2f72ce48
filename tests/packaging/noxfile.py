"""Upgrades: the oldest and newest Python, numpy, llvmlite and xDSL, corner by corner (docs/upgrades.md).

    make upgrades                                     # every corner, then the table of the page
    make upgrades NOX='-s "corner(3.13-newest)"'      # one of them
    make upgrades NOX='-- --whole'                    # `make test` in each, instead of the tests of SHORT

uv sets the environments up, with the Pythons that it finds or can load. What cannot be had is said in the table, with
the reason; a corner that fails where it has to work fails the session.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "upgrades.md"
FOLDER = ROOT / "build" / "upgrades"
REQUIRED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
SHOWN = ("xdsl", "numpy", "llvmlite", "ml-dtypes", "rich")

SMOKE = "import smoke; print(smoke.import_all('tirax'), 'modules'); smoke.compile_and_run()"
STRICT = [f"-Werror::{kind}" for kind in ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")]
ROOMS = (
    "packaging",
    "ir",
    "runtime",
    "interpreter",
    "handles",
    "robustness/test_calls.py",
    "lowering/test_backend_arith.py",
)
SHORT = [f"tests/{room}" for room in ROOMS]
SHORT_LIT = ("tests/filecheck/lowering", "tests/filecheck/tools", "tests/filecheck/transforms/fusion")
REFUSAL = "from tirax.runtime import abi; abi.require_gil()"
"""For a Python without the GIL: what every executable and every build asks first."""

nox.options.sessions = ["corner", "table"]


@dataclass(frozen=True)
class Corner:
    """A Python, the oldest or newest versions that pyproject.toml allows for it, and those taken instead of its own."""

    python: str
    versions: str
    instead: tuple[str, ...] = ()
    expected: str = "works"


def _pinned_minor() -> int:
    (minor,) = re.findall(r"xdsl==0\.(\d+)\.\*", " ".join(REQUIRED))
    return int(minor)


def _oldest(name: str) -> str:
    """The least version that pyproject.toml allows, as a requirement."""
    (version,) = re.findall(rf"\b{name}>=([\d.]+)", " ".join(REQUIRED))
    return f"{name}=={version}.*"


CORNERS = {
    **{f"{p}-{v}": Corner(p, v) for p in ("3.11", "3.12", "3.13", "3.14") for v in ("oldest", "newest")},
    "numpy": Corner("3.12", "newest", (_oldest("numpy"),)),
    "llvmlite": Corner("3.13", "newest", (_oldest("llvmlite"),)),
    "xdsl-next": Corner("3.11", "newest", (f"xdsl>=0.{_pinned_minor() + 1}",), "may fail"),
    "xdsl-before": Corner("3.11", "newest", (f"xdsl==0.{_pinned_minor() - 1}.*",), "may fail"),
    "3.13t": Corner("3.13t", "newest", ("llvmlite; sys_platform == 'none'",), "is refused"),
    "3.14t": Corner("3.14t", "newest", (), "is refused"),
}


class Failure(Exception):
    """A step of a corner that did not succeed: which, and the line that says why."""


def _reason(text: str) -> str:
    """What pytest says failed last, what uv could not resolve, or the last line."""
    failed = re.findall(r"^(?:FAILED|ERROR) .*", text, re.MULTILINE)
    unresolved = re.findall(r"Because (.*?)[,.] ", " ".join(text.split()))
    return (failed or unresolved or [text.strip().split("\n")[-1].strip()])[-1]


def _run(what: str, *command: str | Path, cwd: Path = ROOT, path: Path | None = None) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON") and k != "VIRTUAL_ENV"}
    if path is not None:
        env |= {"PATH": f"{path / 'bin'}{os.pathsep}{env['PATH']}", "XDG_CACHE_HOME": str(path / "cache")}
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=env, capture_output=True, text=True)
    print(done.stdout, done.stderr, sep="", flush=True)
    if done.returncode:
        raise Failure(f"{what}: {_reason(done.stdout + done.stderr)}".replace(str(ROOT) + "/", "")[:240])
    return done.stdout


def _set_up(name: str, corner: Corner) -> Path:
    """The environment of a corner, tirax in it, editable, with what its tests need."""
    folder = FOLDER / name
    _run("no such Python", "uv", "venv", "-q", "--seed", "--clear", "--python", corner.python, folder)
    instead = folder / "instead.txt"
    instead.write_text("\n".join(corner.instead))
    resolution = {"oldest": "lowest-direct", "newest": "highest"}[corner.versions]
    wheels = [f"--only-binary={package}" for package in ("numpy", "llvmlite", "ml-dtypes", "hypothesis")]
    install = ("uv", "pip", "install", "-q", "--python", folder, "--resolution", resolution, *wheels)
    _run("not installed", *install, "--overrides", instead, "-e", ".[test]")
    return folder


def _check(corner: Corner, folder: Path, full: bool) -> None:
    python = folder / "bin" / "python"
    if corner.expected == "is refused":
        _run("", python, "-c", REFUSAL)
    elif full:
        for stamp in ("python", "test"):  # the environment is set up as it should be
            (folder / f"{stamp}.stamp").touch()
        _run("make test", "make", f"VENV={folder}", f"OUT={folder / 'test'}", "test", path=folder)
    else:
        _run("imports, a model", python, *STRICT, "-c", SMOKE, cwd=ROOT / "tests" / "packaging", path=folder)
        _run("pytest", python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SHORT, path=folder)
        _run("lit", folder / "bin" / "lit", "-q", "-j1", *SHORT_LIT, path=folder)


def _versions(folder: Path) -> list[str]:
    if not (folder / "instead.txt").exists():
        return ["–"] * len(SHOWN)
    listed = json.loads(_run("", "uv", "pip", "list", "-q", "--python", folder, "--format", "json"))
    by_name = {package["name"].replace("_", "-"): package["version"] for package in listed}
    return [by_name.get(name, "–") for name in SHOWN]


def _outcome(name: str, corner: Corner, full: bool) -> str:
    try:
        folder = _set_up(name, corner)
    except Failure as failure:
        return f"not to be had ({failure})"
    try:
        _check(corner, folder, full)
    except Failure as failure:
        return f"is refused ({str(failure)[2:]})" if corner.expected == "is refused" else f"fails ({failure})"
    return "works, all of `make test`" if full else "works"


@nox.session(venv_backend="none")
@nox.parametrize("name", list(CORNERS), ids=list(CORNERS))
def corner(session: nox.Session, name: str) -> None:
    """Set one corner up, test it and note the outcome."""
    about = CORNERS[name]
    outcome = _outcome(name, about, "--whole" in session.posargs)
    FOLDER.mkdir(parents=True, exist_ok=True)
    row = [about.python, about.versions, *_versions(FOLDER / name), outcome]
    (FOLDER / f"{name}.json").write_text(json.dumps(row))
    if not outcome.startswith(("not to be had", about.expected)) and about.expected != "may fail":
        session.error(f"{name} {outcome}")


@nox.session(venv_backend="none")
def table(session: nox.Session) -> None:
    """Write the rows that are known into the page."""
    rows = [json.loads(path.read_text()) for n in CORNERS if (path := FOLDER / f"{n}.json").exists()]
    head = ["Python", "versions", *SHOWN, "outcome"]
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    before, _, rest = PAGE.read_text().partition("<!-- table -->\n")
    after = rest.partition("<!-- end -->")[2]
    PAGE.write_text(f"{before}<!-- table -->\n" + "\n".join(lines) + f"\n<!-- end -->{after}")


if __name__ == "__main__":
    sys.exit("this file is for nox: `make upgrades`")
