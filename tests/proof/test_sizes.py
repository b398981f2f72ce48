"""Proofs for all sizes: schedules of symbolic extents are proved, and what samples refute is not."""

from __future__ import annotations

import pytest
from strength import thinned
from xdsl.dialects.builtin import StringAttr

from tirax.dialects import tir
from tirax.dialects.sym import SymAttr, ValueOp
from tirax.dialects.sym.expr import Const
from tirax.interpreter import compare
from tirax.proof import Level, Verdict, validate
from tirax.proof.sizes import facts, prove_sizes
from tirax.schedule import Schedule
from tirax.script import parse_source

z3 = pytest.importorskip("z3", reason="the extra proof: pip install 'tirax[proof]'")

PROGRAM = """
@I.ir_module
class M:
    @T.prim_func
    def main(a: T.handle, b: T.handle, d: T.handle):
        n, m, k = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(a, (n, k), "float32")
        B = T.match_buffer(b, (k, m), "float32")
        D = T.match_buffer(d, (n, m), "float32")
        C = T.alloc_buffer((n, m), "float32")
        for i, j, r in T.grid(n, m, k):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(n, m):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""
PADDED = """
@I.ir_module
class M:
    @T.prim_func
    def main(a: T.handle, d: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        D = T.match_buffer(d, (n,), "float32")
        P = T.alloc_buffer((n + 2,), "float32")
        for i in range(n + 2):
            with T.block("P"):
                v = T.axis.spatial(n + 2, i)
                P[v] = T.if_then_else(1 <= v and v < n + 1, A[v - 1], T.float32(0))
        for i in range(n):
            with T.block("D"):
                v = T.axis.spatial(n, i)
                D[v] = P[v] + P[v + 1] + P[v + 2]
"""


def tiled(s):
    i, j, k = s.get_loops(block := s.get_block("C"))
    (io, ii), (jo, ji), (ko, ki) = s.split(i, [None, 16]), s.split(j, [None, 8]), s.split(k, [None, 4])
    s.reorder(io, jo, ko, ii, ki, ji)
    s.vectorize(ji)
    return block


def fused(s):
    f = s.fuse(*s.get_loops(s.get_block("D")))
    outer, _ = s.split(f, [None, 16])
    s.parallel(outer)


def decomposed(s):
    _, j, k = s.get_loops(block := s.get_block("C"))
    s.reorder(k, j)
    s.decompose_reduction(block, k)


def computed_at(s):
    i, j = s.get_loops(s.get_block("D"))
    (io, ii), (jo, ji) = s.split(i, [None, 16]), s.split(j, [None, 8])
    s.reorder(io, jo, ii, ji)
    s.compute_at(s.get_block("C"), jo)


def reverse_computed(s):
    io, _ = s.split(s.get_loops(s.get_block("C"))[0], [None, 16])
    s.reverse_compute_at(s.get_block("D"), io)


def cached(s):
    block = s.get_block("C")
    io, _ = s.split(s.get_loops(block)[0], [None, 16])
    s.compute_at(s.cache_read(block, 0, "global"), io)
    s.cache_write(block, 0, "global")
    s.unroll(s.split(s.get_loops(block)[-1], [None, 4])[1])


def transposed(s):
    s.transform_layout("C", ("write", 0), lambda i, j: (j, i))


SCHEDULES = {f.__name__: f for f in (tiled, fused, decomposed, computed_at, reverse_computed, cached, transposed)}


def functions(*modules):
    return [next(f for f in m.walk() if isinstance(f, tir.FuncOp)) for m in modules]


def scheduled(name):
    schedule = Schedule(parse_source(PROGRAM))
    SCHEDULES[name](schedule)
    return schedule.mod.op


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_schedules_are_proved_for_all_sizes(name):
    outcome = prove_sizes(*functions(Schedule(parse_source(PROGRAM)).mod.op, scheduled(name)))
    assert outcome.is_proved, outcome.reason
    assert outcome.by_solver and outcome.reduces


def test_stages_with_conditions_are_inlined():
    schedule = Schedule(parse_source(PADDED))
    schedule.compute_inline("P")
    before = Schedule(parse_source(PADDED)).mod.op
    assert prove_sizes(*functions(before, schedule.mod.op)).is_proved
    wrong = schedule.mod.op.clone()
    lower = next(op for op in wrong.walk() if op.name == "tir.le")
    lower.operands = [lower.operands[1], lower.operands[0]]
    assert not prove_sizes(*functions(before, wrong)).is_proved


def test_the_finding_covers_all_sizes():
    before, after = Schedule(parse_source(PADDED)).mod.op, Schedule(parse_source(PADDED))
    after.split(after.get_loops("D")[0], [None, 16])
    (finding,) = validate(before, after.mod.op, sizes=(3,)).findings
    assert finding.all_sizes and finding.level is Level.BITS
    assert str(finding) == "proved @main for all inputs and sizes (level: bits)"
    bound = Schedule(parse_source(PROGRAM)).mod.op
    (finding,) = validate(bound, scheduled("computed_at"), sizes=(1,)).findings
    assert finding.all_sizes and finding.level is Level.REASSOCIATED


def test_without_z3_the_finding_names_the_package(monkeypatch):
    monkeypatch.setattr(facts, "solver_package", lambda: None)
    module = Schedule(parse_source(PROGRAM)).mod.op
    (finding,) = validate(module, scheduled("tiled"), sizes=(1,)).findings
    assert finding.verdict is Verdict.PROVED and not finding.all_sizes
    assert "at the sizes" in str(finding) and "pip install 'tirax[proof]'" in str(finding)
    after = Schedule(parse_source(PADDED))
    after.split(after.get_loops("D")[0], [None, 16])
    assert prove_sizes(*functions(Schedule(parse_source(PADDED)).mod.op, after.mod.op)).is_proved


def mutants(module):
    """Yield copies with one fault each in bounds, predicates, indices, initial values or kinds of loops."""
    for at, op in enumerate(module.walk()):
        for fault in FAULTS.get(type(op), ()):
            copy = module.clone()
            if fault(next(other for n, other in enumerate(copy.walk()) if n == at)) is not False:
                yield f"{at} {op.name} {fault.__name__}", copy


def longer(loop):
    loop.properties["extent_attr"] = SymAttr(loop.extent + Const(1))


def shorter(loop):
    loop.properties["extent_attr"] = SymAttr(loop.extent - Const(1))


def unguarded(block):
    if block.predicate is None:
        return False
    block.predicate.owner.parent.insert_op_before(true := tir.ConstOp(1, block.predicate.type), block)
    block.operands = [*block.bindings, true.result]
    return True


def swapped_iterators(block):
    block.operands = [block.operands[1], block.operands[0], *block.operands[2:]]


def swapped_indices(access):
    access.operands = [*access.operands[:-2], access.operands[-1], access.operands[-2]]


def moved(value):
    value.properties["expr"] = SymAttr(value.expr.data + Const(1))


def dropped(op):
    op.detach()


FAULTS = {
    tir.ForOp: (longer, shorter),
    tir.BlockOp: (unguarded, swapped_iterators),
    tir.StoreOp: (swapped_indices,),
    tir.LoadOp: (swapped_indices,),
    tir.InitOp: (dropped,),
    ValueOp: (moved,),
}


@thinned("name", list(SCHEDULES), 2)
def test_faults_that_samples_show_are_never_proved(name):
    before, tried, refused = Schedule(parse_source(PROGRAM)).mod.op, 0, 0
    for what, mutant in mutants(scheduled(name)):
        tried += 1
        if not prove_sizes(*functions(before, mutant)).is_proved:
            refused += 1
            continue
        for sizes in ((5,), (17,)):
            assert compare(before, mutant, sizes=sizes).disagreement is None, what
    assert refused > 10 and tried >= refused


RACES = {
    "sums": ("k", lambda s: s.get_loops(s.get_block("C"))[2]),
    "rows": ("i", lambda s: s.get_loops(s.get_block("C"))[0]),
}


@pytest.mark.parametrize("row", list(RACES))
def test_iterations_that_run_at_once_update_different_elements(row):
    schedule = Schedule(parse_source(PROGRAM))
    loop = schedule.get(RACES[row][1](schedule)).op
    loop.properties["kind_attr"] = StringAttr("parallel")
    outcome = prove_sizes(*functions(Schedule(parse_source(PROGRAM)).mod.op, schedule.mod.op))
    assert outcome.is_proved == (row == "rows")
    assert row == "rows" or "parallel" in outcome.reason


DATA = PADDED.replace("A[v - 1]", 'A[T.Cast("int64", A[v - 1])]')


def test_indices_by_data_are_not_decided():
    module = Schedule(parse_source(DATA)).mod.op
    outcome = prove_sizes(*functions(module, module.clone()))
    assert not outcome.is_proved and "data" in outcome.reason
