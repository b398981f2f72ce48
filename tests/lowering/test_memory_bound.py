"""The bytes that are alive at once, beside those that are planned."""

import pytest
from xdsl.parser import Parser

from tirax.dialects import host, relax
from tirax.ir.passes.transform import new_context
from tirax.lowering.memory.bound import MemoryUse, memory_use, memory_uses
from tirax.lowering.memory.plan import PlanMemory

FUNCTION = """
relax.func @f(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {{
{body}
  %r = host.tensor : !relax.tensor<[n], f32>
  host.kernel @k(%{last}, %r)
  relax.return %r : !relax.tensor<[n], f32>
}}
"""
CHAIN = """
  %a = host.tensor : !relax.tensor<[n], f32>
  host.kernel @k(%x, %a)
  %b = host.tensor : !relax.tensor<[n * 2], f32>
  host.kernel @k(%a, %b)
  %c = host.tensor : !relax.tensor<[n], f32>
  host.kernel @k(%b, %c)
"""
VIEWED = """
  %a = host.tensor : !relax.tensor<[n], f32>
  host.kernel @k(%x, %a)
  %v = host.view %a : !relax.tensor<[n, 1], f32>
  %b = host.tensor : !relax.tensor<[n], f32>
  host.kernel @k(%x, %b)
  %c = host.tensor : !relax.tensor<[n], f32>
  host.kernel @k(%v, %b, %c)
"""


def parse(body, last):
    context = new_context()
    context.load_dialect(host.Host)
    return Parser(context, FUNCTION.format(body=body, last=last)).parse_module()


def used(body, last, n):
    module = PlanMemory()(parse(body, last))
    (function,) = (op for op in module.ops if isinstance(op, relax.FuncOp))
    return memory_use(function, {"n": n})


@pytest.mark.parametrize("n, bound", [(16, 3 * 64), (1, 2 * 64), (0, 0)])
def test_of_a_chain_two_are_alive_at_once(n, bound):
    assert used(CHAIN, "c", n).bound == bound


def test_what_has_a_view_that_is_used_is_alive():
    assert used(VIEWED, "c", 16) == MemoryUse(planned=3 * 64, bound=3 * 64)
    assert used(VIEWED.replace("%v, ", ""), "c", 16).bound == 2 * 64


def test_a_function_without_an_arena():
    assert used("", "x", 4) == MemoryUse(0, 0)
    assert used("", "x", 4).ratio == 1


def test_a_size_without_a_value():
    with pytest.raises(KeyError):
        memory_uses(PlanMemory()(parse(CHAIN, "c")), {})


def test_by_name():
    actual = memory_uses(PlanMemory()(parse(CHAIN, "c")), {"n": 16})
    assert list(actual) == ["f"] and actual["f"].planned >= actual["f"].bound == 192
