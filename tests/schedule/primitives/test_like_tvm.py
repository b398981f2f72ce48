"""The text after primitives is TVM's: what once differed (tests/golden/schedule/steps holds what TVM prints)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prologue import scheduled

from tirax.dev.fuzz.sequences import Step, apply
from tirax.dev.fuzz.workloads import WORKLOADS
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule

GOLDEN = Path(__file__).parents[2] / "golden" / "schedule" / "steps"
HEAD = "from tvm.script import ir as I, tir as T\n\n@I.ir_module\nclass Module:\n    @T.prim_func\n    def main("

TWO_READERS = (
    HEAD
    + """X: T.Buffer((16,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((16,), "float32")):
        A = T.alloc_buffer((16,))
        for i in range(16):
            with T.block("A"):
                vi = T.axis.spatial(16, i)
                A[vi] = X[vi]
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
        for i in range(16):
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = A[vi] + T.float32(1)
"""
)
ONE_LOOP = (
    HEAD
    + """X: T.Buffer((4, 8, 1), "float32"), B: T.Buffer((4, 8, 1), "float32")):
        A = T.alloc_buffer((4, 8, 1))
        for i, k in T.grid(4, 1):
            for j in range(8):
                with T.block("A"):
                    vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                    A[vi, vj, vk] = X[vi, vj, vk]
            for j in range(8):
                with T.block("B"):
                    vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                    B[vi, vj, vk] = A[vi, vj, vk]
"""
)
NESTED = (
    HEAD
    + """X: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        A = T.alloc_buffer((4, 8))
        for i in range(4):
            with T.block("outer"):
                vi = T.axis.spatial(4, i)
                for j in range(8):
                    with T.block("A"):
                        vj = T.axis.spatial(8, j)
                        A[vi, vj] = X[vi, vj]
                for j in range(8):
                    with T.block("B"):
                        vj = T.axis.spatial(8, j)
                        B[vi, vj] = A[vi, vj]
"""
)
UNITS = (
    HEAD
    + """A: T.Buffer((1, 4, 6, 1), "float32"), B: T.Buffer((1, 4, 6, 1), "float32")):
        for i, j, k, l in T.grid(1, 4, 6, 1):
            with T.block("B"):
                vi, vj, vk, vl = T.axis.remap("SSSS", [i, j, k, l])
                B[vi, vj, vk, vl] = A[vi, vj, vk, vl]
"""
)
CUBE = (
    HEAD
    + """A: T.Buffer((16, 4, 12), "float32"), B: T.Buffer((16, 4, 12), "float32")):
        for i, j, k in T.grid(16, 4, 12):
            with T.block("b"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vi, vj, vk]
"""
)
SOURCES = {
    "cube": CUBE,
    **WORKLOADS,
    "two_readers": TWO_READERS,
    "one_loop": ONE_LOOP,
    "nested": NESTED,
    "units": UNITS,
}


def split(block: str, loop: int, *factors: int | None, units: bool = True) -> Step:
    arguments = {"loop": (block, loop), "factors": list(factors), "preserve_unit_iters": units}
    return "split", {**arguments, "disable_predication": False}


def fuse(block: str, *loops: int, units: bool = True) -> Step:
    return "fuse", {"loops": [(block, k) for k in loops], "preserve_unit_iters": units}


def at(block: str, consumer: str, loop: int, *, units: bool = False, index: int = -1) -> Step:
    arguments: dict[str, Any] = {"block": block, "loop": (consumer, loop), "preserve_unit_loops": units, "index": index}
    return "compute_at", arguments


def reverse_at(block: str, producer: str, loop: int, *, units: bool = False, index: int = -1) -> Step:
    return "reverse_compute_at", at(block, producer, loop, units=units, index=index)[1]


def read(block: str, index: int = 0, *consumers: str) -> Step:
    scope = {"storage_scope": "local", "consumer_blocks": list(consumers)}
    return "cache_read", {"block": block, "read_buffer_index": index, **scope}


def write(block: str, *consumers: str) -> Step:
    scope = {"storage_scope": "local", "consumer_blocks": list(consumers)}
    return "cache_write", {"block": block, "write_buffer_index": 0, **scope}


CASES: dict[str, tuple[str, list[Step]]] = {
    "fuse_three_of_which_none_is_unit": (
        "conv2d",
        [
            ("decompose_reduction", {"block": "conv", "loop": ("conv", 1)}),
            fuse("conv_update", 2, 3, 4, units=False),
        ],
    ),
    "fuse_one_unit_loop": ("units", [fuse("B", 3)]),
    "fuse_one_unit_loop_of_a_sum": ("row_sum", [reverse_at("mean", "sum", 1, units=True), fuse("mean", 2)]),
    "fuse_unit_loops": ("units", [fuse("B", 0, 1), fuse("B", 1, 2)]),
    "fuse_what_was_split": ("symbolic", [split("bias", 1, 2, None, 2), fuse("bias", 1, 2, 3)]),
    "split_fused_loops": ("cube", [fuse("b", 0, 1, 2), split("b", 0, None, 64)]),
    "split_fused_loops_twice": ("cube", [fuse("b", 0, 1, 2), split("b", 0, None, 64), split("b", 0, None, 3)]),
    "split_fused_loops_into_units": ("cube", [fuse("b", 0, 1, 2), split("b", 0, 4, None), split("b", 0, 4, None)]),
    "split_fused_loops_with_a_remainder": (
        "cube",
        [fuse("b", 0, 1, 2), split("b", 0, None, 16), split("b", 1, None, 3), fuse("b", 1, 2)],
    ),
    "fuse_a_remainder": ("cube", [fuse("b", 0, 1, 2), split("b", 0, None, 5), fuse("b", 0, 1)]),
    "split_to_unit_kept": ("layernorm", [split("square_sum", 0, 1, None)]),
    "split_to_unit_dropped": ("layernorm", [split("square_sum", 0, 1, None, units=False)]),
    "split_units_in_order": ("gather", [split("double", 0, None, 2, 1), split("double", 2, 1, None)]),
    "split_under_a_predicate": (
        "batch_matmul",
        [split("batch_matmul", 1, 2, None, 2), split("batch_matmul", 1, 1, 3)],
    ),
    "split_twice_with_remainders": ("masked", [split("rowsum", 0, 8, None), split("rowsum", 0, 3, None)]),
    "cache_read_of_all_readers": ("two_readers", [read("B")]),
    "cache_read_for_another_reader": ("two_readers", [read("B", 0, "C")]),
    "cache_read_for_the_first_reader": ("two_readers", [read("C", 0, "B")]),
    "cache_read_for_one_of_several": ("masked", [read("copy", 0, "rowsum")]),
    "cache_write_before_all_readers": ("two_readers", [write("A")]),
    "cache_write_with_a_reader_of_the_copy": ("two_readers", [write("A", "B")]),
    "cache_write_at_the_end": ("two_readers", [write("B")]),
    "cache_read_in_the_loop": ("one_loop", [read("B")]),
    "cache_write_in_the_loop": ("one_loop", [write("A")]),
    "cache_read_in_a_block": ("nested", [read("B")]),
    "cache_read_of_what_a_block_reads": ("nested", [read("A")]),
    "cache_write_in_a_block": ("nested", [write("A")]),
    "cache_write_of_what_a_block_writes": ("nested", [write("B")]),
    "cache_write_under_a_predicate": ("masked", [write("copy")]),
    "set_scope_renames": (
        "softmax",
        [("set_scope", {"block": "maxelem", "buffer_index": 0, "storage_scope": "local"})],
    ),
    "annotate_with_a_dictionary": (
        "symbolic",
        [("annotate", {"block_or_loop": "matmul", "ann_key": "note", "ann_val": {"a": [1, "b"]}})],
    ),
    "compute_at_a_remainder": ("matmul", [fuse("relu", 0, 1), split("relu", 0, None, 5), at("matmul", "relu", 0)]),
    "reorder_a_part_of_fused_loops": (
        "matmul",
        [
            fuse("matmul", 0, 1),
            split("matmul", 0, None, 7),
            ("reorder", {"loops": [("matmul", 2), ("matmul", 1)]}),
        ],
    ),
    "rfactor_beside_other_buffers": (
        "matmul",
        [split("matmul", 2, 4, 4), ("rfactor", {"loop": ("matmul", 2), "factor_axis": 0})],
    ),
    "compute_at_one_element_of_a_division": ("chain", [at("residual", "flatten", 0)]),
    "compute_at_below_a_unit_loop": ("softmax", [split("norm", 0, 8, None), at("expsum", "norm", 2, units=True)]),
    "compute_at_below_a_kept_unit_loop": (
        "gather",
        [at("gather", "double", 0, units=True), read("gather", 1, "gather"), at("K_local", "gather", 1, units=True)],
    ),
    "reverse_compute_at_a_fused_index": ("chain", [reverse_at("flatten", "residual", 0)]),
    "reverse_compute_at_one_element": ("chain", [reverse_at("flatten", "residual", 1)]),
    "reverse_compute_at_one_element_with_its_loop": ("chain", [reverse_at("flatten", "residual", 1, units=True)]),
    "reverse_compute_at_all_of_a_reshape": ("transposes", [reverse_at("reshape", "transpose", 0)]),
    "reverse_compute_at_a_row_of_a_reshape": ("transposes", [reverse_at("reshape", "transpose", 1)]),
    "reverse_compute_at_a_symbolic_loop": ("symbolic", [reverse_at("bias", "matmul", 0)]),
    "reverse_compute_at_a_reduction": ("pooling", [reverse_at("scale", "pool_max", 4, units=True)]),
    "reverse_compute_at_without_a_producer": (
        "conv2d",
        [read("bias", 1), reverse_at("B_local", "bias", 0, units=True, index=0)],
    ),
    "reverse_compute_at_of_what_was_fused": (
        "symbolic",
        [split("bias", 1, None, 4), fuse("bias", 0, 1, 2), reverse_at("bias", "matmul", 0)],
    ),
    "compute_inline_under_a_predicate": (
        "gather",
        [split("gather", 0, 2, None, 2), ("compute_inline", {"block": "gather"})],
    ),
}
"""Source and steps."""


def body(text: str) -> str:
    """A program from the body of its function on."""
    lines = [line for line in text.split("\n") if line.strip()]
    first = next(k for k, line in enumerate(lines) if line.strip().startswith("# with T.block"))
    return "\n".join(lines[first:]) + "\n"


def outcome(name: str) -> tuple[Any, Schedule]:
    source, steps = CASES[name]
    return scheduled(SOURCES[source], lambda sch: [apply(sch, step) for step in steps])


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_that_of_tvm(name: str) -> None:
    module, sch = outcome(name)
    assert body(sch.mod.script()) == (GOLDEN / f"{name}.txt").read_text()
    assert_same_meaning(module.op, sch.mod.op)


def test_every_text_belongs_to_a_case() -> None:
    assert sorted(p.stem for p in GOLDEN.iterdir()) == sorted(CASES)


@pytest.mark.parametrize("name", ["cache_write_in_a_block", "reverse_compute_at_a_row_of_a_reshape"])
def test_what_comes_out_is_compiled(name: str) -> None:
    build(outcome(name)[1].mod.op)
