"""Rules of one's own in the default schedule: as pairs of functions, by primitives, as traces; and who wins."""

from dataclasses import replace

import numpy as np
import pytest

from tirax.diagnostics import NameLookupError, TiraxError
from tirax.driver.build import build
from tirax.driver.pipelines import LOWERING, OPTIMIZE, make_passes
from tirax.ir.passes.transform import Sequential, module_op
from tirax.schedule import Schedule
from tirax.schedule.cpu.kernels.register_tiles import emit_register_tiles, plan_register_tiles
from tirax.schedule.cpu.policy.primitive_rules import rule_of_function, rule_of_trace
from tirax.schedule.cpu.policy.rules import RULES, StageRule, added_rules, register_rule, rules, unregister_rule
from tirax.tuning.passes import MetaScheduleApplyDatabase
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R

RNG = np.random.default_rng(3)


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((33, 40), "float32"), w: R.Tensor((40, 50), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z


def after(*passes):
    """The optimized module after passes, as text."""
    return str(module_op(Sequential(make_passes([*OPTIMIZE, *passes]))(Module)))


def planned():
    text = after("plan-schedule")
    return [line.strip() for line in text[text.index("sched.sequence") :].splitlines() if "sched.rule" in line]


def check():
    """The program, built with the rules as they are, computes what it says."""
    x, w = (RNG.standard_normal(shape).astype("float32") for shape in ((33, 40), (40, 50)))
    expected = np.maximum(x.astype("float64") @ w, 0)
    np.testing.assert_allclose(build(Module)["main"](x, w), expected, rtol=1e-4, atol=1e-4)


def tiled(sch, block):
    loops = sch.get_loops(block)
    if len(loops) == 3:
        i, j, k = loops
        i_0, i_1 = sch.split(i, [None, 4])
        j_0, j_1 = sch.split(j, [None, 16])
        sch.reorder(i_0, j_0, k, i_1, j_1)
        sch.vectorize(j_1)
        sch.decompose_reduction(block, k)


def tiled_with_epilogue(sch, block):
    tiled(sch, block)
    for consumer in sch.get_consumers(block):
        sch.reverse_compute_at(consumer, sch.get_loops(block)[1])


def refused(sch, block):
    sch.split(sch.get_loops(block)[0], [None, 4])
    sch.parallel(sch.get_loops(block)[-1])


def small_tiles(finish, machine):
    plan = plan_register_tiles(finish, machine)
    return None if plan is None else replace(plan, rows=2, vectors=1)


def test_a_pair_of_functions():
    with added_rules(StageRule("small", small_tiles, emit_register_tiles), before="panels"):
        assert planned()[0].startswith('sched.rule "small" on "matmul" then "compute" {')
        assert "rows = 2" in planned()[0]
        assert "tir.for unrolled" in after("default-schedule")
        check()
    assert planned()[0].startswith('sched.rule "register_tiles"')


@pytest.mark.parametrize(
    ("function", "decided"),
    [
        (tiled, ['sched.rule "mine" on "matmul"', 'sched.rule "pointwise" on "compute"']),
        (tiled_with_epilogue, ['sched.rule "mine" on "matmul" then "compute"']),
    ],
)
def test_a_function_on_a_schedule(function, decided):
    with added_rules(rule_of_function("mine", function), before="register_tiles"):
        assert [rule.partition(" {")[0] for rule in planned()] == decided
        text = after("default-schedule")
        assert 'tir.block "matmul_update"' in text
        assert ('tir.block "compute"' in text) is (function is tiled_with_epilogue)
        check()


def test_a_step_that_is_refused_leaves_the_stage_to_the_next_rule():
    with added_rules(rule_of_function("mine", refused), before="register_tiles"):
        assert planned()[0].startswith('sched.rule "register_tiles" on "matmul" then "compute"')
        check()


def test_a_trace():
    lowered = Sequential(make_passes(OPTIMIZE))(Module)
    sch = Schedule(lowered)
    tiled(sch, sch.get_block("matmul", "fused_matmul_relu"))
    text = sch.trace.mlir()
    with added_rules(rule_of_trace("mine", text)):
        assert planned()[0] == 'sched.rule "mine" on "matmul"'
        check()
    for other in (text.replace('"matmul"', '"C"'), text.replace('"fused_matmul_relu"', '"f"')):
        with added_rules(rule_of_trace("mine", other)):
            assert planned()[0].startswith('sched.rule "register_tiles"')


def test_what_is_no_trace():
    with pytest.raises(TiraxError, match="not a trace"):
        rule_of_trace("mine", "sched.sequence @f {}")


def test_the_place_in_the_table():
    one, two, three = (
        StageRule(name, lambda finish, machine: None, emit_register_tiles) for name in ("one", "two", "three")
    )
    register_rule(one)
    try:
        with added_rules(two, three, before="register_tiles"):
            names = [rule.name for rule in rules()]
            own = [rule.name for rule in RULES]
            at = own.index("register_tiles")
            assert names == ["one", *own[:at], "two", "three", *own[at:]]
            with pytest.raises(TiraxError, match="a rule 'two' already"):
                register_rule(two)
        assert [rule.name for rule in rules()] == ["one", *own]
    finally:
        unregister_rule("one")
    assert rules() == RULES
    with pytest.raises(NameLookupError, match="did you mean 'register_tiles'"):
        register_rule(one, before="register_tile")
    with pytest.raises(NameLookupError, match="unknown rule 'one'"):
        unregister_rule("one")


def test_a_sequence_may_name_the_rule():
    with added_rules(StageRule("never first", plan_register_tiles, emit_register_tiles), before="pointwise"):
        text = after("plan-schedule").replace('"register_tiles" on', '"never first" on')
        assert "sched.sequence" not in run(text, "default-schedule")
    with pytest.raises(NameLookupError, match="unknown rule 'never first'"):
        run(text, "default-schedule")


def test_a_tuned_schedule_wins():
    """What a database has for a function is built by the default pipeline as it is, rules of one's own or not."""

    def tuned(sch):
        tiled(sch, sch.get_block("matmul", "main"))
        return True

    requests = []
    database, mine = (
        ms.Database.create(tuned),
        StageRule("mine", lambda finish, machine: requests.append(finish), emit_register_tiles),
    )
    with database:
        scheduled = MetaScheduleApplyDatabase(target="llvm")(Sequential(make_passes(OPTIMIZE))(Module))
    x, w = (RNG.standard_normal(shape).astype("float32") for shape in ((33, 40), (40, 50)))
    expected = np.maximum(x.astype("float64") @ w, 0)
    with database, added_rules(mine):
        within = build(Module, pipeline=[*OPTIMIZE, MetaScheduleApplyDatabase(target="llvm"), *LOWERING])
        text = run(str(scheduled.op), "plan-schedule", "default-schedule")
        for function in (within["main"], build(scheduled)["main"]):
            np.testing.assert_allclose(function(x, w), expected, rtol=1e-4, atol=1e-4)
    assert not requests and text == str(scheduled.op) and 'tir.block "matmul_update"' in text


def run(text, *passes):
    """A module's text after passes."""
    from xdsl.parser import Parser

    from tirax.dialects.sched import Sched
    from tirax.ir.passes.transform import new_context

    context = new_context()
    context.load_dialect(Sched)
    module = Parser(context, text, "<text>").parse_module()
    return str(Sequential(make_passes(passes))(module))


def test_results_of_a_rule_are_not_in_the_cache(tmp_path, monkeypatch):
    """Nor does a rule miss its turn because tirax's own rules were there before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TIRAX_CACHE", raising=False)
    requests = []

    def plan(finish, machine):
        requests.append(finish.stage.block.name_hint)
        return plan_register_tiles(finish, machine)

    build(Module)
    for _ in range(2):
        requests.clear()
        with added_rules(StageRule("asked", plan, emit_register_tiles)):
            build(Module)
        assert requests == ["matmul"]
    requests.clear()
    check()
    assert requests == []
