"""Rows of intermediate values: computed in the loop of their sum, multiplied by reciprocals; when memory is asked."""

from typing import Any

import numpy as np
import pytest
from xdsl.parser import Parser

from tirax.dialects import tir as tir_dialect
from tirax.driver.pipelines import LOWERING, OPTIMIZE, SCHEDULE, make_passes
from tirax.ir.passes.transform import Sequential, module_op, new_context
from tirax.runtime import set_num_threads
from tirax.schedule.cpu.library.compute_at_first_use import compute_at_first_use
from tirax.target import Target
from tirax.tvm_api import relax, tir

op = relax.op
TARGETS = ["llvm"] + (["llvm -mcpu=haswell"] if {"avx2", "fma"} <= Target().features else [])
RNG = np.random.default_rng(5)


def module(function: Any, *shapes: tuple, dtype: str = "float32") -> Any:
    names = sorted({d for shape in shapes for d in shape if isinstance(d, str)})
    variables = {name: tir.Var(name, "int64") for name in names}
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"a{i}", relax.TensorStructInfo([variables.get(d, d) for d in shape], dtype))
        for i, shape in enumerate(shapes)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(function(*params)))
        builder.emit_func_output(result)
    return builder.get()


def scheduled(mod: Any, target: str = "llvm -mcpu=x86-64-v4 -num-cores=1") -> str:
    upto = [*OPTIMIZE, *SCHEDULE[: SCHEDULE.index("default-schedule") + 1]]
    return str(module_op(Sequential(make_passes(upto, target))(mod)))


def softmax(x: Any) -> Any:
    return op.nn.softmax(x, -1)


def unit(x: Any) -> Any:
    return op.divide(x, op.sqrt(op.sum(op.multiply(x, x), axis=-1, keepdims=True)))


def in_double(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True).astype(np.float64)) if x.size else x
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("target", TARGETS)
def test_softmax_is_near_what_doubles_give(target):
    for shapes in (("n", "m"), (3, 1000), (2, 3, 65)):
        function = relax.build(module(softmax, shapes), target)["main"]
        for n, m in ((0, 7), (1, 1), (3, 15), (2, 64), (5, 333)):
            shape = tuple({"n": n, "m": m}.get(d, d) for d in shapes)
            x = (3 * RNG.standard_normal(shape)).astype("float32")
            np.testing.assert_allclose(function(x), in_double(x), rtol=3e-6)


def test_doubles_too():
    x = RNG.standard_normal((4, 300))
    result = relax.build(module(softmax, (4, 300), dtype="float64"), "llvm")["main"](x)
    np.testing.assert_allclose(result, in_double(x), rtol=1e-14)


def test_rows_of_infinities_and_of_what_is_no_number():
    x = RNG.standard_normal((4, 70)).astype("float32")
    x[0, 3], x[1], x[2, 5], x[3, 7] = np.nan, -np.inf, np.inf, -np.inf
    y = relax.build(module(softmax, x.shape), "llvm")["main"](x)
    assert np.isnan(y[:2]).all() and np.isnan(y[2, 5]) and y[3, 7] == 0
    np.testing.assert_allclose(y[3].sum(), 1, rtol=1e-6)


def test_divisors_without_a_normal_reciprocal():
    """The smallest and greatest divisors, zero among them, divide."""
    x = np.ones((6, 70), "float32") * np.array([[1], [1e-22], [2e18], [0], [1e-18], [np.inf]], "float32")
    with np.errstate(all="ignore"):
        expected = x / np.sqrt((x * x).sum(-1, keepdims=True))
    np.testing.assert_allclose(relax.build(module(unit, x.shape), "llvm")["main"](x), expected, rtol=1e-6)


def test_exponentials_are_computed_in_the_loop_of_their_sum():
    text = scheduled(module(softmax, (64, 1024)))
    assert text.count('"exp"') == 1
    (loop,) = (part for part in text.split("tir.for %k_tile")[1:] if '"exp"' in part)
    before, after = loop.split('"exp"')
    assert "tir.for vectorized" in before and before.count("tir.load") == 3, loop  # the sum, x, the greatest
    assert after.index("tir.store") < after.index("tir.add"), loop


def test_what_is_left_of_a_row_too():
    text = scheduled(module(softmax, (64, 1000)))
    assert text.count('"exp"') == 2


def test_a_row_is_multiplied_by_one_reciprocal():
    text = scheduled(module(softmax, (64, 1024)))
    good, bad = text.split("tir.if")[1].split("} else {")
    assert good.index("tir.div") < good.index("tir.for vectorized") < good.index("tir.mul")
    assert "tir.div" not in good[good.index("tir.for vectorized") :] and "tir.div" in bad


def test_an_argument_divides_exactly():
    mod = module(lambda x, s: op.divide(x, s), (64, 100), (64, 1))
    assert "tir.div" in scheduled(mod) and "tir.if" not in scheduled(mod)
    x, s = RNG.standard_normal((64, 100)).astype("float32"), RNG.standard_normal((64, 1)).astype("float32")
    np.testing.assert_array_equal(relax.build(mod, "llvm")["main"](x, s), x / s)


ROWS = """
tir.func @rows(%X: !tir.buffer<[128], f32>, %Y: !tir.buffer<[128], f32>, %S: !tir.buffer<[64], f32>) {
  %E = tir.alloc_buffer : !tir.buffer<[128], f32>
  tir.for vectorized %j = 0 to 128 {
    %x = tir.load %X[%j] : f32
    %e = tir.call_intrin "exp"(%x) : f32
    tir.store %e, %E[%j]
  }
  BETWEEN
  tir.for %k = 0 to STEPS {
    tir.for vectorized %c = 0 to 64 {
      %w = tir.const 64 : i64
      %first = tir.mul %k, %w : i64
      %at = tir.add %first, %c : i64
      %s = tir.load %S[%c] : f32
      %v = tir.load %E[PLACE] : f32
      %t = tir.add %s, %v : f32
      tir.store %t, %S[%c]
    }
  }
}
"""


@pytest.mark.parametrize(
    ("between", "steps", "place", "moves"),
    [
        ("", "2", "%at", True),
        ("", "1", "%at", False),  # not all of the row
        ("", "3", "%at", False),  # more than the row
        ("", "2", "%c", False),  # not in order
        ("%z = tir.const 0 : i64\n%a = tir.load %E[%z] : f32\ntir.store %a, %Y[%z]", "2", "%at", False),  # read before
        ("%z = tir.const 0 : i64\n%a = tir.load %Y[%z] : f32\ntir.store %a, %X[%z]", "2", "%at", False),  # it changes
        ("%z = tir.const 0 : i64\n%a = tir.load %X[%z] : f32\ntir.store %a, %Y[%z]", "2", "%at", True),
    ],
)
def test_rows_move_only_to_where_they_are_read_once_and_in_order(between, steps, place, moves):
    text = ROWS.replace("BETWEEN", between).replace("STEPS", steps).replace("PLACE", place)
    func = Parser(new_context(), text).parse_module().body.block.first_op
    assert isinstance(func, tir_dialect.FuncOp)
    compute_at_first_use(func.body.block)
    func.verify()
    serial = next(o for o in func.walk() if isinstance(o, tir_dialect.ForOp) and o.kind.value == "serial")
    assert ('"exp"' in str(serial)) == moves
    assert str(func).count('"exp"') == 1


def lowered(mod: Any, last: str, target: str = "llvm -mcpu=x86-64-v4 -num-cores=1") -> str:
    passes = [*OPTIMIZE, *SCHEDULE, *LOWERING]
    return str(module_op(Sequential(make_passes(passes[: passes.index(last) + 1], target))(mod)))


def test_the_next_row_is_prefetched_while_one_is_computed():
    text = scheduled(module(softmax, (300, 1024)))
    (loop,) = (part for part in text.split("tir.for %k_tile")[1:] if '"exp"' in part)
    assert loop.split('"exp"')[0].count('"llvm.prefetch"') == 8, loop  # 64 elements of x and of the result
    assert '"llvm.prefetch"' not in scheduled(module(softmax, (30, 1024)))  # in the cache


def test_large_results_go_past_the_caches():
    large = module(softmax, (4096, 2048))
    text = scheduled(large)
    (loop,) = (part for part in text.split("tir.for %k_tile")[1:] if '"exp"' in part)
    assert text.count('"tirax_streamed"') == 2 and loop.split('"exp"')[0].count('"llvm.prefetch"') == 4
    text = lowered(large, "convert-tir-to-scf")
    stores = [line for line in text.splitlines() if "vector.store" in line and "nontemporal = true" in line]
    assert len(stores) == 2 and all("alignment = 64" in line for line in stores)
    assert "tirax_streamed" not in scheduled(module(softmax, (256, 512)))


@pytest.mark.parametrize(("rows", "requests"), [(1024, None), (4096, 2)])
def test_large_results_of_what_is_read_are_prefetched(rows, requests):
    """4 and 16 MiB; the second is larger than the last cache."""
    text = scheduled(module(op.add, (rows, 1024), (rows, 1024)))
    assert ("tirax_streamed" in text) == (requests is not None)
    assert text.count('"llvm.prefetch"') == (requests or 0)


@pytest.mark.parametrize("shape", [(1 << 21,), ((1 << 21) + 7,), (1030, 2049), (2, 2048, 512)])
def test_what_is_prefetched_arrives(shape):
    x = RNG.standard_normal(shape, dtype="float32")
    main = relax.build(module(lambda x: op.add(op.abs(x), x), shape), target="llvm -l3-size=1048576")["main"]
    np.testing.assert_array_equal(main(x), np.abs(x) + x)


@pytest.mark.parametrize("width", [2048, 2051])
def test_results_that_go_past_the_caches_arrive(width):
    """With a width of 2051 most vectors do not lie in one line."""
    x = np.tile(RNG.standard_normal((1, width), dtype="float32"), (4100, 1))
    x += np.arange(4100, dtype="float32")[:, None] * 1e-3
    function = relax.build(module(softmax, x.shape), "llvm")["main"]
    for threads in (1, 2):
        set_num_threads(threads)
        result = function(x)
        set_num_threads(None)
        np.testing.assert_allclose(result[::97], in_double(x[::97]), rtol=3e-6)
        np.testing.assert_allclose(result.sum(-1), 1, rtol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_rows_side_by_side_ask_for_their_lines(target):
    mod = module(op.matmul, ("b", 1, 83), ("b", 83, 1043))
    text = scheduled(mod, target)
    streams = 8 if Target(target).vector_bits >= 512 else 4
    assert text.count('"llvm.prefetch"') == streams and "_line" in text
    function = relax.build(mod, target)["main"]
    for b in (0, 1, 3):
        w = RNG.standard_normal((b, 83, 1043), dtype="float32")
        x = RNG.standard_normal((b, 1, 83), dtype="float32")
        np.testing.assert_allclose(function(x, w), x.astype("float64") @ w, rtol=2e-4, atol=2e-4)


def test_threads_share_rows_that_ask_for_their_lines():
    mod = module(op.matmul, (64, 1, 40), (64, 40, 1024))
    upto = [*OPTIMIZE, *SCHEDULE[: SCHEDULE.index("parallelize-loops") + 1]]
    text = str(module_op(Sequential(make_passes(upto, "llvm -mcpu=x86-64-v4 -num-cores=2"))(mod)))
    assert '"llvm.prefetch"' in text and "tir.for parallel" in text
    function = relax.build(mod, "llvm -num-cores=2")["main"]
    x, w = RNG.standard_normal((64, 1, 40), dtype="float32"), RNG.standard_normal((64, 40, 1024), dtype="float32")
    set_num_threads(2)
    try:
        np.testing.assert_allclose(function(x, w), x.astype("float64") @ w, rtol=2e-4, atol=2e-4)
    finally:
        set_num_threads(None)


def test_rows_of_unknown_numbers_are_counted_as_one():
    """(n, m) rows are n m rows: what tiles leave over is left over once."""
    w = RNG.standard_normal((8, 48)).astype("float32")
    mod = module(lambda x, w: op.nn.relu(op.matmul(x, w)), ("n", "m", 8), (8, 48))
    assert "(n * m) floordiv" in scheduled(mod)
    function = relax.build(mod, "llvm")["main"]
    for n, m in ((0, 3), (1, 1), (3, 7), (4, 20)):
        x = RNG.standard_normal((n, m, 8)).astype("float32")
        np.testing.assert_allclose(function(x, w), np.maximum(x @ w, 0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("l2", "asks"), [(1 << 20, True), (1 << 19, True), (1 << 18, False), (1 << 23, False)])
def test_tiles_ask_for_the_next_part_of_packed_weights(l2, asks):
    """3 MiB in twelve parts: a cache holds two of them, pieces of two, not even these, or all."""
    w = RNG.standard_normal((1024, 768), dtype="float32")
    bb, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo((1, 31, 1024), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.matmul(x, relax.const(w))))
    text = scheduled(bb.get(), f"llvm -mcpu=x86-64-v4 -num-cores=1 -l2-size={l2}")
    assert ("llvm.prefetch" in text) == asks and ("_piece" in text) == (l2 == 1 << 19)
    if asks:
        a = RNG.standard_normal((1, 31, 1024), dtype="float32")
        function = relax.build(bb.get(), f"llvm -l2-size={l2}")["main"]
        np.testing.assert_allclose(function(a), a.astype("float64") @ w, rtol=2e-4, atol=2e-3)
