"""Proofs of steps: the passes of a build, the primitives of a schedule, what changed between two modules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps

import numpy as np
import pytest

import tirax
from tirax.diagnostics import UnsupportedError
from tirax.dialects import tir
from tirax.interpreter import MeaningError, assert_same_meaning
from tirax.ir.passes.transform import Pass, PassContext, module_op
from tirax.proof import Level, Proofs, Verdict, validate_step
from tirax.schedule import Schedule
from tirax.schedule.registry import PRIMITIVES, Primitive
from tirax.script import parse_source
from tirax.tvm_api import relax

GRAPH = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor((3,), "float32")):
        with R.dataflow():
            z = R.exp(R.subtract(x, y))
            R.output(z)
        return z
"""
SUM = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6,), "float32")):
        for i, k in T.grid(6, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
"""


@dataclass(frozen=True)
class SwapOperands(Pass):
    """A wrong pass: x - y becomes y - x."""

    name = "swap-operands"

    def apply(self, ctx, op):
        for inner in op.walk():
            if inner.name in ("relax.subtract", "tir.sub"):
                inner.operands = inner.operands[::-1]


def test_a_build_is_proved():
    executable = relax.build(parse_source(GRAPH), validate="proof")
    assert executable.proofs.verdict is Verdict.PROVED
    passes = [what for what, _ in executable.proofs.steps]
    assert "the pass legalize-ops" in passes and "the pass fuse-tir" in passes
    assert str(executable.proofs).splitlines()[-1].startswith("proved: ")
    compiled = tirax.compile(parse_source(GRAPH), validate="proof")
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(np.asarray(compiled(x, x[0])), 1, rtol=1e-6)
    assert compiled.executable.proofs.verdict is Verdict.PROVED
    with pytest.raises(UnsupportedError, match="validation by 'samples'"):
        relax.build(parse_source(GRAPH), validate="samples")


def test_a_wrong_pass_ends_a_build():
    with pytest.raises(MeaningError, match="the pass swap-operands changes") as info:
        relax.build(parse_source(GRAPH.replace('("n", 3)', "(3, 3)")), pipeline=[SwapOperands()], validate="proof")
    text = "\n".join(info.value.notes)
    assert "before: exp((x[0, 0] - y[0]))" in text and "after:  exp((y[0] - x[0, 0]))" in text
    assert "they part at (x[0, 0] - y[0]) and (y[0] - x[0, 0])" in text


def test_assertions_of_meaning_can_be_proofs():
    graph = parse_source(GRAPH)
    assert_same_meaning(graph, relax.transform.LegalizeOps()(graph), proof=True)
    with pytest.raises(MeaningError, match="not proved equal"):
        assert_same_meaning(graph, SwapOperands()(graph), proof=True)
    ordered = parse_source(GRAPH.replace("R.exp(R.subtract(x, y))", "R.argsort(x)"))
    assert_same_meaning(ordered, ordered)
    with pytest.raises(MeaningError, match="not proved equal"):
        assert_same_meaning(ordered, ordered, proof=True)


def scheduled():
    schedule = Schedule(parse_source(SUM), validate="proof")
    block = schedule.get_block("B")
    return schedule, block, schedule.get_loops(block)


def test_the_steps_of_a_schedule_are_proved():
    schedule, block, (i, k) = scheduled()
    outer, inner = schedule.split(k, [None, 3])
    schedule.reorder(inner, i)
    schedule.rfactor(outer, 0)
    assert [name.split("'")[1] for name, _ in schedule.proofs.steps] == ["split", "reorder", "rfactor"]
    assert schedule.proofs.verdict is Verdict.PROVED
    assert schedule.proofs.steps[-1][1].findings[0].level is Level.REASSOCIATED
    assert len(schedule.copy().proofs.steps) == 3
    assert Schedule(parse_source(SUM)).proofs is None


def test_a_wrong_step_is_undone(monkeypatch):
    schedule, _, (i, _) = scheduled()
    right = PRIMITIVES["split"]

    @wraps(right.function)
    def split(state, loop, factors, **options):
        outer, inner = right.function(state, loop, factors, **options)
        for load in (op for op in inner.walk() if isinstance(op, tir.LoadOp) and len(op.indices) == 2):
            zero = tir.ConstOp(0, load.indices[1].type)
            load.parent.insert_op_before(zero, load)
            load.operands = [load.operands[0], load.operands[1], zero.result]
        return outer, inner

    wrong = Primitive(right.spec, split, right.signature, right.shown, right.adapt, right.follow)
    monkeypatch.setitem(PRIMITIVES._entries, "split", wrong)
    text = str(schedule.mod.op)
    with pytest.raises(MeaningError, match="step 3, 'split', changes"):
        schedule.split(i, [None, 2])
    assert str(schedule.mod.op) == text


def test_only_what_changed_is_validated():
    lowered = module_op(relax.transform.LegalizeOps()(parse_source(GRAPH.replace('("n", 3)', "(2, 3)"))))
    assert not validate_step(lowered, lowered.clone()).findings
    changed = lowered.clone()
    names = [f.sym_name.data for f in changed.ops if isinstance(f, tir.FuncOp)]
    with PassContext(instruments=[proofs := Proofs()]):
        after = relax.transform.FuseTIR()(relax.transform.FuseOps()(relax.transform.AnnotateTIROpPattern()(lowered)))
    assert proofs.verdict is Verdict.PROVED
    sub = next(op for op in changed.walk() if op.name == "tir.sub")
    sub.operands = sub.operands[::-1]
    findings = {f.function: f.verdict for f in validate_step(lowered, changed).findings}
    assert findings == {"main": Verdict.WRONG, "subtract": Verdict.WRONG} and "subtract" in names
    assert after is not None


def test_a_graph_is_proved_by_its_kernels():
    """Where only kernels change, and all are proved for all inputs, their graph is not run."""
    lowered = module_op(relax.transform.LegalizeOps()(parse_source(GRAPH.replace('("n", 3)', "(2, 3)"))))
    schedule = Schedule(lowered)
    block = schedule.get_block("T_subtract", "subtract")
    schedule.reorder(*schedule.get_loops(block)[::-1])
    findings = validate_step(lowered, schedule.mod.op).findings
    assert [(f.function, f.verdict) for f in findings] == [("subtract", Verdict.PROVED), ("main", Verdict.PROVED)]
