"""How much inlining makes of long chains: expressions are neither deeper nor larger than what they compute."""

from __future__ import annotations

import pytest

from tirax.dev.fuzz.structures import STRUCTURES
from tirax.dialects import tir
from tirax.driver.pipelines import OPTIMIZE, make_passes
from tirax.ir.passes.transform import new_context
from tirax.schedule.cpu.analysis.stages import Stage
from tirax.tvm_api import script


def scheduled(name: str, size: int):
    """The module of a structure, after the default schedule."""
    return scheduled_source(STRUCTURES[name](size))


def scheduled_source(source: str):
    module, context = script.from_source(source).op, new_context()
    for p in make_passes([*OPTIMIZE, "default-schedule"], "llvm -num-cores=1"):
        p.apply(context, module)
    return module


def count(module, kind) -> int:
    return sum(isinstance(op, kind) for op in module.walk())


@pytest.mark.parametrize(("nests", "stored"), [(100, 0), (140, 1), (260, 2)])
def test_expressions_are_no_deeper_than_the_stack_allows(nests, stored):
    """Each nest adds one operation to the expression; 128 after each other are one loop."""
    module = scheduled("nests", nests)
    assert count(module, tir.AllocBufferOp) == stored
    assert nests <= count(module, tir.AddOp) <= nests + 2, "some are of indices"


@pytest.mark.parametrize(("name", "kind", "most"), [("squares", tir.AddOp, 24), ("where", tir.SelectOp, 64)])
def test_what_is_computed_twice_is_one_operation(name, kind, most):
    """x + x of x + x … is 2 ** 8 additions, written out; small expressions stay as they are written."""
    assert count(scheduled(name, 8), kind) <= most


HYPOTENUSE = """
            a = R.abs(x)
            b = R.abs(y)
            most = R.maximum(a, b)
            ratio = R.divide(R.minimum(a, b), most)
            root = R.sqrt(R.add(R.multiply(ratio, ratio), R.const(1.0, "float32")))
            out = R.where(R.isinf(a), a, R.multiply(most, root))
"""
SOFTMAX = """
            e = R.exp(R.add(x, y))
            out = R.divide(e, R.sum(e, axis=[1], keepdims=True))
"""


@pytest.mark.parametrize(("source", "stored"), [(HYPOTENUSE, 0), (SOFTMAX, 1)])
def test_what_one_stage_reads_often_from_one_place_is_not_stored(source, stored):
    """Once stages became one, what they share is computed once in it; a power that two nests read is not repeated."""
    module = scheduled_source(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((512, 768), "float32"), y: R.Tensor((512, 768), "float32")):
        with R.dataflow():
            {source.strip()}
            R.output(out)
        return out
""")
    assert count(module, tir.AllocBufferOp) == stored
    assert sum(op.func.data in ("exp", "sqrt") for op in module.walk() if isinstance(op, tir.CallIntrinOp)) == 1
    assert count(module, tir.DivOp) == 1


def test_each_stage_is_looked_at_as_often_in_long_functions(monkeypatch):
    """What follows a stage is not searched for what writes its inputs: 128 nests are four times 32."""
    looked_at = [0]
    buffer = Stage.buffer.fget

    def counted(stage: Stage):
        looked_at[0] += 1
        return buffer(stage)

    monkeypatch.setattr(Stage, "buffer", property(counted))
    counts = []
    for nests in (32, 128):
        looked_at[0] = 0
        scheduled("nests", nests)
        counts.append(looked_at[0])
    assert counts[1] <= 4.2 * counts[0]
