"""`tvm.meta_schedule.testing.space_generation`: design spaces that are what is expected, and those that are not."""

import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api.meta_schedule.testing.space_generation import (
    check_sketches,
    generate_design_space,
    print_sketches,
)
from tirax.tvm_api.meta_schedule.testing.te_workload import create_te_workload
from tirax.tvm_api.script import tir as T
from tirax.tvm_api.target import Target

TARGET = Target("llvm -num-cores=4")


@T.prim_func
def double(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        with T.block("double"):
            v = T.axis.spatial(1024, i)
            B[v] = A[v] * T.float32(2)


@T.prim_func
def scheduled(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    with T.block("root"):
        T.reads()
        T.writes()
        T.block_attr({"meta_schedule.parallel": 64, "meta_schedule.vectorize": 64})
        for i in range(1024):
            with T.block("double"):
                v = T.axis.spatial(1024, i)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] * T.float32(2)


def space():
    return generate_design_space("llvm", double, TARGET, ms.schedule_rule.ParallelizeVectorizeUnroll)


def test_a_space_is_what_is_expected(capsys):
    check_sketches(double, space(), [scheduled], [[]])
    print_sketches(space())
    assert "# sketch 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("expected", "decisions", "message"),
    [
        ([double], [[]], "no sketch is"),
        ([scheduled], [[("SamplePerfectTile", [1])]], "it samples something else"),
        ([scheduled] * 2, [[]] * 2, "1 sketches, 2 expected modules"),
    ],
)
def test_a_space_is_not_what_is_expected(expected, decisions, message):
    with pytest.raises(AssertionError, match=message):
        check_sketches(double, space(), expected, decisions)


def test_types_or_rules():
    rules = [ms.schedule_rule.AutoInline(False, True, True, True, True, True, None)]
    assert len(generate_design_space("llvm", double, TARGET, None, rules)) == 1
    for types, inputs in ((None, None), (ms.ScheduleRule, rules)):
        with pytest.raises(ValueError, match="either the types of rules are given, or rules"):
            generate_design_space("llvm", double, TARGET, types, inputs)


def test_sketches_of_a_product_tile_it():
    sketches = generate_design_space("llvm", create_te_workload("GMM", 0), TARGET, ms.ScheduleRule)
    kinds = [[i.kind.name for i in s.trace.insts if i.kind.name.startswith("Sample")] for s in sketches]
    assert len(sketches) == 3 and all(k.count("SamplePerfectTile") == 4 for k in kinds)
    plain, *_ = (s for s, k in zip(sketches, kinds, strict=True) if "SampleComputeLocation" not in k)
    decisions = [("SamplePerfectTile", [1, 1, 1, 1]), ("SamplePerfectTile", [4, 4, 4, 2])]
    decisions += [("SamplePerfectTile", [2, 2, 8, 4]), ("SamplePerfectTile", [32, 4]), ("SampleCategorical", 2)]
    with pytest.raises(AssertionError, match="T.grid\\(1, 4, 2, 1, 4, 2\\)"):
        check_sketches(create_te_workload("GMM", 0), [plain], [double], [decisions])
    for sketch in sketches:
        tvm.tir.schedule.testing.verify_trace_roundtrip(sketch, create_te_workload("GMM", 0))
