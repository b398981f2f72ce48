"""Proofs of transformations, and of mutants: what random inputs tell apart is never proved."""

from __future__ import annotations

import numpy as np
import pytest
from strength import thinned

from tirax.dialects import tir
from tirax.interpreter import MeaningError, compare
from tirax.ir.passes.transform import module_op
from tirax.proof import Level, Verdict, assert_proved, validate
from tirax.script import parse_source
from tirax.tvm_api import relax

PROGRAM = """
@I.ir_module
class M:
    @R.function
    def main({parameters}):
        with R.dataflow():
            result = {expression}
            R.output(result)
        return result
"""
X = 'x: R.Tensor(("n", 6), "float32")'
PAIR = f'{X}, y: R.Tensor(("n", 6), "float32")'

ROWS = {
    "elementwise": (PAIR, "R.multiply(R.add(x, y), R.exp(x))", Level.BITS),
    "matmul": (f'{X}, w: R.Tensor((6, 5), "float32")', "R.matmul(x, w)", Level.REASSOCIATED),
    "sum": (X, "R.sum(x, axis=1)", Level.REASSOCIATED),
    "maximum": (X, "R.max(x, axis=1)", Level.REASSOCIATED),
    "softmax": (X, "R.nn.softmax(x, axis=-1)", Level.REAL),
    "norm": (f'{X}, g: R.Tensor((6,), "float32")', "R.nn.rms_norm(x, g, axes=[-1], epsilon=1e-5)", Level.REAL),
    "layout": (
        'x: R.Tensor((4, 6), "float32")',
        "R.permute_dims(R.reshape(x, R.shape([4, 2, 3])), axes=[0, 2, 1])",
        Level.BITS,
    ),
    "slices": (PAIR, "R.concat([R.strided_slice(x, [1], [1], [5]), y], axis=1)", Level.BITS),
    "gather": ('i: R.Tensor(("n",), "int64"), t: R.Tensor((9, 4), "float32")', "R.take(t, i, axis=0)", Level.BITS),
    "convolution": (
        'x: R.Tensor((1, 2, 5, 5), "float32"), w: R.Tensor((3, 2, 3, 3), "float32")',
        "R.nn.conv2d(x, w, padding=1)",
        Level.REASSOCIATED,
    ),
    "integers": (
        'x: R.Tensor((3, 4), "int8"), w: R.Tensor((4, 2), "int8")',
        'R.matmul(x, w, out_dtype="int32")',
        Level.BITS,
    ),
    "attention": (
        'q: R.Tensor((1, 3, 2, 8), "float32"), k: R.Tensor((1, 3, 2, 8), "float32")',
        'R.nn.attention(q, k, k, causal_mask="TopLeft")',
        Level.REAL,
    ),
    "branch": (PAIR, "R.where(R.greater(x, y), x, R.negative(y))", Level.BITS),
}


def program(row):
    parameters, expression, _ = ROWS[row]
    return parse_source(PROGRAM.format(parameters=parameters, expression=expression))


def lowered(module):
    return relax.transform.LegalizeOps()(module)


@thinned("row", list(ROWS), 3)
def test_legalization_is_proved(row):
    """For all inputs, and with no weaker laws than the operators need."""
    result = validate(program(row), lowered(program(row)), sizes=(3, 1))
    assert result.verdict is Verdict.PROVED, str(result)
    order = list(Level)
    assert order.index(result.findings[0].level) <= order.index(ROWS[row][2]), str(result)


def test_sizes_are_in_the_finding():
    (finding,) = validate(program("sum"), lowered(program("sum")), sizes=(3, 1)).findings
    assert finding.sizes == ({"n": 3}, {"n": 1}) and "at the sizes n=3; n=1" in str(finding)
    (finding,) = validate(program("integers"), lowered(program("integers"))).findings
    assert str(finding).startswith("proved @main for all inputs (level")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("R.subtract(x, y)", "R.subtract(y, x)"),
        ("R.maximum(x, y)", "x"),
        ("R.divide(x, y)", "R.multiply(x, y)"),
        ("R.sum(x, axis=1, keepdims=True)", "R.mean(x, axis=1, keepdims=True)"),
        ("R.where(R.less(x, y), x, y)", "R.where(R.less(y, x), x, y)"),
        ("R.exp(R.add(x, y))", "R.add(R.exp(x), R.exp(y))"),
    ],
)
def test_wrong_programs_have_inputs_that_show_it(right, wrong):
    before, after = (parse_source(PROGRAM.format(parameters=PAIR, expression=e)) for e in (right, wrong))
    result = validate(before, after, sizes=(2,))
    (finding,) = result.findings
    assert result.verdict is Verdict.WRONG
    assert not np.allclose(finding.disagreement.before, finding.disagreement.after)
    with pytest.raises(MeaningError, match="not proved equal"):
        assert_proved(before, after, sizes=(2,))


@pytest.mark.parametrize(
    ("one", "other", "level"),
    [
        ("R.add(x, y)", "R.add(y, x)", Level.BITS),
        ("R.multiply(R.negative(x), y)", "R.multiply(x, R.negative(y))", Level.BITS),
        ("R.add(R.add(x, y), x)", "R.add(R.add(x, x), y)", Level.REASSOCIATED),
        ("R.maximum(R.maximum(x, y), x)", "R.maximum(x, R.maximum(x, y))", Level.REASSOCIATED),
        ("R.multiply(x, R.add(x, y))", "R.add(R.multiply(x, x), R.multiply(x, y))", Level.REAL),
        ("R.exp(R.add(x, y))", "R.multiply(R.exp(x), R.exp(y))", Level.REAL),
        ("R.divide(x, y)", 'R.multiply(x, R.divide(R.const(1, "float32"), y))', Level.REAL),
    ],
)
def test_the_level_is_the_weakest_that_is_needed(one, other, level):
    before, after = (parse_source(PROGRAM.format(parameters=PAIR, expression=e)) for e in (one, other))
    assert validate(before, after, sizes=(2,)).findings[0].level is level


def test_what_data_decide_is_not_covered():
    text = PROGRAM.format(parameters='x: R.Tensor((4,), "float32")', expression="R.argsort(x)")
    module = parse_source(text)
    result = validate(module, module)
    assert result.verdict is Verdict.NOT_COVERED and "argsort" in str(result)
    assert validate(module, parse_source(text.replace("main", "other"))).verdict is Verdict.NOT_COVERED


SWAPPED = (tir.BINARY["sub"], tir.BINARY["div"], tir.BINARY["lt"])
REPLACED = {"add": "sub", "mul": "add", "max": "min", "and": "or"}


def mutants(module):
    """Yield copies with one change each: operands swapped, another operation, a constant more, a statement less."""
    count = len(list(module.walk()))
    for at in range(count):
        copy = module.clone()
        op = next(op for n, op in enumerate(copy.walk()) if n == at)
        if _mutate(op):
            yield f"{at} {op.name}", copy


def _mutate(op):
    if isinstance(op, SWAPPED):
        op.operands = [op.operands[1], op.operands[0]]
        return True
    for name, other in REPLACED.items():
        if isinstance(op, tir.BINARY[name]):
            new = tir.BINARY[other](*op.operands)
            op.parent.insert_op_before(new, op)
            op.result.replace_all_uses_with(new.result)
            op.detach()
            return True
    if isinstance(op, tir.StoreOp | tir.InitOp) and op.parent.last_op is not op:
        op.detach()
        return True
    return False


@thinned("row", ["slices", "matmul", "softmax", "norm", "branch"], 1)
def test_mutants_that_random_inputs_find_are_never_proved(row):
    """The random oracle is the judge: it has executed the mutant."""
    right = module_op(lowered(program(row)))
    tried = told_apart = 0
    for name, mutant in mutants(right):
        oracle = compare(right, mutant, sizes=(3,), seed=7)
        result = validate(right, mutant, sizes=(3,))
        tried += 1
        if oracle.disagreement is not None:
            told_apart += 1
            assert result.verdict is not Verdict.PROVED, name
        elif result.verdict is Verdict.PROVED:
            for seed in range(20, 24):
                assert compare(right, mutant, sizes=(3, 4), seed=seed).disagreement is None, name
    assert told_apart > 1 and tried > 2


def test_an_integer_that_is_the_size_of_a_buffer_is_that_size():
    module = parse_source("""
@I.ir_module
class M:
    @T.prim_func
    def main(a: T.handle, n: T.int64, b: T.handle):
        A = T.match_buffer(a, (n, 3), "float32")
        B = T.match_buffer(b, (n + 1, 3), "float32")
        for i, j in T.grid(n, 3):
            B[i, j] = A[i, j]
""")
    (finding,) = validate(module, module, sizes=(5, 2)).findings
    assert finding.verdict is Verdict.PROVED and [s["n"] for s in finding.sizes] == [5, 2]
