"""The numbers of the default schedule are in one table, each of them with its unit and where it comes from."""

from __future__ import annotations

import ast
from pathlib import Path

import tirax.schedule.cpu.policy.limits as limits

TABLE = Path(limits.__file__)
ENCODINGS = {
    "SIGN": "a sign bit in each byte",
    "_NIBBLES": "a mask of bits",
    "_PAIRS": "a mask of bits",
    "_SECOND_LEVEL": "an argument of llvm.prefetch",
    "_DATA": "an argument of llvm.prefetch",
    "_SUMS": "a register number",
    "_A": "a register number",
    "_B": "a register number",
    "_LEAF": "the size of an expression without operations",
}
"""Numbers that encode something: no other value would do."""
ALLOWED = {"frozenset", "int", "Streams", *(name for name in vars(limits) if name.isupper())}


def numbers(file: Path) -> dict[str, int]:
    """The module constants that are numbers, or collections of some: name -> line of the file."""
    by_name: dict[str, int] = {}
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign):
            targets, value = [ast.unparse(target) for target in node.targets], node.value
            if isinstance(node.targets[0], ast.Tuple):
                targets = [ast.unparse(target) for target in node.targets[0].elts]
            by_name |= dict.fromkeys(targets, node.lineno) if is_number(value) else {}
    return by_name


def is_number(value: ast.expr) -> bool:
    """Whether an expression is made of numbers alone."""
    nodes = [node for node in ast.walk(value) if isinstance(node, ast.Constant | ast.Name)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return names <= ALLOWED and bool(constants) and all(c is None or type(c) is int for c in constants)


def test_no_other_file_has_numbers():
    files = [file for file in TABLE.parents[1].rglob("*.py") if file != TABLE]
    by_name = {name: f"{file}:{line}" for file in files for name, line in numbers(file).items()}
    assert len(files) > 40 and {name: at for name, at in by_name.items() if name not in ENCODINGS} == {}
    assert by_name.keys() == ENCODINGS.keys()


def test_each_number_has_its_unit_and_source():
    body = ast.parse(TABLE.read_text()).body
    for node, following in zip(body, body[1:], strict=False):
        if isinstance(node, ast.Assign):
            assert isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant), ast.unparse(node)
    assert len(numbers(TABLE)) > 60


def test_each_number_is_used():
    text = "".join(file.read_text() for file in TABLE.parents[1].rglob("*.py") if file != TABLE) + TABLE.read_text()
    assert [name for name in numbers(TABLE) if text.count(name) < 2] == []
