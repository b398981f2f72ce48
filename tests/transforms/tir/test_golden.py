"""Each pass by its text: programs of ours before and after, as TVM's pass of that name writes them."""

import re
from pathlib import Path

import pytest

from tirax.interpreter import assert_same_meaning
from tirax.transforms.tir.flatten_buffer import FlattenBuffer
from tirax.transforms.tir.lower_match_buffer import LowerMatchBuffer
from tirax.transforms.tir.plan_and_update_buffer_allocation_location import PlanAndUpdateBufferAllocationLocation
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import transform

PIPELINE = {
    "FlattenBuffer": FlattenBuffer,
    "LowerMatchBuffer": LowerMatchBuffer,
    "PlanAndUpdateBufferAllocationLocation": PlanAndUpdateBufferAllocationLocation,
}
"""The passes that are others under TVM's names: tests/tvm_api/passes/tir has those."""
GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))
HEAD = "from tvm.script import ir as I, tir as T\n"


def text(module):
    return "\n".join(line for line in module.script().split("\n") if not line.startswith("# from tvm")).strip()


def run(call):
    """The pass that a first line such as `# UnrollLoop()` or `# VectorizeLoop(False)` asks for."""
    name, argument = re.fullmatch(r"# (\w+)\((.*)\)", call).groups()
    values = {"": (), "False": (False,), "32": (32,)}
    return (PIPELINE.get(name) or getattr(transform, name))(*values[argument])


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_text_and_meaning(path):
    call, _, rest = path.read_text().partition("\n")
    before, after = rest.split("\n# ->\n")
    module = from_source(HEAD + before)
    changed = run(call)(module)
    assert text(changed) == after.strip()
    assert_same_meaning(module.op, changed.op)
    assert text(module) == before.strip()


def test_there_are_goldens():
    assert len(GOLDEN) > 20
