"""Who imports whom in the package: read off every import statement, also those inside of functions and conditions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

from repository import ROOT, package_files

Graph = Mapping[str, set[str]]


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))


def module_of(path: Path) -> str:
    """The dotted name of a file below the package: `ir.affine.values`, of an `__init__.py` that of its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    """The files of the package by their dotted names."""
    return {module_of(p): p for p in package_files()}


def imported(path: Path, tree: ast.AST, known: Iterable[str]) -> Iterator[str]:
    """The modules, of those `known`, that the relative imports anywhere in `tree` name."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
        for alias in node.names:
            inner = ".".join(p for p in (*base, alias.name) if p)
            outer = ".".join(p for p in base if p)
            yield from [inner] if inner in known else [outer] if outer in known else []


@cache
def import_graph() -> dict[str, set[str]]:
    """The modules that each module of the package imports, itself left out."""
    known = modules()
    return {name: set(imported(path, tree_of(path), known)) - {name} for name, path in known.items()}


def grouped(graph: Graph, group_of: Mapping[str, str]) -> dict[str, set[str]]:
    """The graph of groups of modules; modules of no group are left out."""
    groups: dict[str, set[str]] = {group: set() for group in group_of.values()}
    for name, others in graph.items():
        if name in group_of:
            groups[group_of[name]] |= {group_of[o] for o in others if o in group_of} - {group_of[name]}
    return groups


def circles(graph: Graph) -> list[list[str]]:
    """Ways from a node around to itself; of those that share a step only one."""
    left = {node: set(others) for node, others in graph.items()}
    results: list[list[str]] = []
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            around: list[str] = error.args[1]
            results.append(sorted(set(around)))
            for a, b in pairwise(around):
                left[b].discard(a)
        else:
            return results
