"""Caches of what is written only in part: behind a split that does not divide, in a partition, in a block of blocks."""

import pytest

from tirax.dev.fuzz.workloads import WORKLOADS
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule
from tirax.tvm_api.script import from_source


def uneven_symbolic(sch: Schedule) -> None:
    sch.split(sch.get_loops(sch.get_block("bias"))[0], [None, 12])
    sch.cache_write(sch.get_block("bias"), 0, "global")


def past_the_end(sch: Schedule) -> None:
    sch.split(sch.get_loops(sch.get_block("scale"))[2], [1, 5])
    sch.loop_partition(sch.get_loops(sch.get_block("scale"))[3], [None, 1])
    sch.cache_write(sch.get_block("scale_w_11"), 0, "global")


def of_a_block_of_blocks(sch: Schedule) -> None:
    sch.blockize(sch.get_loops(sch.get_block("exp"))[0])
    sch.blockize(sch.get_loops(sch.get_block("maxelem"))[1])
    sch.cache_read(sch.get_block("exp_o"), 1, "global")


@pytest.mark.parametrize(
    ("workload", "steps"),
    [("symbolic", uneven_symbolic), ("pooling", past_the_end), ("softmax", of_a_block_of_blocks)],
)
def test_meaning(workload, steps) -> None:
    module = from_source(WORKLOADS[workload]) if isinstance(WORKLOADS[workload], str) else WORKLOADS[workload]
    sch = Schedule(module, debug_mask="all")
    steps(sch)
    assert_same_meaning(module.op, sch.mod.op)
