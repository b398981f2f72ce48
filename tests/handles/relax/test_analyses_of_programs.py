"""Analyses, mutators and rewrites on random programs: a fixed number of them, the same in each run."""

import pytest
from hypothesis import given
from random_programs import Program, programs
from strength import drawn

from tirax.dev.fuzz import checks
from tirax.dialects import relax
from tirax.driver.pipelines import make_passes
from tirax.frontend.mutator import PyExprMutator
from tirax.handles.module import IRModule
from tirax.handles.relax import analysis
from tirax.handles.relax import names as rx
from tirax.handles.relax.binding_rewrite import DataflowBlockRewrite
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.handles.relax_utils import load_json, save_json

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def relax_functions(mod):
    return [f for f in mod.functions.values() if isinstance(f, rx.Function)]


@drawn(25)
@given(programs())
def test_programs_are_well_formed_before_and_after_passes(program: Program):
    module = program.module
    assert analysis.well_formed_problems(IRModule(module)) == []
    for p in make_passes(checks.OPTIMIZE):
        module = p(module)
        assert analysis.well_formed_problems(IRModule(module)) == [], p.name


@drawn(25)
@given(programs())
def test_a_value_that_is_taken_away_is_noticed(program: Program):
    """The first binding that something uses is detached: what used it is ill-formed, and only that."""
    mod = IRModule(program.module.clone())
    used = [
        op
        for func in relax_functions(mod)
        for op in func.op.walk()
        if isinstance(op, relax.Operator) and op.results[0].first_use is not None
    ]
    if not used:
        return
    users = [use.operation for use in used[0].results[0].uses]
    used[0].detach()
    problems = analysis.well_formed_problems(mod)
    assert [p.rule for p in problems] == ["nested-call"] * len(users)


@drawn(25)
@given(programs())
def test_analyses_agree(program: Program):
    for func in relax_functions(IRModule(program.module)):
        bound = analysis.bound_vars(func)
        assert analysis.free_vars(func) == [] and analysis.free_symbolic_vars(func) == []
        assert set(analysis.used_vars(func)) <= set(bound) == set(analysis.all_vars(func))
        var2val = analysis.get_var2val(func)
        assert set(var2val) <= set(bound)
        by_name = analysis.name_to_binding(func)
        assert sum(map(len, by_name.values())) == len(var2val)
        chain = analysis.udchain(func)
        for var, users in chain.items():
            assert all(var in analysis.used_vars(var2val[user]) for user in users)
        assert not analysis.contains_impure_call(func)
    assert analysis.detect_recursion(IRModule(program.module)) == []


@drawn(25)
@given(programs())
def test_a_mutator_that_changes_nothing(program: Program):
    mod = IRModule(program.module)
    rewriter = PyExprMutator(mod)
    for gv, func in mod.functions_items():
        if isinstance(func, rx.Function):
            rewriter.builder_.update_func(gv, rewriter.visit_expr(func))
    new = rewriter.builder_.get()
    assert new.script() == mod.script() and analysis.well_formed(new)


@drawn(15)
@given(programs())
def test_unused_bindings_do_not_matter(program: Program):
    mod = IRModule(program.module)
    new = mod.clone()
    new["main"] = analysis.remove_all_unused(mod["main"])
    assert analysis.well_formed(new)
    assert_same_meaning(mod.op, new.op)


@drawn(15)
@given(programs())
def test_an_equal_value_in_the_place_of_another(program: Program):
    """Each call in a dataflow block is bound once more, and the new variable takes the place of the old one."""
    mod = IRModule(program.module)
    func = mod["main"]
    for block in func.body.blocks:
        if not isinstance(block, rx.DataflowBlock):
            continue
        rewrite = DataflowBlockRewrite(block, func)
        calls = [b for b in block.bindings if isinstance(b.value, rx.Call)]
        for i, binding in reversed(list(enumerate(calls))):
            rewrite.add(binding.value, f"same{i}", is_dfvar=True)
            bound = {b.var.name_hint: b.var for b in rewrite.mutated_dfb().bindings}
            rewrite.replace_all_uses(binding.var, bound[f"same{i}"])
        for binding in reversed(calls):
            rewrite.remove_unused(binding.var)
        new = rewrite.mutate_irmodule(mod)
        assert analysis.well_formed_problems(new) == []
        assert_same_meaning(mod.op, new.op)


@drawn(15)
@given(programs())
def test_outputs_are_visible_in_what_is_added(program: Program):
    mod = IRModule(program.module)
    func = mod["main"]
    for block in func.body.blocks:
        if isinstance(block, rx.DataflowBlock):
            rewrite = DataflowBlockRewrite(block, func)
            for binding in block.bindings:
                rewrite.add(binding.var)
            new = rewrite.mutate_irmodule(mod)
            assert analysis.well_formed_problems(new) == []
            assert_same_meaning(mod.op, new.op)


@drawn(15)
@given(programs())
def test_programs_as_json(program: Program):
    mod = IRModule(program.module)
    assert load_json(save_json(mod)).script(show_meta=True) == mod.script(show_meta=True)
