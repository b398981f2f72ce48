"""Builds the wheel by way of the source distribution, installs it into a fresh environment and runs it from elsewhere.

So a package that is missing from pyproject's list, a module that only works from the checkout and a broken console
script are found. Needs the package `build`; writes nothing into the repository.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

from repository import ROOT, data_files, installed_files, packages_in_tree, packages_listed, skeleton_files


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that must succeed, away from whatever the caller's environment adds to Python's path."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    env["PIP_COMPILE"] = "0"  # Python compiles what is imported: pip would compile all of numpy and of setuptools
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def compare_packages() -> None:
    """The packages of pyproject are those of the tree."""
    listed, present = set(packages_listed()), packages_in_tree()
    if listed != present:
        sys.exit(f"pyproject's packages: missing {sorted(present - listed)}, too many {sorted(listed - present)}")


def compare_files(wheel: Path) -> None:
    """The wheel holds each module, each file of data and each of the skeleton of the tree, and no other."""
    inside = {n for n in zipfile.ZipFile(wheel).namelist() if n.startswith("tirax/") and not n.endswith("/py.typed")}
    files = (*installed_files(), *data_files(), *skeleton_files())
    expected = {f"tirax/{f.relative_to(ROOT).as_posix()}" for f in files}
    if inside != expected:
        sys.exit(f"the wheel: missing {sorted(expected - inside)}, too many {sorted(inside - expected)}")


def build_wheel(folder: Path) -> Path:
    """The wheel of the repository, in `folder`."""
    run(sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT, cwd=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def main() -> None:
    """All steps in a temporary folder."""
    compare_packages()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        compare_files(wheel)
        venv.create(folder / "venv", with_pip=False)  # this Python's pip fills it, which need not come with ensurepip
        scripts = folder / "venv" / "bin"
        run(sys.executable, "-m", "pip", "--python", scripts / "python", "install", "-q", wheel, cwd=folder)
        (folder / "elsewhere").mkdir()
        for command in (("tirax-opt", "--version"), ("tirax-opt", "--list-passes"), ("tirax", "--help")):
            print(run(scripts / command[0], *command[1:], cwd=folder / "elsewhere").splitlines()[0])
        print(run(scripts / "python", "-I", Path(__file__).with_name("smoke.py"), cwd=folder / "elsewhere"))
    print(f"{wheel.name}: good")


if __name__ == "__main__":
    main()
