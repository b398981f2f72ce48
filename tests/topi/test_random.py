"""Operators of random numbers: native code and the interpreter give the same bits, and the laws hold."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from strength import only_full, thinned

from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.interpreter.run import interpret
from tirax.runtime import num_threads, set_num_threads
from tirax.tvm_api import relax as rx
from tirax.tvm_api.relax import op, transform
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class M:
    @R.function
    def main(s: R.Tensor((), "int64"), o: R.Tensor((), "int64"), p: R.Tensor(("m",), "float32"),
             w: R.Tensor(("n", 5), "float16")):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            out = (
{rows}
            )
            R.output(out)
        return out
"""
FLOATS = ("float64", "float32", "float16", "bfloat16")
ROWS = [
    *(f'R.random.uniform(s, o, R.shape([n, m]), dtype="{t}")' for t in FLOATS),
    *(f'R.random.uniform(s, o, R.shape([m]), low=-3.0, high=5.5, dtype="{t}")' for t in FLOATS),
    *(f'R.random.normal(s, o, R.shape([n, m]), mean=0.7, std=3.1, dtype="{t}")' for t in FLOATS),
    *(f'R.random.exponential(s, o, R.shape([n, m]), rate=0.3, dtype="{t}")' for t in FLOATS),
    "R.random.normal(s, o, R.shape([]))",
    "R.random.bernoulli(s, o, R.shape([n, m]), p)",
    *(
        f'R.random.bernoulli(s, o, R.shape([n, 1, m]), R.const(0.3, "float64"), dtype="{t}")'
        for t in ("float32", "int8", "bfloat16", "int64")
    ),
    *(f'R.random.randint(s, o, R.shape([n, m]), -7, 11, dtype="{t}")' for t in ("int8", "int16", "int32", "int64")),
    "R.random.randint(s, o, R.shape([n, m]), 0, n + m)",
    "R.random.randint(s, o, R.shape([n, m]), -9223372036854775808, 9223372036854775807)",
    'R.random.randint(s, o, R.shape([n, m]), 0, 4294967296, dtype="uint32")',
    *(f'R.random.bits(s, o, R.shape([m, n]), dtype="{t}")' for t in ("uint32", "uint64", "int32", "int64")),
    "R.random.permutation(s, o, m)",
    'R.random.permutation(s, o, n, dtype="int32")',
    "R.random.multinomial(s, o, w, num_samples=3)",
    "R.random.multinomial(s, o, w, num_samples=9, replacement=True)",
]
TARGETS = ["llvm", "llvm -mcpu=x86-64"]


@pytest.fixture(scope="module")
def module():
    return from_source(PROGRAM.format(rows=",\n".join(" " * 16 + row for row in ROWS)))


@pytest.fixture(scope="module")
def mains(module):
    """The native function by its target, each built once."""
    return cache(lambda target: build(module, target=target)["main"])


@pytest.fixture(scope="module")
def main(mains):
    return mains(TARGETS[0])


def scalar(value: int) -> np.ndarray:
    return np.array(value, np.int64)


def arguments(seed: int, offset: int, n: int, m: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n + m)
    chances = rng.random(m, np.float32)
    chances[:1] = np.nan
    return scalar(seed), scalar(offset), chances, rng.random((n, 5)).astype(np.float16)


def assert_same_bits(actual, expected):
    assert len(actual) == len(expected) == len(ROWS)
    for row, a, b in zip(ROWS, actual, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), row
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), row


SIZES = [(1, 2, 3, 5), (-1, 2**62, 1, 1), (2**63 - 1, 0, 0, 4), (-(2**63), -1, 2, 0), (12345, 2**40 + 1, 37, 129)]


@thinned("target", TARGETS, 1)
def test_native_bits_are_the_interpreters(module, mains, target):
    main = mains(target)
    for case in SIZES:
        args = arguments(*case)
        assert_same_bits(main(*args), interpret(module, "main", args))


@only_full
def test_tensor_functions_have_the_same_bits(module):
    """What legalization makes of the operators, interpreted."""
    legal = transform.LegalizeOps()(module)
    for case in SIZES[:3]:
        args = arguments(*case)
        assert_same_bits(interpret(legal, "main", args), interpret(module, "main", args))


def test_threads_do_not_count(main):
    args = arguments(3, 4, 300, 200)
    before = num_threads()
    try:
        set_num_threads(1)
        alone = [np.array(v) for v in main(*args)]
        set_num_threads(4)
        assert_same_bits(main(*args), alone)
    finally:
        set_num_threads(before)


def test_an_element_depends_on_its_index_alone(main):
    small, large = main(*arguments(3, 4, 2, 6)), main(*arguments(3, 4, 4, 3))
    by_index = [
        i for i, row in enumerate(ROWS) if "R.shape([n, m])" in row and "n + m" not in row and ", p)" not in row
    ]
    assert len(by_index) > 15
    for i in by_index:
        np.testing.assert_array_equal(small[i].reshape(-1), large[i].reshape(-1))


def drawn(call, *inputs) -> np.ndarray:
    """The result of one operator of constants, by native code."""
    builder = rx.BlockBuilder()
    seed, offset = (rx.Var(n, rx.TensorStructInfo((), "int64")) for n in ("seed", "offset"))
    with builder.function("main", [seed, offset]):
        builder.emit_func_output(builder.emit(call(seed, offset)))
    main = build(builder.get())["main"]
    return lambda seed, offset=0: np.asarray(main(scalar(seed), scalar(offset)))


def test_permutations_are_uniform():
    draw = drawn(lambda s, o: op.random.permutation(s, o, rx.PrimValue(4)))
    counts = Counter(tuple(draw(3, offset).tolist()) for offset in range(4800))
    assert len(counts) == 24 and all(sorted(p) == [0, 1, 2, 3] for p in counts)
    statistic = sum((c - 200) ** 2 / 200 for c in counts.values())
    assert statistic < 49.7  # chi squared of 23 degrees of freedom, one in a thousand


def test_choices_have_their_rates():
    count = 100_000
    for p in (0.0, 1e-3, 0.3, 0.5, 0.999, 1.0):
        ones = drawn(lambda s, o, p=p: op.random.bernoulli(s, o, rx.ShapeExpr([count]), rx.const(p, "float64")))(1)
        assert abs(ones.mean() - p) <= 5 * math.sqrt(p * (1 - p) / count)
    weights = np.array([1.0, 0.0, 2.0, 5.0], np.float32)
    draw = drawn(lambda s, o: op.random.multinomial(s, o, rx.const(weights), num_samples=count, replacement=True))
    rates = np.bincount(draw(1), minlength=4) / count
    assert rates[1] == 0 and np.all(np.abs(rates - weights / 8) < 5 * 0.5 / math.sqrt(count))
    pairs = drawn(lambda s, o: op.random.multinomial(s, o, rx.const(np.tile(weights, (count, 1))), num_samples=2))(1)
    assert np.all(pairs[:, 0] != pairs[:, 1]) and 1 not in pairs
    assert abs(np.mean(pairs[:, 0] == 3) - 5 / 8) < 5 * 0.5 / math.sqrt(count)


def test_integers_are_uniform():
    draw = drawn(lambda s, o: op.random.randint(s, o, rx.ShapeExpr([70_000]), rx.PrimValue(-3), rx.PrimValue(4)))
    counts = np.bincount(draw(5) + 3)
    assert len(counts) == 7 and np.sum((counts - 10_000) ** 2 / 10_000) < 22.5


def test_equal_calls_merge_and_others_do_not():
    builder = rx.BlockBuilder()
    seed, offset = (rx.Var(n, rx.TensorStructInfo((), "int64")) for n in ("seed", "offset"))
    with builder.function("main", [seed, offset]):
        with builder.dataflow():
            calls = [
                builder.emit(op.random.normal(a, b, rx.ShapeExpr([8])))
                for a, b in ((seed, offset), (seed, offset), (offset, seed))
            ]
            out = builder.emit_output(rx.Tuple(calls))
        builder.emit_func_output(out)
    mod = transform.EliminateCommonSubexpr()(builder.get())
    assert mod.script().count("R.random.normal") == 2
    a, b, c = build(mod)["main"](scalar(1), scalar(2))
    assert np.array_equal(a, b) and not np.array_equal(a, c)


SHAPE = rx.ShapeExpr([2])
WRONG = {
    "bounds the wrong way": (lambda s, o: op.random.uniform(s, o, SHAPE, low=1.0, high=0.0), "less than low"),
    "a bound that is infinite": (lambda s, o: op.random.uniform(s, o, SHAPE, high=math.inf), "finite"),
    "a bound beyond the dtype": (lambda s, o: op.random.uniform(s, o, SHAPE, high=1e6, dtype="float16"), "finite"),
    "a negative deviation": (lambda s, o: op.random.normal(s, o, SHAPE, std=-1.0), "std must not be negative"),
    "a NaN": (lambda s, o: op.random.normal(s, o, SHAPE, mean=math.nan), "finite"),
    "a rate of 0": (lambda s, o: op.random.exponential(s, o, SHAPE, rate=0.0), "rate must be positive"),
    "integers of floats": (lambda s, o: op.random.normal(s, o, SHAPE, dtype="int32"), "float16, bfloat16"),
    "an empty range": (
        lambda s, o: op.random.randint(s, o, SHAPE, rx.PrimValue(3), rx.PrimValue(3)), "greater than low"),
    "integers beyond the dtype": (
        lambda s, o: op.random.randint(s, o, SHAPE, rx.PrimValue(0), rx.PrimValue(300), dtype="int8"), "-128 to 127"),
    "words of 8 bits": (lambda s, o: op.random.bits(s, o, SHAPE, dtype="uint8"), "32 or 64 bits"),
    "a seed that is a vector": (lambda s, o: op.random.bits(rx.const(np.zeros(2, np.int64)), o, SHAPE), "rank 0"),
    "a seed of 32 bits": (lambda s, o: op.random.bits(rx.const(1, "int32"), o, SHAPE), "int64"),
    "chances of more dimensions": (
        lambda s, o: op.random.bernoulli(s, o, SHAPE, rx.const(np.zeros((1, 2), np.float32))), "more dimensions"),
    "chances that do not fit": (
        lambda s, o: op.random.bernoulli(s, o, SHAPE, rx.const(np.zeros(3, np.float32))), "broadcast"),
    "more samples than weights": (
        lambda s, o: op.random.multinomial(s, o, rx.const(np.ones(3, np.float32)), num_samples=4), "fewer weights"),
    "a permutation beyond its dtype": (
        lambda s, o: op.random.permutation(s, o, rx.PrimValue(300), dtype="int8"), "n of at most 128"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_refused(name):
    call, message = WRONG[name]
    builder = rx.BlockBuilder()
    with pytest.raises(TiraxError) as caught, builder.function("main", []):
        builder.emit(call(rx.const(1, "int64"), rx.const(2, "int64")))
    assert message in str(caught.value)
