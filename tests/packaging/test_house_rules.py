"""The rules of CONTRIBUTING.md that a machine can check and ruff does not."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from repository import ROOT, all_files, package_files

MAX_FILE, MAX_FUNCTION = 800, 70

RANKS = (
    ("diagnostics", "target"),
    ("dialects",),
    ("ir",),
    ("script", "interpreter"),
    ("handles",),
    ("te",),
    ("topi",),
    ("transforms", "schedule"),
    ("lowering",),
    ("frontend", "tuning"),
    ("tvm_api", "tools", "universe"),
)
"""Rooms from the lowest to the highest. A module imports from its own rank and from those below."""

RANK = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}

COMPILER = set(RANK) - {"diagnostics"}


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))


def room_of(path: Path) -> str:
    """The folder or the module of the root that a file of the package belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def rooms_imported(path: Path, nodes: Iterator[ast.AST]) -> set[str]:
    """Rooms of the package that the import statements among `nodes` name."""
    package = path.relative_to(ROOT).parent.parts
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + tuple((node.module or "").split("."))
            names = [p for p in base if p]
            found |= {names[0]} if names else {alias.name for alias in node.names}
    return found


def described(path: Path) -> str:
    """The path of a file as test reports show it."""
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", all_files(), ids=described)
def test_files_and_functions_are_short(path: Path):
    functions = [n for n in ast.walk(tree_of(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [f"{n.name}: {n.end_lineno - n.lineno + 1}" for n in functions if n.end_lineno - n.lineno >= MAX_FUNCTION]
    assert not long
    assert len(path.read_text().splitlines()) <= MAX_FILE


@pytest.mark.parametrize("path", package_files(), ids=described)
def test_imports_go_downwards(path: Path):
    rank = RANK.get(room_of(path), 0)
    upwards = {room for room in rooms_imported(path, iter(tree_of(path).body)) if RANK.get(room, 0) > rank}
    if room_of(path) != "__init__":
        assert not upwards


@pytest.mark.parametrize("path", [p for p in package_files() if room_of(p) == "runtime"], ids=described)
def test_the_runtime_knows_nothing_of_the_compiler(path: Path):
    """Not even in a function: what is built must run where only the runtime is loaded."""
    assert not rooms_imported(path, ast.walk(tree_of(path))) & COMPILER


@pytest.mark.parametrize("path", package_files(), ids=described)
def test_modules_of_the_package_import_each_other_relatively(path: Path):
    absolute = [
        n.lineno
        for n in ast.walk(tree_of(path))
        if (isinstance(n, ast.ImportFrom) and not n.level and (n.module or "").split(".")[0] == "tirax")
        or (isinstance(n, ast.Import) and any(a.name.split(".")[0] == "tirax" for a in n.names))
    ]
    assert not absolute


def test_the_import_check_sees_what_it_should():
    path = ROOT / "dialects" / "relax" / "ops.py"
    code = "from ...lowering import target\nfrom .. import names\nfrom ... import script\nfrom ..sym import expr\n"
    assert rooms_imported(path, iter(ast.parse(code).body)) == {"lowering", "dialects", "script"}
