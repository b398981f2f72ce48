"""`plan-memory` by its meaning: no two tensors that live at the same time overlap, and little memory is used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strength import drawn
from xdsl.parser import Parser

from tirax.dialects import host, relax
from tirax.driver.build import build
from tirax.ir.passes.transform import new_context
from tirax.lowering.memory.plan import PlanMemory, measure, tensor_bytes

KERNEL = """
tir.func private @add(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>, %C: !tir.buffer<[n], f32>)
    attributes {tir.noalias = true} {
  tir.for %i = 0 for n {
    %a = tir.load %A[%i] : f32
    %b = tir.load %B[%i] : f32
    %c = tir.add %a, %b : f32
    tir.store %c, %C[%i]
  }
}
"""


def parse(text):
    context = new_context()
    context.load_dialect(host.Host)
    return Parser(context, text).parse_module()


def planned(text):
    """The function, planned."""
    module = PlanMemory()(parse(text))
    return next(op for op in module.ops if isinstance(op, relax.FuncOp))


def overlaps(function, n):
    """Pairs of tensors that overlap in the arena while both live, and the arena's size, for a value of n."""
    ops = list(function.body.block.ops)
    live = {}
    for i, op in enumerate(ops):
        if isinstance(op, host.TensorOp) and op.offset is not None:
            last = max([ops.index(u.operation) for u in op.result.uses] or [i])
            start = op.offset.data.evaluate({"n": n})
            assert start % 64 == 0
            live[op] = (i, last, start, start + tensor_bytes(op.tensor_type).evaluate({"n": n}))
    arena = next((op.size.data.evaluate({"n": n}) for op in ops if isinstance(op, host.ArenaOp)), 0)
    assert all(end <= arena for *_, end in live.values())
    items = list(live.items())
    return [
        (a.result.name_hint, b.result.name_hint)
        for i, (a, (from_a, to_a, start_a, end_a)) in enumerate(items)
        for b, (from_b, to_b, start_b, end_b) in items[i + 1 :]
        if from_b <= to_a and from_a <= to_b and start_a < end_b and start_b < end_a
    ], arena


SIZES = ("n", "n * 2", "n * 3 + 1", "7", "100", "n * n")


@st.composite
def programs(draw):
    """Chains of tensors of several sizes, each made from earlier ones."""
    count = draw(st.integers(1, 12))
    lines, names = [], ["x"]
    for i in range(count):
        size = draw(st.sampled_from(SIZES))
        used = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))
        lines.append(f"%t{i} = host.tensor : !relax.tensor<[{size}], f32>")
        lines.append(f"host.kernel @k({', '.join('%' + u for u in used)}, %t{i})")
        names.append(f"t{i}")
    body = "\n".join(lines)
    t = "!relax.tensor<[n], f32>"
    return f"relax.func @main(%x: {t}) -> {t} {{ {body} relax.return %x : {t} }}"


@drawn(60)
@given(programs(), st.sampled_from([0, 1, 5, 64]))
def test_tensors_that_live_together_do_not_overlap(text, n):
    actual, _ = overlaps(planned(text), n)
    assert actual == []


def chain(length, size="n"):
    """t0 = x + x, t1 = t0 + t0, …: two tensors live at a time."""
    t = f"!relax.tensor<[{size}], f32>"
    lines, before = [], "x"
    for i in range(length):
        lines.append(f"%t{i} = relax.call_tir @add(%{before}, %{before}) : {t}")
        before = f"t{i}"
    body = "\n".join(lines)
    return f"{KERNEL} relax.func @main(%x: {t}) -> {t} {{ {body} relax.return %{before} : {t} }}"


@pytest.mark.parametrize("length", [1, 2, 3, 10, 50])
def test_a_chain_needs_two_storages(length):
    from tirax.lowering.host.calls import LowerRelaxCalls

    function = planned(str(LowerRelaxCalls()(parse(chain(length)))))
    actual, arena = overlaps(function, 16)
    assert actual == [] and arena == 64 * min(length - 1, 2)


@pytest.mark.parametrize("n", [0, 1, 5, 64, 5000])
def test_a_long_chain_computes_what_it_should(n):
    ex = build(parse(chain(12)), pipeline="lower-cpu-unscheduled")
    x = np.arange(n, dtype=np.float32)
    np.testing.assert_array_equal(ex["main"](x), x * 2**12)


def test_free_parts_are_split_joined_and_chosen_by_size():
    function = planned("""
    relax.func @main(%x: !relax.tensor<[8], f32>) -> !relax.tensor<[8], f32> {
      %a = host.tensor : !relax.tensor<[100], f32>
      %b = host.tensor : !relax.tensor<[20], f32>
      host.kernel @k(%a, %b)
      %c = host.tensor : !relax.tensor<[18], f32>
      %d = host.tensor : !relax.tensor<[120], f32>
      host.kernel @k(%c, %d)
      relax.return %x : !relax.tensor<[8], f32>
    }""")
    offsets = {op.result.name_hint: op.offset.data.constant for op in function.walk() if isinstance(op, host.TensorOp)}
    assert offsets == {"a": 0, "b": 448, "c": 0, "d": 128}
    assert overlaps(function, 0)[1] == 128 + 512


def test_planning_again_changes_nothing():
    module = PlanMemory()(parse(str(planned(chain(3).replace("relax.call_tir", "relax.call_tir"))) + KERNEL))
    assert str(PlanMemory()(module)) == str(module)


def test_measure():
    function = planned("""
    relax.func @f(%x: !relax.tensor<[n * 2, m], f32>, %y: !relax.tensor<[n + 1], f32>) -> !relax.object {
      relax.return %x : !relax.tensor<[n * 2, m], f32>
    }""")
    (unit, count), (full, one) = (measure(tensor_bytes(p.type)) for p in function.params)
    assert (str(unit), count) == ("n * m", 8)
    assert (str(full), one) == ("n * 4 + 4", 1)
