"""Random legal sequences of primitives keep the meaning of the workloads, and their traces give them again."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as hst
from strength import drawn, thinned

from tirax.dev.fuzz.sequences import Outcome, check, draw, run
from tirax.dev.fuzz.workloads import WORKLOADS
from tirax.handles.module import IRModule
from tirax.handles.tir.index_map import IndexMap
from tirax.schedule import ScheduleError, Trace
from tirax.tvm_api.script import from_source

MODULES: dict[str, IRModule] = {name: from_source(text) for name, text in WORKLOADS.items()}


@drawn(20, quick=6)
@given(hst.sampled_from(list(MODULES)), hst.randoms(use_true_random=False), hst.integers(1, 6))
def test_a_random_schedule_means_what_the_workload_means(name: str, rng: random.Random, count: int) -> None:
    outcome = Outcome.fresh(MODULES[name], rng)
    draw(outcome, rng, count, 4 * count)
    check(MODULES[name], outcome.sch)


@thinned("name", list(MODULES), 1)
def test_a_schedule_of_every_workload_is_compiled(name: str) -> None:
    rng = random.Random(f"{name}, compiled")
    outcome = Outcome.fresh(MODULES[name], rng)
    draw(outcome, rng, 4, 16)
    assert outcome.taken
    check(MODULES[name], outcome.sch, native=True)


def split(loop: tuple[str, int], *factors: int | None):
    arguments = {"loop": loop, "factors": list(factors), "preserve_unit_iters": True, "disable_predication": False}
    return "split", arguments


def fuse(block: str, *loops: int):
    return "fuse", {"loops": [(block, k) for k in loops], "preserve_unit_iters": True}


def moved(name: str, block: str, loop: tuple[str, int], index: int = -1):
    return name, {"block": block, "loop": loop, "preserve_unit_loops": False, "index": index}


def cached(name: str, block: str, index: int = 0, *consumers: str):
    kind = "read_buffer_index" if name == "cache_read" else "write_buffer_index"
    return name, {"block": block, kind: index, "storage_scope": "local", "consumer_blocks": list(consumers)}


def partitioned(block: str, loop: int, *factors: int | None):
    return "loop_partition", {"loop": (block, loop), "factors": list(factors), "preserve_unit_iters": True}


REGRESSIONS = {
    "a copy in the loop of its producer": (
        "matmul",
        [moved("compute_at", "matmul", ("relu", 1)), cached("cache_write", "matmul")],
    ),
    "a copy of what is written under a predicate": (
        "row_sum",
        [split(("mean", 0), 2, None, 2), fuse("mean", 1, 2), cached("cache_write", "mean")],
    ),
    "a copy of what a split with a remainder reads": (
        "masked",
        [split(("lower", 0), 4, 3), cached("cache_read", "lower"), moved("compute_at", "X_local", ("lower", 0), -2)],
    ),
    "a reduction written to a copy after its init was taken out": (
        "layernorm",
        [
            split(("square_sum", 0), 3, 2),
            cached("cache_write", "square_sum"),
            ("decompose_reduction", {"block": "square_sum", "loop": ("square_sum", 0)}),
        ],
    ),
    "a copy for a block that reads the copy already": (
        "chain",
        [
            ("compute_inline", {"block": "residual"}),
            cached("cache_read", "add"),
            cached("cache_write", "tanh", 0, "X_local"),
        ],
    ),
    "what is read through an index, computed where the index is not known": (
        "gather",
        [
            moved("reverse_compute_at", "gather", ("double", 1)),
            cached("cache_read", "gather"),
            moved("compute_at", "X_local", ("double", 1), 0),
        ],
    ),
    "an init under a predicate that names a loop which runs once": (
        "pooling",
        [
            split(("pool_max", 1), None, 2, 2),
            ("split", {**split(("pool_max", 1), 1, None)[1], "preserve_unit_iters": False}),
            ("decompose_reduction", {"block": "pool_max", "loop": ("pool_max", 0)}),
        ],
    ),
    "an init in a block of its own under a predicate that names a loop which runs once": (
        "conv2d",
        [split(("conv", 2), 1, 8), ("blockize", {"target": ("conv", 2), "preserve_unit_iters": False})],
    ),
    "a symbolic loop split and reordered": (
        "symbolic",
        [
            split(("bias", 0), 1, None),
            split(("matmul", 0), None, 1, 1),
            ("reorder", {"loops": [("matmul", k) for k in (0, 4, 2, 1, 3)]}),
        ],
    ),
    "a copy of what begins before the buffer": (
        "depthwise",
        [("blockize", {"target": ("pad", 2), "preserve_unit_iters": False}), cached("cache_read", "pad")],
    ),
    "what is read through an index under a condition only": (
        "pooling",
        [
            ("cache_index", {"block": "pool_max", "storage_scope": "local", "cse_thresh": 0}),
            (
                "transform_layout",
                {
                    "block": "pool_max",
                    "buffer": ["write", 0],
                    "index_map": IndexMap.from_func(lambda c, h, w: (c, h // 3, h % 3, w), index_dtype="int32"),
                    "pad_value": 0.0,
                    "assume_injective_transform": False,
                },
            ),
        ],
    ),
}
"""What was wrong once: workload and steps."""


@pytest.mark.parametrize("name", REGRESSIONS)
def test_what_was_wrong_once(name: str) -> None:
    workload, steps = REGRESSIONS[name]
    check(MODULES[workload], run(MODULES[workload], steps), native=True)


REDUCED_AROUND = {
    "cache_write": cached("cache_write", "sum_j0"),
    "decompose_reduction": ("decompose_reduction", {"block": "sum_j0", "loop": ("sum_j0", 0)}),
    "reindex": ("reindex", {"block": "sum_j0", "buffer": ["write", 0]}),
    "reindex_cache_write": (
        "reindex_cache_write",
        {
            "block": "sum_j0",
            "write_buffer_index": 0,
            "storage_scope": "local",
            "index_map": IndexMap.from_func(lambda k, i, l, j: (i, j), index_dtype="int32"),
        },
    ),
    "write_at": (
        "write_at",
        {"loop": ("sum_j0", 0), "block": "sum_j0", "write_buffer_index": 0, "storage_scope": "local"},
    ),
    "rfactor": ("rfactor", {"loop": ("sum_j0", 1), "factor_axis": 0}),
}
"""Steps that would begin a reduction anew in each run of its scope, which has the outer steps around it."""

REFUSED = {
    **{
        f"a reduction that goes on around its scope: {name}": (
            "middle_sum",
            [("reorder", {"loops": [("sum", k) for k in (0, 1, 3, 2)]}), partitioned("sum", 2, 2, None)],
            step,
            "outside of it",
        )
        for name, step in REDUCED_AROUND.items()
    },
    "a copy of more than a run of the scope writes": (
        "depthwise",
        [partitioned("relu", 2, 3, None)],
        ("reindex", {"block": "relu_w0", "buffer": ["write", 0]}),
        "do not run over all",
    ),
    "an init is not taken out of a loop that repeats the block": (
        "pooling",
        [moved("reverse_compute_at", "pool_max", ("scale", 2))],
        ("decompose_reduction", {"block": "pool_max", "loop": ("pool_max", 2)}),
        "several times",
    ),
    "a loop that repeats a reduction does not go inside of its steps": (
        "conv2d",
        [
            moved("reverse_compute_at", "conv", ("bias", 2)),
            moved("reverse_compute_at", "bias", ("conv", 8), -2),
        ],
        ("reorder", {"loops": [("conv", k) for k in (8, 4, 7, 1, 2, 6, 0, 3)]}),
        "a step of the reduction may come several times",
    ),
    "a block that uses loops around it otherwise than by its iterators stays there": (
        "batch_matmul",
        [
            cached("cache_read", "batch_matmul", 1),
            partitioned("B_local", 2, None, 1),
        ],
        moved("compute_at", "B_local_ax2_common", ("batch_matmul", 1), 0),
        "otherwise than by its iterators",
    ),
    "a producer does not move behind its consumer": (
        "chain",
        [],
        moved("reverse_compute_at", "add", ("residual", 1)),
        "stands before the loop",
    ),
    "factors that may be too small for a symbolic extent": ("symbolic", [], split(("bias", 0), 1, 12), "product"),
    "a consumer that does not read": ("conv1d", [], cached("cache_read", "pad", 0, "conv"), "does not read"),
    "a consumer before the producer": ("chain", [], cached("cache_read", "residual", 1, "add"), "does not read"),
    "an order in which the init would come too late": (
        "middle_sum",
        [fuse("sum", 0, 1), split(("sum", 0), None, 2, 8)],
        ("reorder", {"loops": [("sum", 2), ("sum", 1)]}),
        "init would come too late",
    ),
    "a padding is not inlined into what it pads": (
        "conv1d",
        [cached("cache_read", "pad")],
        ("reverse_compute_inline", {"block": "pad"}),
        "only where a condition holds",
    ),
    "a consumer that others read, too, is not inlined into its producer": (
        "chain",
        [],
        ("reverse_compute_inline", {"block": "tanh"}),
        "another block",
    ),
}
"""What would change the meaning: workload, steps before, the step, and what its error says."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_change_the_meaning_is_refused(name: str) -> None:
    from tirax.dev.fuzz.sequences import apply

    workload, before, step, message = REFUSED[name]
    sch = run(MODULES[workload], before)
    text = sch.mod.script()
    with pytest.raises(ScheduleError, match=message):
        apply(sch, step)
    assert sch.mod.script() == text
    again = Trace.from_json(sch.trace.as_json())
    assert len(again) == len(sch.trace)
