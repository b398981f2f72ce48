"""`ScheduleState.replace`: what is held stays as it was, all else changes in place."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.tvm_api import tir
from tirax.tvm_api.script import tir as T


@T.prim_func
def two_stages(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("first"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)
    for i in range(8):
        with T.block("second"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def stages(state):
    return state.mod["main"].body.block.body


def nothing_in(loop):
    return tir.For(loop.loop_var, 0, 8, tir.ForKind.SERIAL, tir.Evaluate(0))


def test_in_place():
    state = tir.ScheduleState(two_stages)
    before = hash(state.mod["main"])
    place = state.get_sref(stages(state)[0])
    new = nothing_in(place.stmt)
    state.replace(place, new)
    assert hash(state.mod["main"]) == before
    tvm.ir.assert_structural_equal(stages(state)[0], new)
    assert place.stmt == stages(state)[0]
    assert stages(state)[1].body.block.name_hint == "second"


def test_what_is_held_stays():
    state = tir.ScheduleState(two_stages)
    func, text = state.mod["main"], state.mod.script()
    first, second = (state.get_sref(s) for s in stages(state))
    block = state.get_sref(first.stmt.body.block)
    state.replace(first, nothing_in(first.stmt))
    assert state.mod["main"] != func
    assert tvm.IRModule({"main": func}).script() == text
    assert state.mod.script() != text
    assert block.stmt is None
    assert second.stmt == stages(state)[1]
    with pytest.raises(TiraxError, match="not one of this module"):
        state.replace(block, tir.Evaluate(0))


def test_a_held_module_stays():
    state = tir.ScheduleState(two_stages)
    module, text = state.mod, state.mod.script()
    place = state.get_sref(stages(state)[1])
    state.replace(place, tir.Evaluate(0))
    assert module.script() == text
    assert "second" not in state.mod.script()
    state.mod["main"].op.verify()


def test_a_loop_in_between_stays():
    state = tir.ScheduleState(two_stages)
    before, loop = hash(state.mod["main"]), stages(state)[0]
    text = loop.script()
    state.replace(state.get_sref(loop.body.block), tir.Block([], [], [], "other", tir.Evaluate(0)))
    assert hash(state.mod["main"]) == before
    assert loop.script() == text
    assert stages(state)[0].body.block.name_hint == "other"


def test_blocks_that_stand_for_others():
    state = tir.ScheduleState(two_stages)
    first, second = (state.get_sref(s.body.block) for s in stages(state))
    new = second.stmt
    state.replace(first, new, {first.stmt: new})
    assert first == state.get_sref(stages(state)[0].body.block)
    tvm.ir.assert_structural_equal(first.stmt, new)


def test_iterators_without_values():
    state = tir.ScheduleState(two_stages)
    root = state.get_sref(state.mod["main"].body.block)
    first = stages(state)[0].body.block
    with pytest.raises(TiraxError, match="neither iterators nor annotations"):
        state.replace(root, first)
    plain = tir.Block([], [], [], "plain", tir.Evaluate(0))
    state.replace(root, plain)
    tvm.ir.assert_structural_equal(state.mod["main"].body, tir.Evaluate(0))
