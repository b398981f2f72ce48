"""Kernels below tir: proved equal to their tensor functions; lowered functions with faults never are."""

from __future__ import annotations

from functools import cache

import pytest
from strength import thinned
from xdsl.dialects import arith, memref, scf, vector

from tirax.dialects import tir
from tirax.driver.pipelines import PIPELINES, make_passes
from tirax.ir.passes.transform import module_op, new_context
from tirax.proof import Level, Proofs, Verdict
from tirax.proof.lowered import validate_kernels
from tirax.script import parse_source
from tirax.tvm_api import relax

GRAPH = """
@I.ir_module
class M:
    @R.function
    def main({parameters}):
        with R.dataflow():
            z = {expression}
            R.output(z)
        return z
"""
X = 'x: R.Tensor((3, 20), "float32")'
PROGRAMS = {
    "elementwise": (X, "R.nn.relu(R.add(x, R.exp(x)))", Level.REASSOCIATED),
    "select": (X, "R.where(R.less(x, R.negative(x)), x, R.multiply(x, x))", Level.BITS),
    "product": (f'{X}, w: R.Tensor((20, 33), "float32")', "R.matmul(x, w)", Level.REASSOCIATED),
    "softmax": (X, "R.nn.softmax(x)", Level.REAL),
    "integers": (
        'x: R.Tensor((3, 8), "int8"), w: R.Tensor((8, 5), "int8")',
        'R.astype(R.clip(R.right_shift(R.matmul(x, w, out_dtype="int32"), R.const(4, "int32")), -128, 127), "int8")',
        Level.BITS,
    ),
    "booleans": (X, "R.logical_and(R.greater(x, R.const(0.5)), R.less(x, R.const(0.75)))", Level.BITS),
    "pool": (
        'x: R.Tensor((1, 1, 4, 4), "float32")',
        "R.nn.max_pool2d(x, pool_size=[2, 2], strides=[2, 2])",
        Level.REASSOCIATED,
    ),
    "gather": ('i: R.Tensor((3,), "int64"), x: R.Tensor((5, 4), "float32")', "R.take(x, i, axis=0)", Level.BITS),
    "parallel": (
        'x: R.Tensor(("n", 256), "float32"), w: R.Tensor((256, 16), "float32")',
        "R.matmul(x, w)",
        Level.REASSOCIATED,
    ),
}  # fmt: skip
ORDER = list(Level)


@cache
def lowered(name):
    """Return the module before it is lowered to scf, and after `promote-tiles`."""
    parameters, expression, _ = PROGRAMS[name]
    module = module_op(parse_source(GRAPH.format(parameters=parameters, expression=expression)))
    source = None
    names = PIPELINES["default-cpu"]
    for each in make_passes(names[: names.index("promote-tiles") + 1], "llvm -mcpu=x86-64-v3 -num-cores=4"):
        if each.name == "convert-tir-to-scf":
            source = module.clone()
        each.apply(new_context(), module)
    return source, module


@thinned("name", list(PROGRAMS), 4)
def test_kernels_are_proved(name):
    result = validate_kernels(*lowered(name), sizes=(3,))
    assert result.verdict is Verdict.PROVED, str(result)
    assert max(ORDER.index(f.level) for f in result.findings) <= ORDER.index(PROGRAMS[name][2]), str(result)


def swapped(op):
    op.operands = [op.operands[1], op.operands[0], *op.operands[2:]]


def other(name):
    def replace(op):
        new = getattr(arith, name)(*op.operands)
        op.parent.insert_op_before(new, op)
        op.results[0].replace_all_uses_with(new.results[0])
        op.detach()

    return replace


def shorter(loop):
    one = arith.ConstantOp.from_int_and_width(1, loop.ub.type)
    less = arith.SubiOp(loop.ub, one)
    loop.parent.insert_ops_before([one, less], loop)
    loop.operands = [loop.operands[0], less.result, *loop.operands[2:]]


def dropped(op):
    op.detach()


FAULTS = {
    arith.SubfOp: swapped,
    arith.DivfOp: swapped,
    arith.CmpfOp: swapped,
    arith.AddfOp: other("SubfOp"),
    arith.MulfOp: other("AddfOp"),
    arith.AddiOp: other("SubiOp"),
    arith.MaxSIOp: other("MinSIOp"),
    scf.ForOp: shorter,
    memref.StoreOp: dropped,
    vector.StoreOp: dropped,
}


def mutants(module):
    for at, op in enumerate(module.walk()):
        fault = next((f for cls, f in FAULTS.items() if isinstance(op, cls)), None)
        function = next((f for f in ancestors(op) if f.name == "func.func"), None)
        if fault is None or function is None or not function.sym_name.data.startswith("kernel."):
            continue
        copy = module.clone()
        fault(next(o for n, o in enumerate(copy.walk()) if n == at))
        yield f"{at} {op.name}", copy


def ancestors(op):
    while (op := op.parent_op()) is not None:
        yield op


@thinned("name", ["elementwise", "integers", "softmax"], 1)
def test_faults_are_found(name):
    """Most are shown to be wrong. Not so an access beyond a buffer, a branch that data choose, a bound that a guard
    repeats; and the maximum of a softmax may be any number by the laws of real numbers.
    """
    source, right = lowered(name)
    results = [validate_kernels(source, mutant) for _, mutant in mutants(right)]
    verdicts = [r.verdict for r in results]
    passed = [r for r in results if r.verdict is Verdict.PROVED and all(f.level is not Level.REAL for f in r.findings)]
    assert len(verdicts) > 5 and verdicts.count(Verdict.WRONG) >= 0.5 * len(verdicts)
    assert len(passed) <= 0.1 * len(verdicts)


def test_the_counterexample_has_the_inputs():
    source, right = lowered("elementwise")
    mutant = next(copy for what, copy in mutants(right) if what.endswith("arith.addf"))
    (finding,) = validate_kernels(source, mutant).findings
    assert finding.verdict is Verdict.WRONG and finding.disagreement.inputs[0].shape == (3, 20)
    assert str(finding).startswith("wrong @kernel.")


def test_a_build_is_proved_down_to_scf():
    module = parse_source(GRAPH.format(parameters=X, expression="R.nn.relu(R.add(x, x))"))
    proofs = relax.build(module, validate="proof").proofs
    assert isinstance(proofs, Proofs) and proofs.verdict is Verdict.PROVED
    passes = [what for what, _ in proofs.steps]
    assert "the pass convert-tir-to-scf" in passes and "the pass plan-memory" not in passes


def test_bounds_of_memory_are_checked():
    source, right = lowered("elementwise")
    copy = right.clone()
    kernel = next(f for f in copy.ops if f.name == "func.func" and f.sym_name.data.startswith("kernel."))
    store = next(op for op in kernel.walk() if isinstance(op, vector.StoreOp | memref.StoreOp))
    far = arith.ConstantOp.from_int_and_width(1000, store.indices[0].type)
    store.parent.insert_op_before(far, store)
    store.operands = [*store.operands[:2], far.result]
    (finding,) = validate_kernels(source, copy).findings
    assert finding.verdict is Verdict.NOT_COVERED and "[1000] of memory [60] is accessed" in finding.reason


def test_only_lowered_functions_are_validated():
    source, _ = lowered("elementwise")
    assert not validate_kernels(source, source.clone()).findings
    assert any(isinstance(f, tir.FuncOp) for f in source.ops)
    assert validate_kernels(*lowered("elementwise"), functions=["none"]).verdict is Verdict.NOT_COVERED


@pytest.mark.parametrize("shift", [0, 4])
def test_tensors_of_one_arena_clobber_each_other(shift):
    """A second tensor at the bytes of the first is a fault as long as the first is read after."""
    from tirax.proof import validate_step

    module = parse_source(GRAPH.format(parameters=X, expression="R.add(R.exp(x), R.negative(x))"))
    lowering = make_passes(["legalize-ops", "lower-relax-calls", "plan-memory"])
    op = module_op(module)
    for each in lowering[:2]:
        each.apply(new_context(), op)
    before = op.clone()
    lowering[2].apply(new_context(), op)
    tensors = [o for o in op.walk() if o.name == "host.tensor" and o.offset is not None]
    assert validate_step(before, op).verdict is Verdict.PROVED and len(tensors) == 2
    tensors[1].properties["offset"] = type(tensors[0].offset)(tensors[0].offset.data + shift)
    (finding,) = validate_step(before, op).findings
    assert finding.verdict is Verdict.NOT_COVERED
