"""What the tree of the repository holds, and what pyproject.toml says of it."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

NOT_PACKAGES = {"tests", "examples", "benchmarks", "docs", "build", "dist"}
"""Folders of the root that hold Python files and are not installed."""

NOT_INSTALLED = "dev"
"""The room of tools for the development of tirax itself."""

SKELETON = ROOT / "tools" / "plugin_skeleton"
"""A package of its own, which is package data."""


def package_files() -> list[Path]:
    """All modules of the package `tirax`, in order."""
    tops = [p for p in ROOT.iterdir() if p.is_dir() and p.name[0] not in "._" and p.name not in NOT_PACKAGES]
    modules = [*ROOT.glob("*.py"), *(f for top in tops for f in top.rglob("*.py"))]
    return sorted(f for f in modules if not f.is_relative_to(SKELETON))


def installed_files() -> list[Path]:
    """The modules of the package that the wheel holds, in order."""
    return [f for f in package_files() if f.relative_to(ROOT).parts[0] != NOT_INSTALLED]


def skeleton_files() -> list[Path]:
    """The files of the package that `tirax new plugin` begins with."""
    return sorted(f for f in SKELETON.rglob("*") if f.is_file() and "__pycache__" not in f.parts)


DATA = (
    "runtime/native/*.ll",
    "runtime/library/*.[ch]",
    "driver/tracing/viewer.*",
    "extend.pyi",
    "schedule/*.pyi",
    "tvm_api/*/*.pyi",
)
"""Package data: the runtime's own code, that of libraries, what pages of a trace are made of, stubs for editors."""


def native_files() -> list[Path]:
    """The runtime's own code, LLVM text."""
    return sorted((ROOT / "runtime" / "native").glob("*.ll"))


def data_files() -> list[Path]:
    """The package data beside the skeleton."""
    return sorted(f for pattern in DATA for f in ROOT.glob(pattern) if f.suffix != ".py")


def packages_in_tree() -> set[str]:
    """Dotted names of all folders that hold installed modules of the package."""
    return {".".join(("tirax", *f.parent.relative_to(ROOT).parts)) for f in installed_files()}


def packages_listed() -> list[str]:
    """The explicit list of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["tool"]["setuptools"]["packages"]


def all_files() -> list[Path]:
    """All Python files that are written by hand: of the package, its skeleton, tests, examples, benchmarks."""
    others = (f for top in ("tests", "examples", "benchmarks") for f in (ROOT / top).rglob("*.py"))
    python = (f for f in skeleton_files() if f.suffix == ".py")
    return sorted(
        [*package_files(), *python, *(f for f in others if "golden" not in f.parts and "filecheck" not in f.parts)]
    )
