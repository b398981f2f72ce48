"""Rules of one's own on the functions of a module."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.schedule import Schedule
from tirax.target import TargetError
from tirax.tvm_api import dlight as dl
from tirax.tvm_api.script import from_source

MODULE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(A: T.Buffer((8,)), B: T.Buffer((8,))):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)

    @T.prim_func
    def done(A: T.Buffer((8,)), B: T.Buffer((8,))):
        T.func_attr({"tir.is_scheduled": 1})
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]

    @T.prim_func
    def copy(A: T.Buffer((8,)), B: T.Buffer((8,))):
        T.func_attr({"target": "llvm -mcpu=x86-64"})
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]

    @R.function
    def main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        y = R.call_tir(Module.double, (x,), R.Tensor((8,), "float32"))
        return y
"""


@pytest.fixture
def module():
    return from_source(MODULE.strip())


def rule_that_notes(seen):
    @dl.ScheduleRule.from_callable("Parallel")
    def parallel(func, target, tunable):
        """In parallel."""
        seen.append((func.name, str(target), tunable))
        schedule = tvm.tir.Schedule(func)
        schedule.parallel(schedule.get_loops("B")[0])
        return schedule

    return parallel


def test_a_rule_of_ones_own(module):
    seen = []
    rule = rule_that_notes(seen)
    assert (type(rule).__name__, rule.is_target_available(None)) == ("Parallel", True)
    assert isinstance(rule, dl.ScheduleRule)
    before = module.script()
    with tvm.target.Target("llvm"):
        after = dl.ApplyDefaultSchedule(rule)(module)
    assert sorted(seen) == [("copy", "llvm -mcpu=x86-64", False), ("double", "llvm", False)]
    assert module.script() == before
    assert after.script().count("T.parallel(8)") == 2
    assert [after[f].private for f in ("double", "copy")] == [True, False]
    assert [after[f].attrs.get("tir.is_scheduled") for f in ("double", "copy", "done")] == [1, 1, 1]
    assert after.get_global_vars() == module.get_global_vars()


def test_the_first_rule_that_knows_a_function_schedules_it(module):
    seen = []
    unknown = dl.ScheduleRule.from_callable("Unknown")(lambda func, target, tunable: None)
    with tvm.target.Target("llvm"):
        after = dl.ApplyDefaultSchedule(unknown, rule_that_notes(seen), rule_that_notes(seen))(module)
        assert len(seen) == 2
        assert dl.ApplyDefaultSchedule(unknown)(module).script() == module.script()
        assert dl.ApplyDefaultSchedule(rule_that_notes([]))(after).script() == after.script()


def test_a_class_is_a_rule(module):
    class One(dl.ScheduleRule):
        def apply(self, func, target, tunable):
            return [Schedule(func)]

    with tvm.target.Target("llvm"):
        after = dl.ApplyDefaultSchedule(One())(module)
    assert after["copy"].attrs["tir.is_scheduled"] == 1
    with pytest.raises(NotImplementedError):
        dl.ScheduleRule().apply(module["copy"], tvm.target.Target("llvm"), False)


@pytest.mark.parametrize("space", [[], 3, [3], "several"])
def test_a_rule_gives_one_schedule(module, space):
    spaces = {"several": [Schedule(module["copy"])] * 2}
    rule = dl.ScheduleRule.from_callable("Odd")(lambda func, target, tunable: spaces.get(str(space), space))
    with tvm.target.Target("llvm"), pytest.raises(TiraxError, match="the rule Odd gave no schedule"):
        dl.ApplyDefaultSchedule(rule)(module)


def test_what_is_no_rule_and_no_target(module):
    with pytest.raises(TiraxError, match=r"(?s)not all are rules.*found: type, int"):
        dl.ApplyDefaultSchedule(dl.cpu.GEMV, dl.cpu.GEMV(), 3)
    with pytest.raises(TargetError, match="no target was entered"):
        dl.ApplyDefaultSchedule(dl.cpu.GEMV())(module)


def test_rules_for_cpus_leave_other_targets_alone(module):
    rule = dl.cpu.GEMV()
    assert rule.is_target_available(tvm.target.Target("llvm -mcpu=x86-64"))
    assert not rule.is_target_available(tvm.target.Target("cuda"))
    assert rule.apply(module["copy"], tvm.target.Target("cuda"), False) is None


def test_what_is_for_gpus_says_so():
    with pytest.raises(AttributeError, match="tvm.dlight.gpu is not provided: code is generated for CPUs"):
        _ = dl.gpu
    with pytest.raises(UnsupportedError, match="get_max_threads_per_block is not provided"):
        dl.base.analysis.get_max_threads_per_block(tvm.target.Target("cuda"))
