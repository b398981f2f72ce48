"""Attention tile by tile means what numpy means, at every size, for every target, and keeps no matrix of scores."""

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from strength import crossed, only_full, thinned
from xdsl.parser import Parser

import tirax.tvm_api as tvm
from tirax.dialects import tir as tir_dialect
from tirax.dialects.sched import Sched
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.interpreter import interpret
from tirax.ir.passes.transform import Sequential, module_op, new_context
from tirax.schedule.cpu.library.merge_loops import merge_loops
from tirax.target import Target
from tirax.transforms.tir.walk import functions
from tirax.tvm_api import relax, tir

op = relax.op
TARGETS = ["llvm"] + (["llvm -mcpu=haswell"] if {"avx2", "fma"} <= Target().features else [])
RNG = np.random.default_rng(5)
EVERY = tuple({"n": n, "m": m} for n, m in ((0, 3), (1, 0), (1, 1), (37, 65), (130, 600)))


@dataclass(frozen=True)
class Case:
    """Shapes of queries, keys, values and perhaps a bias; the sizes that names in them stand for, call by call.

    Each head of keys and values is for `each` heads of queries.
    """

    shapes: tuple
    attrs: dict[str, Any] = field(default_factory=dict)
    sizes: tuple = ({},)
    each: int = 1


def heads(n, m, h, d, e=None, b=1):
    return (b, n, h, d), (b, m, h, d), (b, m, h, e or d)


CASES = {
    "whole": Case(heads(197, 197, 3, 64, b=2)),
    "odd": Case((*heads(70, 601, 1, 80, 33), (1, 1, 1, 601)), {"scale": 0.25}),
    "lengths": Case(heads("n", "m", 2, 32, 48, b="b"), {}, tuple({"b": 2, **s} for s in EVERY)),
    "causal": Case(heads("n", "n", 2, 64), {"causal_mask": "TopLeft"}, tuple({"n": n} for n in (0, 1, 63, 150, 601))),
    "window": Case(
        (*heads(90, "m", 2, 32), (1, 2, 90, "m")),
        {"causal_mask": "BottomRight", "window_size": 40},
        ({"m": 0}, {"m": 1}, {"m": 17}, {"m": 620}),
    ),
    "groups": Case(((1, 33, 4, 16), (1, 40, 2, 16), (1, 40, 2, 16)), each=2),
    "one query": Case(heads(1, "m", 2, 64), {}, ({"m": 0}, {"m": 1}, {"m": 600})),
    "one of all": Case(heads(1, 1, 1, 1)),
    "parts of keys": Case(heads(3, "m", 2, 16), {}, tuple({"m": m} for m in (0, 1, 129, 2100))),
    "window in parts": Case(
        heads(5, "m", 1, 16), {"causal_mask": "BottomRight", "window_size": 300}, ({"m": 5}, {"m": 150}, {"m": 700})
    ),
}


def module(case, dtype="float32"):
    names: dict[str, Any] = {}
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"a{i}", relax.TensorStructInfo([_size(d, names) for d in shape], dtype))
        for i, shape in enumerate(case.shapes)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            args = list(params)
            if case.each > 1:
                args[1:3] = [builder.emit(op.repeat(a, case.each, 2)) for a in args[1:3]]
            result = builder.emit_output(builder.emit(op.nn.attention(*args, **case.attrs)))
        builder.emit_func_output(result)
    return builder.get()


def _size(dim, names):
    return names.setdefault(dim, tir.Var(dim, "int64")) if isinstance(dim, str) else dim


def build(case, target="llvm", dtype="float32"):
    return relax.VirtualMachine(relax.build(module(case, dtype), target=target), tvm.cpu())["main"]


def np_dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name).type


def arrays_of(case, sizes, dtype="float32"):
    return [RNG.standard_normal([sizes.get(d, d) for d in shape]).astype(dtype) * 2 for shape in case.shapes]


def numpys(case, q, k, v, bias=None):
    k, v = (np.repeat(t, case.each, 2) for t in (k, v))
    q, k, v = (t.astype("float64").transpose(0, 2, 1, 3) for t in (q, k, v))
    scale, causal, window = (case.attrs.get(name) for name in ("scale", "causal_mask", "window_size"))
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if bias is None else scores + bias
    n, m = scores.shape[-2:]
    i, j = np.indices((n, m))
    own = i + (abs(m - n) if causal == "BottomRight" else 0)
    allowed = (True if causal is None else j <= own) & (True if window is None else j > own - window)
    scores = np.where(allowed, scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e300))
    total = powers.sum(-1, keepdims=True)
    return (powers / np.where(total == 0, 1, total) @ v).transpose(0, 2, 1, 3)


def check(case, target, dtype="float32", tolerance=2e-5):
    function = build(case, target, dtype)
    for sizes in case.sizes:
        arrays = arrays_of(case, sizes, dtype)
        result = function(*map(tvm.nd.array, arrays)).numpy()
        expected = numpys(case, *arrays)
        np.testing.assert_allclose(result, expected, rtol=10 * tolerance, atol=tolerance, err_msg=str(sizes))


@thinned("name", CASES, 1)
def test_numbers(name):
    check(CASES[name], TARGETS[0])


@only_full
@crossed("name, target", ["odd", "window"], TARGETS[1:])
def test_numbers_with_other_vectors(name, target):
    check(CASES[name], target)


def test_float64():
    check(Case(heads(33, 9, 1, 2, 3)), TARGETS[0], "float64", 1e-12)


HALF_A_STEP = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
"""What rounding to the nearest takes off or adds at most, as a part of a number."""


@only_full
@crossed("name, dtype", ["lengths", "window"], list(HALF_A_STEP))
def test_narrow_floats_are_rounded_once(name, dtype):
    """All is float32 between what is read and what is stored, whatever the lengths are."""
    case = CASES[name]
    function = build(case, "llvm", dtype)
    for sizes in case.sizes:
        arrays = [a.astype(np_dtype(dtype)) for a in arrays_of(case, sizes)]
        result, exact = function(*map(tvm.nd.array, arrays)).numpy(), numpys(case, *arrays)
        assert result.dtype == arrays[0].dtype and result.shape == exact.shape
        bound = HALF_A_STEP[dtype] * np.abs(exact) + 2e-5 * (1 + 10 * np.abs(exact))
        assert (np.abs(result.astype("float64") - exact) <= bound).all(), sizes


@thinned("dtype", HALF_A_STEP, 1)
def test_no_matrix_of_scores_of_narrow_floats(dtype):
    mod = module_op(module(Case(heads(4096, 4096, 2, 64)), dtype))
    tiles = Sequential(make_passes([*OPTIMIZE, *SCHEDULE], "llvm -mcpu=x86-64-v4 -vector-width=512"))(mod)
    assert max(int(np.prod(dims)) for dims in buffers(tiles)) <= 128 * 512


@only_full
def test_rows_without_weights_are_zeros():
    """A bias of minus infinity leaves nothing of a row, or of whole tiles of keys; as the interpreter has it."""
    case = Case((*heads(3, 600, 1, 16), (1, 1, 3, 600)))
    q, k, v, bias = arrays_of(case, {})
    bias[..., 0, :] = -np.inf
    bias[..., 1, :520] = -np.inf
    result = build(case)(*map(tvm.nd.array, (q, k, v, bias))).numpy()
    np.testing.assert_array_equal(result[:, 0], 0)
    np.testing.assert_allclose(result, numpys(case, q, k, v, bias), rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(result, interpret(module(case).op, "main", [q, k, v, bias]), rtol=2e-4, atol=2e-5)


def test_masked_scores_do_not_count_for_the_maximum():
    """All scores are far below the zeros of what is masked."""
    case = CASES["causal"]
    q, k, v = arrays_of(case, {"n": 40})
    q[:], k[:] = 15, -15
    result = build(case)(*map(tvm.nd.array, (q, k, v))).numpy()
    np.testing.assert_allclose(result, numpys(case, q, k, v), rtol=2e-4, atol=2e-5)


def scheduled(case, target="llvm -mcpu=x86-64-v4 -vector-width=512"):
    return Sequential(make_passes([*OPTIMIZE, *SCHEDULE], target))(module_op(module(case)))


def buffers(mod):
    result = [op.result.type for op in mod.walk() if isinstance(op, tir_dialect.AllocBufferOp)]
    return [tuple(dim.constant for dim in kind.dims) for kind in result]


def test_parts_without_keys_say_so():
    """What stood in memory is no maximum of theirs: the interpreter fills memory with large numbers."""
    case = Case(heads(2, "m", 1, 4))
    mod = scheduled(case)
    for m in (0, 1, 5):
        arrays = arrays_of(case, {"m": m})
        np.testing.assert_allclose(interpret(mod, "main", arrays), numpys(case, *arrays), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("causal", [None, "TopLeft"])
def test_no_matrix_of_scores(causal):
    """Of 4096 x 4096 scores a tile is in memory, of 128 x 512 or less, whatever the mask is."""
    sizes = buffers(scheduled(Case(heads(4096, 4096, 2, 64), {"causal_mask": causal} if causal else {})))
    assert max(int(np.prod(dims)) for dims in sizes) <= 128 * 512, sizes
    assert (64 if causal else 128, 512) in sizes


def test_no_matrix_of_scores_of_symbolic_lengths():
    """Nothing in memory has a size that is not known."""
    assert None not in [dim for dims in buffers(scheduled(CASES["lengths"])) for dim in dims]


def test_scores_that_others_read_stay():
    """A result that the maximum is added to is no attention."""
    mod = Sequential(make_passes(OPTIMIZE))(module_op(module(Case(heads(8, 8, 2, 16)))))
    assert "%scores" in str(Sequential(make_passes(SCHEDULE))(mod))
    (func,) = functions(mod)
    stores = [op for op in func.walk() if isinstance(op, tir_dialect.StoreOp)]
    top = next(op.buffer for op in stores if isinstance(op.value.owner, tir_dialect.MaxOp))
    last = next(op for op in stores if op.buffer is func.body.block.args[-1])
    zero = tir_dialect.ConstOp(0, last.indices[0].type)
    read = tir_dialect.LoadOp(top, [zero.result] * len(top.type.dims))
    both = tir_dialect.AddOp(last.value, read.result)
    last.parent.insert_ops_before([zero, read, both], last)
    last.operands[0] = both.result
    assert "%scores" not in str(Sequential(make_passes(SCHEDULE))(mod))


def test_stages_have_rules_of_their_own_by_directive():
    mod = Sequential(make_passes(OPTIMIZE))(module_op(module(Case(heads(64, 64, 2, 16)))))
    name = functions(mod)[0].sym_name.data
    rule = f'sched.sequence @{name} {{ sched.rule "register_tiles" on "T_batch_matmul_NN" }}'
    context = new_context()
    context.load_dialect(Sched)
    text = str(mod)
    parsed = Parser(context, text[: text.rindex("}")] + rule + "}").parse_module()
    assert "%scores" not in str(Sequential(make_passes(SCHEDULE))(parsed))


JOINED = """
tir.func @copied(%A: !tir.buffer<[8, 16], f32>, %C: !tir.buffer<[8, 16], f32>) attributes {tir.noalias = true} {
  %B = tir.alloc_buffer : !tir.buffer<[8, 16], f32>
  %zero = tir.const 0 : i64
  %one = tir.const 1 : i64
  tir.for %i = 0 to 8 {
    %at = tir.ramp %zero, %one : i64, i64 -> vector<16xi64>
    %a = tir.load %A[%i, %at] : vector<16xf32>
    tir.store %a, %B[%i, %at]
  }
  tir.for %j = 0 to 8 {
    %at = tir.ramp %zero, %one : i64, i64 -> vector<16xi64>
    %b = tir.load %B[%j, %at] : vector<16xf32>
    tir.store %b, %C[%j, %at]
  }
}
"""


def test_rows_that_are_read_as_vectors_are_joined():
    """Loops over rows are one loop, though some of the indices are vectors."""
    mod = Parser(new_context(), JOINED).parse_module()
    (func,) = functions(mod)
    merge_loops(func)
    mod.verify()
    assert str(mod).count("tir.for") == 1
