"""The rules of CONTRIBUTING.md that a machine can check and ruff does not."""

from __future__ import annotations

import ast

from imports import circles, grouped, import_graph, imported, modules, tree_of
from repository import ROOT, all_files, package_files

MAX_FILE, MAX_FUNCTION = 800, 70

RANKS = (
    ("moved", "extend", "diagnostics", "lazy", "locks", "tables", "untrusted", "hardware", "target", "universe"),
    ("dialects",),
    ("ir",),
    ("script", "interpreter"),
    ("handles", "proof"),
    ("te",),
    ("topi",),
    ("transforms", "schedule"),
    ("lowering",),
    ("driver",),
    ("frontend", "tuning"),
    ("llm",),
    ("api",),
    ("tvm_api", "tools"),
    ("dev",),
)
"""Rooms from the lowest to the highest. A module imports from its own rank and from those below, wherever in it.

`universe` is a table of text: it imports nothing, what it names is loaded when somebody asks for it.
"""

RANK = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}

COMPILER = set(RANK) - {"moved", "extend", "diagnostics", "lazy", "locks", "tables", "untrusted", "hardware"}


def room_of(module: str) -> str:
    """The folder or the module of the root that a module belongs to."""
    return module.split(".")[0]


def functions_of(tree):
    """The functions of a file, wherever they stand: what is no statement has none."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        inner = ast.iter_child_nodes(node)
        pending += [n for n in inner if isinstance(n, ast.stmt | ast.excepthandler | ast.match_case)]


def test_files_and_functions_are_short():
    long = []
    for path in all_files():
        name, text = path.relative_to(ROOT).as_posix(), path.read_text()
        lines = len(text.splitlines())
        if lines > MAX_FILE:
            long.append(name)
        if lines > MAX_FUNCTION:  # a shorter file has no longer function
            functions = functions_of(ast.parse(text))  # the trees of all files at once would fill memory
            long += [f"{name}: {n.name}" for n in functions if n.end_lineno - n.lineno >= MAX_FUNCTION]
    assert not long


def test_nested_functions_are_counted():
    places = ("try:\n {0}\nexcept E:\n {0}\nelse:\n {0}\nfinally:\n {0}", "match x:\n case 1:\n  {0}", "class A:\n {0}")
    for place in (*places, "if x:\n {0}\nelse:\n {0}", "async def g():\n with x:\n  {0}", "for i in x:\n {0}"):
        tree = ast.parse(place.format("def f(): pass"))
        walked = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        assert set(functions_of(tree)) == set(walked), place


def test_every_room_has_a_rank():
    assert {room_of(m) for m in modules()} == {"", "runtime", *RANK}


def test_imports_go_downwards():
    upwards = [
        f"{module} imports {other}"
        for module, others in import_graph().items()
        for other in others
        if RANK.get(room_of(other), 0) > RANK.get(room_of(module), 0) and module
    ]
    assert not upwards


def test_nothing_imports_the_surface_of_tvm():
    """Neither the compiler nor an importer; tools that read programs of TVM's users do."""
    assert not [
        f"{module} imports {other}"
        for module, others in import_graph().items()
        for other in others
        if room_of(other) == "tvm_api" and room_of(module) not in ("tvm_api", "tools", "dev")
    ]


def test_rooms_import_each_other_in_no_circle():
    assert not circles(grouped(import_graph(), {m: room_of(m) for m in modules() if m}))


def test_the_folders_of_a_room_import_each_other_in_no_circle():
    folders = {m: ".".join(m.split(".")[:2]) for m in modules() if m.count(".") >= 2}
    assert not circles(grouped(import_graph(), folders))


def test_modules_import_each_other_in_no_circle():
    assert not circles(import_graph())


def test_the_runtime_knows_nothing_of_the_compiler():
    """Not even in a function: what is built must run where only the runtime is loaded."""
    assert not [
        f"{module} imports {other}"
        for module, others in import_graph().items()
        for other in others
        if room_of(module) == "runtime" and room_of(other) in COMPILER
    ]


def test_modules_of_the_package_import_each_other_relatively():
    absolute = [
        f"{path.relative_to(ROOT).as_posix()}:{n.lineno}"
        for path in package_files()
        for n in ast.walk(tree_of(path))
        if (isinstance(n, ast.ImportFrom) and not n.level and (n.module or "").split(".")[0] == "tirax")
        or (isinstance(n, ast.Import) and any(a.name.split(".")[0] == "tirax" for a in n.names))
    ]
    assert not absolute


def test_the_import_check_sees_what_it_should():
    path = ROOT / "dialects" / "relax" / "structure.py"
    code = (
        "from ...driver import build\nfrom .. import names\ndef f():\n    from ..sym.expr import Var\n    import re\n"
    )
    assert list(imported(path, ast.parse(code), modules())) == ["driver.build", "dialects.names", "dialects.sym.expr"]


def test_the_circle_check_sees_what_it_should():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"d"}}
    assert circles(graph) == [["a", "b", "c"]]
    assert circles(grouped(graph, {"a": "x", "b": "x", "c": "y", "d": "y"})) == [["x", "y"]]
    assert circles({"a": {"b"}, "b": set()}) == []
