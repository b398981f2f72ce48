"""docs/reference says what the code says, its examples are programs, and every public name has a docstring."""

from __future__ import annotations

import ast
import re
from types import ModuleType

import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax.dev import reference
from tirax.dev.reference.examples import FILES
from tirax.dev.reference.markdown import anchor
from tirax.dev.reference.operations import DIALECTS, operations_of
from tirax.dev.reference.syntax import syntax
from tirax.dialects.sched import SequenceOp
from tirax.ir.verification.verify import verify_module
from tirax.schedule.cpu.policy.default_schedule import DefaultSchedule
from tirax.schedule.registry import PRIMITIVES
from tirax.schedule.schedule import ApplySchedule
from tirax.script import parse_mlir
from tirax.script.parser.tir_foreign import DEVICE_NAMES
from tirax.tvm_api import tir
from tirax.tvm_api.script import tir as T
from tirax.universe import EXTENDED, TIRAX_UNIVERSE

pytestmark = pytest.mark.skipif(
    not reference.FOLDER.is_dir(), reason="the documents are in the repository, not in the installed package"
)

OPERATIONS = [
    op
    for name in DIALECTS
    for op in (operations_of(name) if name in EXTENDED else TIRAX_UNIVERSE.all_dialects[name]().operations)
    if not op.__module__.startswith("tirax.tvm_api.")  # which declares operators that only TVM's programs use
]


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_page_is_up_to_date(name):
    text = (reference.FOLDER / name).read_text(encoding="utf-8")
    assert text == reference.PAGES[name](), "run: python -m tirax.dev.reference"


def test_no_page_is_left_over():
    pages = {p.relative_to(reference.FOLDER).as_posix() for p in reference.FOLDER.rglob("*.md")}
    assert pages == set(reference.PAGES)


def test_every_public_name_has_a_docstring():
    lines = [line for line in (reference.FOLDER / "api.md").read_text().splitlines() if line.lstrip().startswith("- `")]
    assert len(lines) > 1000
    assert not [line for line in lines if line.endswith(": ")]


def test_headings_of_a_page_are_places_of_their_own():
    """So that links lead to the one that is meant."""
    for page in reference.FOLDER.rglob("*.md"):
        headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = [anchor(h) for h in headings]
        assert len(anchors) == len(set(anchors)), page


@pytest.mark.parametrize("path", sorted(FILES.glob("*.mlir")), ids=lambda p: p.name)
def test_examples_are_programs(path):
    module = parse_mlir(path.read_text(encoding="utf-8"), str(path))
    verify_module(module)
    text = str(module)
    assert str(parse_mlir(text)) == text


def test_every_operation_has_an_example_and_a_syntax():
    shown = {op.name for path in FILES.glob("*.mlir") for op in parse_mlir(path.read_text(encoding="utf-8")).walk()}
    assert len(OPERATIONS) >= 369
    assert not {op.name for op in OPERATIONS} - shown
    assert not [op.name for op in OPERATIONS if not syntax(op)]


def test_schedules_among_the_examples_can_be_applied():
    module = parse_mlir((FILES / "sched.mlir").read_text(encoding="utf-8"))
    functions = [op for op in module.ops if not isinstance(op, SequenceOp)]
    sequences = [op for op in module.ops if isinstance(op, SequenceOp)]
    for sequence in sequences:
        one = ModuleOp([op.clone() for op in (*functions, sequence)])
        before = str(one)
        (ApplySchedule() if sequence.function is None else DefaultSchedule()).apply(None, one)
        verify_module(one)
        assert str(one) != before and not any(isinstance(op, SequenceOp) for op in one.ops)


@pytest.mark.parametrize("path", reference.STUBS)
def test_what_editors_show_is_up_to_date(path):
    text = (reference.ROOT / path).read_text(encoding="utf-8")
    assert text == reference.STUBS[path](), "run: python -m tirax.dev.reference"


def names_of_stub(path, inside=None):
    """The names that a stub gives, or those of a class in it, each with its parameters where it has some."""
    body = ast.parse((reference.ROOT / path).read_text(encoding="utf-8")).body
    if inside is not None:
        (body,) = (node.body for node in body if isinstance(node, ast.ClassDef) and node.name == inside)
    names = {}
    for node in body:
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: None for alias in node.names}
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = ast.unparse(node.args)
        elif isinstance(node, ast.ClassDef):
            names[node.name] = None
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            names[target.id] = None
    return names


def test_stubs_take_no_name_away():
    operators = names_of_stub("tvm_api/relax/_operators.pyi")
    assert operators["add"] == "x1: Any, x2: Any"
    assert "axis: Any=-1" in names_of_stub("tvm_api/relax/_operators.pyi", "nn")["softmax"]
    scripts = names_of_stub("tvm_api/script/tir.pyi")
    assert not {*dir(T), *DEVICE_NAMES, "float32x4"} - set(scripts)
    assert "__getattr__" not in scripts  # a typo is an error of type checkers
    steps = names_of_stub("schedule/_steps.pyi", "Steps")
    assert not {n for n, p in PRIMITIVES.items() if p.function.__module__.startswith("tirax.")} - set(steps)
    names = {n for n in tir.__all__ if not isinstance(getattr(tir, n), ModuleType)}
    assert not names - set(names_of_stub("tvm_api/tir/_exported.pyi"))
