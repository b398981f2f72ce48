"""A test that needs PyTorch or the like is one of `make test-models`, or no command would run it."""

import re
from pathlib import Path

import packages
import pytest
from repository import ROOT

TESTS = ROOT / "tests"


def test_a_package_is_required_at_the_head_of_a_file_or_as_a_fixture():
    required = re.compile(rf'importorskip\(\s*"(?:{"|".join(packages.PACKAGES)})\b')
    for path in {*TESTS.rglob("test_*.py")} - {Path(__file__)}:
        text = path.read_text()
        assert len(required.findall(text)) == len(packages.file_requirements(text)), path


@pytest.mark.parametrize("name", sorted({*packages.PACKAGES} - {"tokenizers"}))  # transformers bring them
def test_make_test_models_installs_it(name):
    recipe = re.search(r"^\$\(VENV\)/models.stamp:.*\n\t(.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None and re.search(rf"\b{name}\b", recipe[1], re.IGNORECASE)


class Item:
    """A test as far as `packages` looks at it."""

    def __init__(self, path, *fixtures):
        self.path, self.fixturenames = path, fixtures


def test_those_that_need_one_are_taken(tmp_path):
    head = tmp_path / "test_head.py"
    head.write_text('import numpy\n\nruntime = pytest.importorskip("onnxruntime", reason="x")\n')
    other = tmp_path / "test_other.py"
    other.write_text('def test(torch):\n    pass\n\ndef test_more():\n    pytest.importorskip("onnx")\n')
    items = [Item(head), Item(other, "tmp_path", "torch"), Item(other, "tmp_path"), Item(head, "tmp_path")]
    assert packages.needing_one(items) == [items[0], items[1], items[3]]
    assert packages.names_one(head) and packages.names_one(other)
    other.write_text("import torchless\n")
    assert not packages.names_one(other)
