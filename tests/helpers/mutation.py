"""Mutation testing: small faults put into a module, one by one, each of which some test has to find.

    make mutants                                             # the files of FILES: docs/mutation.md has what came out
    python tests/helpers/mutation.py ir/equality.py          # one of them
    python tests/helpers/mutation.py ir/equality.py 17 23    # these mutants, with what the first failing test says

A mutant costs a second: the tests are collected once, a fork of that process puts the changed code into the functions
that live there and runs the tests that came through the changed lines before, the quickest first, until one fails. What
is above functions (tables, constants) is not changed, but the lambdas of tables are. RUN lines of FileCheck tests are
tests like others. A file with many possible faults has `SAMPLE` of them drawn, always the same.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import preloaded
import pytest

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "mutants"
SAMPLE, SEED = 30, 0
LONGEST = 6.0
"""Seconds that the tests of one mutant take together without it; the longest ones above that are left out."""

_BINDINGS = ("tests/transforms/bindings/test_bindings.py", "tests/transforms/bindings/test_overwritten.py")
FILES: dict[str, tuple[str, ...]] = {
    "transforms/bindings/canonicalize_bindings.py": _BINDINGS,
    "transforms/bindings/eliminate_common_subexpr.py": _BINDINGS,
    "transforms/bindings/fold_constant.py": (
        *_BINDINGS,
        "tests/transforms/bindings/test_fold_constant.py",
        "tests/ir/passes/test_limits.py",
    ),
    "tvm_api/passes/bindings/topological_sort.py": ("tests/transforms/bindings",),
    "ir/rewriting/dead_bindings.py": _BINDINGS,
    "ir/equality.py": ("tests/ir/test_equality.py",),
    "ir/affine/iter_map.py": ("tests/ir/affine", "tests/tvm_api/handles/arith/test_analyzer.py"),
    "ir/buffers/regions.py": ("tests/ir/buffers", "tests/script/test_parser_tir.py"),
    "transforms/fusion/groups.py": (
        "tests/transforms/fusion/test_groups.py",
        "tests/transforms/fusion/test_tvm_groups.py",
        "tests/transforms/fusion/test_fuse_ops.py",
    ),
    "dialects/sym/int_set.py": ("tests/dialects/sym",),
}
"""What is changed, and where the tests are that are to find it."""


# ---- faults


@dataclass
class Fault:
    """`node` of the tree, which stands in `parent.field`, at `index` where that is a list, and what it becomes."""

    parent: ast.AST
    field: str
    index: int | None
    node: Any
    new: Any

    def apply(self) -> None:
        new = ast.copy_location(self.new, self.node)
        if self.index is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.index] = new
        ast.fix_missing_locations(new)

    def __str__(self) -> str:
        before, after = (" ".join(ast.unparse(n).split())[:90] for n in (self.node, self.new))
        return f"line {self.node.lineno}: {before}  ->  {after}"


_OTHER: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
}  # fmt: skip
_DROPPED = (ast.Expr, ast.AugAssign, ast.Raise, ast.Delete)


def _with(node: ast.AST, **fields: Any) -> Any:
    return type(node)(**{**{name: deepcopy(value) for name, value in ast.iter_fields(node)}, **fields})


def _negated(test: ast.expr) -> ast.expr:
    return deepcopy(test.operand) if isinstance(test, ast.UnaryOp) else ast.UnaryOp(ast.Not(), deepcopy(test))


def _compare(node: ast.Compare) -> Iterator[ast.AST]:
    for i, op in enumerate(node.ops):
        if type(op) in _OTHER:
            yield _with(node, ops=[*node.ops[:i], _OTHER[type(op)](), *node.ops[i + 1 :]])


def _operator(node: ast.BinOp | ast.BoolOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.BitOr):  # a union of types: without its last one
        yield deepcopy(node.left)  # type: ignore[union-attr]
    elif type(node.op) in _OTHER:
        yield _with(node, op=_OTHER[type(node.op)]())


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)


def _return(node: ast.Return) -> Iterator[ast.AST]:
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield ast.Return(ast.Constant(None))


def _comprehension(node: ast.comprehension) -> Iterator[ast.AST]:
    for i, test in enumerate(node.ifs):
        yield _with(node, ifs=[*node.ifs[:i], _negated(test), *node.ifs[i + 1 :]])


_FAULTS: dict[type, Callable[[Any], Iterator[ast.AST]]] = {
    ast.Compare: _compare,
    ast.BinOp: _operator,
    ast.BoolOp: _operator,
    ast.Constant: _constant,
    ast.Return: _return,
    ast.UnaryOp: lambda node: iter([deepcopy(node.operand)] if isinstance(node.op, ast.Not | ast.USub) else []),
    ast.If: lambda node: iter([_with(node, test=_negated(node.test))]),
    ast.IfExp: lambda node: iter([_with(node, test=_negated(node.test))]),
    ast.While: lambda node: iter([_with(node, test=_negated(node.test))]),
    ast.Continue: lambda node: iter([ast.Break()]),
    ast.Break: lambda node: iter([ast.Continue()]),
}


def _faults_of(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> Iterator[Fault]:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    stored = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    if stored or isinstance(node, _DROPPED) and not text:
        yield Fault(parent, field, index, node, ast.Pass())
    for new in _FAULTS.get(type(node), lambda _: iter(()))(node):
        yield Fault(parent, field, index, node, new)
    strict = isinstance(node, ast.keyword) and node.arg == "strict"  # as an assert: what cannot happen
    if not isinstance(node, ast.Assert | ast.Raise | ast.JoinedStr) and not text and not strict:
        yield from _below(node)


def _below(node: ast.AST) -> Iterator[Fault]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "args") and not isinstance(value, list):
            continue  # types and defaults
        for i, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST):
                yield from _faults_of(node, field, i if isinstance(value, list) else None, child)


def faults(tree: ast.AST) -> list[Fault]:
    """All single faults of the bodies of functions and lambdas, in order."""
    results: list[Fault] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            results += [f for i, child in enumerate(node.body) for f in _faults_of(node, "body", i, child)]
        elif isinstance(node, ast.Lambda):
            results += _faults_of(node, "body", None, node.body)
        else:
            results += faults(node)
    return results


def mutant(source: str, number: int) -> tuple[Fault, ast.AST]:
    """A fault of the source, by its number, and the tree that has it."""
    tree = ast.parse(source)
    fault = faults(tree)[number]
    text = deepcopy(fault)
    fault.apply()
    return text, tree


# ---- changed code in functions that live


def _codes(code: CodeType) -> dict[tuple[str, int, int], CodeType]:
    """The code of all functions in a module's: by name, line and their order there."""
    by_name: dict[tuple[str, int, int], CodeType] = {}
    seen: Counter[tuple[str, int]] = Counter()
    stack = [code]
    while stack:
        code = stack.pop()
        place = (code.co_qualname, code.co_firstlineno)
        by_name[*place, seen[place]] = code
        seen[place] += 1
        stack += [c for c in code.co_consts if isinstance(c, CodeType)]
    return by_name


class Living:
    """The functions of a module in this process."""

    def __init__(self, path: Path):
        self.path, self.source = path, path.read_text()
        gc.unfreeze()
        functions = [o for o in gc.get_objects() if isinstance(o, FunctionType)]
        self.functions = [f for f in functions if f.__code__.co_filename == str(path)]
        gc.freeze()

    def change(self, tree: ast.AST) -> None:
        """Let the functions do what those of the tree do."""
        old = _codes(compile(self.source, str(self.path), "exec"))
        new = _codes(compile(tree, str(self.path), "exec"))  # type: ignore[arg-type]
        place_of = {code: place for place, code in old.items()}
        for function in self.functions:
            place = place_of.get(function.__code__)
            if place in new:
                function.__code__ = new[place]


# ---- tests


class FileCheckTest(pytest.Item):
    """The RUN lines of a file, run by commands that fork from this process."""

    def runtest(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            server = _serve(Path(folder))
            try:
                for line in self._lines(folder):
                    self._run(line, folder)
            finally:
                os.kill(server, signal.SIGKILL)
                os.waitpid(server, 0)

    def _lines(self, folder: str) -> list[str]:
        text = self.path.read_text().replace("\\\n// RUN:", " ").replace("\\\n# RUN:", " ")
        lines = [line.partition("RUN:")[2] for line in text.splitlines() if line[:8].partition("RUN:")[1]]
        values = {"%python": sys.executable, "%root": str(ROOT), "%s": str(self.path), "%S": str(self.path.parent)}
        for name, value in {**values, "%t": f"{folder}/t"}.items():
            lines = [line.replace(name, value) for line in lines]
        return lines

    def _run(self, line: str, folder: str) -> None:
        env = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "NO_COLOR": "1", "COLUMNS": "120"}
        done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], env=env, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)


def _serve(folder: Path) -> int:
    """Commands of lit in the folder, and the process that runs them as this one would."""
    address = str(folder / "socket")
    mains = {name: import_module(module).main for name, module in preloaded.MAINS.items()}
    preloaded.write_clients(folder, address)
    (folder / "not").write_text('#!/bin/sh\n! "$@"\n')
    (folder / "not").chmod(0o755)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(16)
    server = os.fork()
    if server == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            preloaded.take_client(listener, mains)
    listener.close()
    return server


class Mutation:
    """The plugin: instead of running the tests once, it runs them for each mutant."""

    def __init__(self, name: str, chosen: list[int]):
        self.path, self.chosen = ROOT / name, chosen
        self.failed: list[str] = []
        self.results: dict[int, tuple[str, str]] = {}

    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        folders = [ROOT / f for f in FILES[self.path.relative_to(ROOT).as_posix()] if "filecheck" in f]
        files = [p for f in folders for p in ([f] if f.is_file() else sorted(f.glob("*.mlir")))]
        items += [FileCheckTest.from_parent(session, name=p.name, path=p) for p in files]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(f"{report.nodeid}\n{report.longreprtext}")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        living = Living(self.path)
        covered = self._covered(session.items)
        count = len(faults(ast.parse(living.source)))
        numbers = self.chosen or sorted(random.Random(SEED).sample(range(count), min(SAMPLE, count)))
        print(f"\n{self.path.relative_to(ROOT)}: {len(numbers)} of {count} mutants, {len(covered)} tests")
        for number in numbers:
            fault, tree = mutant(living.source, number)
            lines = set(range(fault.node.lineno, fault.node.end_lineno + 1))
            items = [item for item, (_, seen) in covered.items() if seen & lines]
            result = self._run_mutant(living, tree, items, covered)
            self.results[number] = (result, str(fault))
            if result != "killed" or self.chosen:
                print(f"{number:4} {result}: {fault}", flush=True)
        return True

    def _covered(self, items: list[pytest.Item]) -> dict[pytest.Item, tuple[float, set[int]]]:
        """The tests that pass and run code of the file, the quickest first: how long each takes, and which lines."""
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder) / "lines.json"
            pid = os.fork()
            if pid == 0:
                with record.open("w") as file:
                    json.dump([self._trace(item) for item in items], file)
                os._exit(0)
            os.waitpid(pid, 0)
            traced = [(seconds, set(lines)) for seconds, lines in json.loads(record.read_text())]
        by_name = {item: row for item, row in zip(items, traced, strict=True) if row[1]}
        return dict(sorted(by_name.items(), key=lambda pair: pair[1][0]))

    def _trace(self, item: pytest.Item) -> tuple[float, list[int]]:
        lines: set[int] = set()
        name = str(self.path)

        def local(frame: FrameType, event: str, arg: Any) -> Any:
            lines.add(frame.f_lineno)
            return local

        def trace(frame: FrameType, event: str, arg: Any) -> Any:
            return local(frame, event, arg) if frame.f_code.co_filename == name else None

        start, failures = time.monotonic(), len(self.failed)
        if isinstance(item, FileCheckTest):  # its commands are other processes: taken to come through all of the file
            lines |= set(range(1, 10_000))
            self._run_one(item)
        else:
            sys.settrace(trace)
            self._run_one(item)
            sys.settrace(None)
        if len(self.failed) > failures:
            print(f"fails without a fault: {self.failed[-1]}", file=sys.__stderr__)
            lines.clear()
        return time.monotonic() - start, sorted(lines)

    def _run_one(self, item: pytest.Item) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)

    def _run_mutant(self, living: Living, tree: ast.AST, items: list[pytest.Item], covered: Any) -> str:
        """`killed`, `survives` or `not covered`."""
        if not items:
            return "not covered"
        total, chosen = 0.0, []
        for item in items:
            total += covered[item][0]
            chosen += [item] if total <= LONGEST or not chosen else []
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            self._child(living, tree, chosen, limit=int(5 * min(total, LONGEST)) + 10)
        _, status = os.waitpid(pid, 0)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what it started
        return "survives" if status == 0 else "killed"

    def _child(self, living: Living, tree: ast.AST, items: list[pytest.Item], limit: int) -> None:
        if not self.chosen:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
        signal.setitimer(signal.ITIMER_PROF, limit)  # computing: on a busy machine a test waits for long
        signal.alarm(10 * limit)
        living.change(tree)
        for item in items:
            self._run_one(item)
            if self.failed:
                print(self.failed[0] if self.chosen else "", flush=True)
                os._exit(1)
        os._exit(0)


def run(name: str, chosen: list[int]) -> None:
    """Try the mutants of one file, and write what came out to build/mutants."""
    plugin = Mutation(name, chosen)
    tests = [str(ROOT / path) for path in FILES[name] if "filecheck" not in path]
    pytest.main(["-s", "-p", "no:cacheprovider", "-p", "no:terminal", *tests], plugins=[plugin])
    if not chosen:
        OUT.mkdir(parents=True, exist_ok=True)
        (OUT / f"{name.replace('/', '.')}.json").write_text(json.dumps(plugin.results, indent=1))


def main(names: list[str]) -> None:
    """Each file in a process of its own, then how many of its mutants were found."""
    for name in names:
        subprocess.run([sys.executable, __file__, "--in-this-process", name], check=False, cwd=ROOT)
    for name in names:
        record = OUT / f"{name.replace('/', '.')}.json"
        counts = Counter(result for result, _ in json.loads(record.read_text()).values())
        print(f"| `{name}` | {counts.total()} | {counts['killed']} | {100 * counts['killed'] // counts.total()} % |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--in-this-process"] or len(sys.argv) > 2:
        arguments = [a for a in sys.argv[1:] if a != "--in-this-process"]
        run(arguments[0], [int(a) for a in arguments[1:]])
    else:
        main(sys.argv[1:] or list(FILES))
