"""Iterations that run at once give the same bits, and fail with the same words, as iterations that run in turn."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strength import drawn, only_full
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tirax.interpreter import InterpreterError, interpret
from tirax.interpreter import vectorized as vectorized_module
from tirax.interpreter.tir import TirSemantics
from tirax.ir.passes.transform import new_context
from tirax.transforms.fusion.fuse_ops import FuseOps
from tirax.transforms.fusion.fuse_tir import FuseTIR
from tirax.transforms.fusion.pattern import AnnotateTIROpPattern
from tirax.transforms.legalize import LegalizeOps

DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i32": np.int32,
    "i8": np.int8,
}
FLOATS = ("f32", "f16", "bf16")
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Writer:
    """Writes a random nest over %X and %C ([4, 4]) and %I ([4], of i64)."""

    def __init__(self, draw: Draw, dtype: str):
        self.draw, self.dtype = draw, dtype
        self.lines: list[str] = []
        self.numbers = count()

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def emit(self, text: str) -> str:
        name = f"%t{next(self.numbers)}"
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, value: int) -> str:
        return self.emit(f"tir.const {value} : i64")

    def index(self, iters: list[str], *, wild: bool) -> str:
        """An index from 0 to 3, if not `wild`."""
        i = self.pick(*iters)
        kind = self.pick("plain", "shift", "product", "gather")
        if kind == "shift":
            i = self.emit(f"tir.add {i}, {self.constant(self.pick(-1, 1))} : i64")
        elif kind == "product":
            i = self.emit(f"tir.mul {i}, {self.pick(*iters)} : i64")
        if not wild:
            i = self.emit(f"tir.floormod {i}, {self.constant(4)} : i64")
            i = self.emit(f"tir.load %I[{i}] : i64") if kind == "gather" else i
        return i

    def load(self, iters: list[str], *, wild: bool = False) -> str:
        at = [self.index(iters, wild=wild) for _ in range(2)]
        buffer = self.pick("%X", "%X", "%X", "%C")
        return self.emit(f"tir.load {buffer}[{at[0]}, {at[1]}] : {self.dtype}")

    def value(self, iters: list[str], place: str, depth: int) -> str:
        d = self.dtype
        kinds = ["const", "load", "own", "here"] + ["binary", "select", "guard", "call", "cast", "let"] * (depth > 0)
        kind = self.pick(*kinds)
        if kind == "const":
            number = self.pick(-2, 0, 1, 3)
            return self.emit(f"tir.const {float(number) if d in FLOATS else number} : {d}")
        if kind == "load":
            return self.load(iters, wild=self.pick(False, False, False, True))
        if kind in ("own", "here"):
            return self.emit(f"tir.load {'%C' if kind == 'own' else '%X'}[{place}] : {d}")
        return getattr(self, kind)(iters, place, depth - 1)

    def binary(self, iters: list[str], place: str, depth: int) -> str:
        op = self.pick("add", "sub", "mul", "min", "max", "div", "floordiv", "floormod", "truncmod")
        a, b = (self.value(iters, place, depth) for _ in range(2))
        return self.emit(f"tir.{op} {a}, {b} : {self.dtype}")

    def let(self, iters: list[str], place: str, depth: int) -> str:
        a = self.value(iters, place, depth)
        return self.emit(f"tir.let {a} : {self.dtype} -> {self.dtype}")

    def condition(self, iters: list[str]) -> str:
        op = self.pick("lt", "ge", "eq")
        return self.emit(f"tir.{op} {self.pick(*iters)}, {self.constant(self.pick(0, 1, 2, 4))} : i64")

    def select(self, iters: list[str], place: str, depth: int) -> str:
        a, b = (self.value(iters, place, depth) for _ in range(2))
        return self.emit(f"tir.select {self.condition(iters)}, {a}, {b} : {self.dtype}")

    def guard(self, iters: list[str], place: str, depth: int) -> str:
        """A side that may read out of bounds, on the lanes that do not take it and now and then on those that do."""
        i, j = self.pick(*iters), self.pick(*iters)
        bad = self.emit(f"tir.add {i}, {self.constant(self.pick(-1, 1, 2))} : i64")
        low = self.emit(f"tir.ge {bad}, {self.constant(0)} : i64")
        high = self.emit(f"tir.lt {bad}, {self.constant(self.pick(4, 4, 4, 5))} : i64")
        cond = self.emit(f"tir.and {low}, {high} : i1")
        name = f"%t{next(self.numbers)}"
        self.lines.append(f"{name} = tir.if_then_else {cond} {{")
        inside = self.emit(f"tir.load %X[{bad}, {j}] : {self.dtype}")
        self.lines.append(f"tir.yield {inside} : {self.dtype} }} else {{")
        other = self.value(iters, place, depth)
        self.lines.append(f"tir.yield {other} : {self.dtype} }}")
        return name

    def call(self, iters: list[str], place: str, depth: int) -> str:
        a = self.value(iters, place, depth)
        names = ("exp", "sqrt", "tanh", "erf", "pow") if self.dtype in FLOATS else ("abs", "popcount", "clz")
        func = self.pick(*names)
        args = f"{a}, {a}" if func == "pow" else a
        return self.emit(f'tir.call_intrin "{func}"({args}) : {self.dtype}')

    def cast(self, iters: list[str], place: str, depth: int) -> str:
        wide = self.emit(f"tir.cast {self.value(iters, place, depth)} : {self.dtype} -> f64")
        if self.dtype in FLOATS:
            return self.emit(f"tir.cast {wide} : f64 -> {self.dtype}")
        low, high = (self.emit(f"tir.const {v} : f64") for v in (-100.0, 100.0))
        bounded = self.emit(f"tir.min {high}, {self.emit(f'tir.max {wide}, {low} : f64')} : f64")
        return self.emit(f"tir.cast {bounded} : f64 -> {self.dtype}")

    def loops(self) -> tuple[list[str], int]:
        """Opens loops in some order; the values of two spatial and up to two reduction iterators, the loops' number."""
        names = ["%a", "%b", "%r", "%q"][: 2 + self.pick(0, 1, 1, 2)]
        split = self.pick(False, False, True)
        heads = [*names, *(["%a1"] if split else [])]
        for name in self.draw(st.permutations(heads)):
            low, extent = (
                (0, 2) if split and name in ("%a", "%a1") else self.pick((0, 4), (0, 3), (1, 3), (0, 1), (2, 1))
            )
            if self.pick(*range(30)) == 0:
                low, extent = self.pick((0, 5), (0, 0), (-1, 3))
            kind = self.pick("", "", "parallel ", "vectorized ", "unrolled ")
            self.lines.append(f"tir.for {kind}{name} = {low} for {extent} {{")
        if split:
            outer = self.emit(f"tir.mul %a, {self.constant(2)} : i64")
            names[0] = self.emit(f"tir.add {outer}, %a1 : i64")
        return names, len(heads)

    def block(self, values: list[str], predicate: str | None) -> list[str]:
        iters = ["%va", "%vb", "%vr", "%vq"][: len(values)]
        kinds = ["spatial", "spatial", "reduce", "reduce"]
        rows = ", ".join(f"{v} = {k}({x}, 4)" for v, k, x in zip(iters, kinds, values, strict=False))
        self.lines.append(f'tir.block "b" ({rows}) {"" if predicate is None else f"where {predicate} "}{{')
        return iters

    def place(self, iters: list[str]) -> str:
        a, b = self.draw(st.permutations(iters[:2]))
        if self.pick(*range(5)) == 0:
            a = self.emit(f"tir.floordiv {a}, {self.constant(2)} : i64")
        elif self.pick(*range(5)) == 0:
            a = self.emit(f"tir.sub {self.constant(3)}, {a} : i64")
        return f"{a}, {b}"

    def store(self, iters: list[str], place: str, depth: int) -> None:
        value = self.value(iters, place, depth)
        self.lines.append(f"tir.store {value}, %C[{place}]")

    def program(self) -> str:
        values, depth = self.loops()
        predicate = self.condition(values) if self.pick(False, True) else None
        block = self.pick(True, True, False)
        if block:
            iters = self.block(values, predicate)
            depth += 1
        else:
            iters = values
            if predicate is not None:
                self.lines.append(f"tir.if {predicate} {{")
                depth += 1
        place = self.place(iters)
        if block and self.pick(True, False):
            self.lines.append("tir.init {")
            self.store(iters[:2], place, 1)
            self.lines.append("}")
        for _ in range(self.pick(1, 1, 2)):
            self.store(iters, place, 3)
        body = "\n".join(self.lines) + "}" * depth
        buffers = f"%X: !tir.buffer<[4, 4], {self.dtype}>, %I: !tir.buffer<[4], i64>"
        return f"tir.func @f({buffers}, %C: !tir.buffer<[4, 4], {self.dtype}>) {{\n{body}\n}}"


@st.composite
def programs(draw: Draw) -> tuple[str, str]:
    dtype = draw(st.sampled_from(list(DTYPES)))
    return dtype, Writer(draw, dtype).program()


def bits(array: Any) -> bytes:
    """The bytes, with one NaN for all."""
    array = array.copy()
    if array.dtype.kind not in "iub":
        array[np.isnan(array)] = np.nan
    return array.tobytes()


def outcome(module: ModuleOp, arrays: list[Any], same: bool, vectorize: bool) -> tuple[str, list[bytes]]:
    """What went wrong, if something did, and the bytes of the arrays; `same` passes the first one as the last, too."""
    arrays = [a.copy() for a in arrays]
    if same:
        arrays[-1] = arrays[0]
    try:
        interpret(module, "f", arrays, vectorize=vectorize)
    except InterpreterError as error:
        return str(error), [bits(a) for a in arrays]
    return "", [bits(a) for a in arrays]


def parsed(text: str) -> ModuleOp:
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


@only_full
@drawn(150, 60)
@given(programs(), st.integers(0, 1000), st.sampled_from([False, False, True]), st.sampled_from([1, 3, 1 << 22]))
def test_both_ways_agree_bit_for_bit(program: tuple[str, str], seed: int, same: bool, most: int) -> None:
    dtype, text = program
    rng = np.random.default_rng(seed)
    x, c = ((rng.random((2, 4, 4)) * 8 - 4) * (3 if dtype in FLOATS else 1)).astype(DTYPES[dtype])
    arrays = [x, rng.integers(0, 4, 4), c]
    module = parsed(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectorized_module, "MOST_LANES", most)
        assert outcome(module, arrays, same, True) == outcome(module, arrays, same, False)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the loops that were reached ran at once, in order."""
    results: list[bool] = []
    ask = TirSemantics.loop_at_once

    def note(self: TirSemantics, interpreter: Any, op: Any) -> bool:
        results.append(ask(self, interpreter, op))
        return results[-1]

    monkeypatch.setattr(TirSemantics, "loop_at_once", note)
    return results


HEAD = "tir.func @f(%X: !tir.buffer<[8], f32>, %C: !tir.buffer<[9], f32>) { %one = tir.const 1 : i64 "
X, C = np.arange(8, dtype="float32"), np.arange(10, 19, dtype="float32")


def run(body: str, x: Any, c: Any, *, vectorize: bool = True) -> Any:
    """%C after `body`."""
    x = x.copy()
    c = x if c is None else c.copy()
    text = HEAD if c.shape == (9,) else HEAD.replace("<[9]", "<[8]")
    interpret(parsed(text + body + "}"), "f", [x, c], vectorize=vectorize)
    return c


PREFIX_SUM = """tir.for %i = 0 to 8 {
  %next = tir.add %i, %one : i64
  %c = tir.load %C[%i] : f32
  %x = tir.load %X[%i] : f32
  %s = tir.add %c, %x : f32
  tir.store %s, %C[%next]
}"""
PAIRS = """tir.for %i = 0 to 8 {
  %two = tir.const 2 : i64
  %half = tir.floordiv %i, %two : i64
  %c = tir.load %C[%half] : f32
  %x = tir.load %X[%i] : f32
  %s = tir.add %c, %x : f32
  tir.store %s, %C[%half]
}"""
EARLY_LOAD = """tir.for %i = 0 to 8 {
  %c = tir.load %C[%i] : f32
  tir.for %j = 0 to 8 {
    %x = tir.load %X[%j] : f32
    %s = tir.add %c, %x : f32
    tir.store %s, %C[%i]
  }
}"""
SCATTER = """tir.for %i = 0 to 8 {
  %x = tir.load %X[%i] : f32
  %at = tir.cast %x : f32 -> i64
  tir.store %x, %C[%at]
}"""
TOTAL = """tir.for %i = 0 to 8 {
  %zero = tir.const 0 : i64
  %c = tir.load %C[%zero] : f32
  %x = tir.load %X[%i] : f32
  %s = tir.add %c, %x : f32
  tir.store %s, %C[%zero]
}"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PREFIX_SUM, np.concatenate([C[:1], C[0] + np.cumsum(X)])),
        (PAIRS, np.concatenate([C[:4] + X[::2] + X[1::2], C[4:]])),
        (EARLY_LOAD, np.concatenate([C[:8] + X[-1], C[8:]])),
        (SCATTER, np.concatenate([X, C[8:]])),
        (TOTAL, np.concatenate([C[:1] + X.sum(), C[1:]])),
    ],
)
def test_iterations_that_meet_run_in_order(body: str, expected: Any, at_once: list[bool]) -> None:
    np.testing.assert_array_equal(run(body, X, C), expected)
    assert not at_once[0]


REVERSED = """tir.for %i = 0 to 8 {
  %last = tir.const 7 : i64
  %j = tir.sub %last, %i : i64
  %x = tir.load %X[%j] : f32
  tir.store %x, %C[%i]
}"""
DOUBLED = """tir.for %i = 0 to 8 {
  %x = tir.load %X[%i] : f32
  %d = tir.add %x, %x : f32
  tir.store %d, %C[%i]
}"""


@pytest.mark.parametrize(
    ("body", "same", "expected", "independent"),
    [
        (REVERSED, False, X[::-1], True),
        (REVERSED, True, [7, 6, 5, 4, 4, 5, 6, 7], False),
        (DOUBLED, False, 2 * X, True),
        (DOUBLED, True, 2 * X, True),
    ],
)
def test_buffers_that_share_memory(
    body: str, same: bool, expected: Any, independent: bool, at_once: list[bool]
) -> None:
    np.testing.assert_array_equal(run(body, X, None if same else np.zeros(8, "float32")), expected)
    assert at_once == [independent]


SPLIT = """tir.for %a = 0 to 3 {
  tir.for vectorized %b = 0 to 4 {
    %four = tir.const 4 : i64
    %m = tir.mul %a, %four : i64
    %s = tir.add %m, %b : i64
    %end = tir.const 9 : i64
    %p = tir.lt %s, %end : i64
    tir.block "b" (%v = spatial(%s, 9)) where %p {
      %one_less = tir.sub %v, %one : i64
      %zero = tir.const 0 : i64
      %ok = tir.ge %one_less, %zero : i64
      %r = tir.if_then_else %ok {
        %x = tir.load %X[%one_less] : f32
        tir.yield %x : f32
      } else {
        %f = tir.const -1.0 : f32
        tir.yield %f : f32
      }
      tir.store %r, %C[%v]
    }
  }
}"""


@pytest.mark.parametrize("most", [1, 5, 100])
def test_predicates_and_lazy_sides_mask_lanes(most: int, at_once: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorized_module, "MOST_LANES", most)
    np.testing.assert_array_equal(run(SPLIT, X, C), [-1, *X])
    assert at_once == [True]


def test_a_failure_names_the_first_iteration(at_once: list[bool]) -> None:
    body = DOUBLED.replace("0 to 8", "0 to 11")
    with pytest.raises(InterpreterError, match="out of bounds") as caught:
        run(body, X, np.zeros(8, "float32"))
    assert "found: 8" in str(caught.value)
    assert at_once == [False]


def test_switched_off(at_once: list[bool]) -> None:
    np.testing.assert_array_equal(run(REVERSED, X, np.zeros(8, "float32"), vectorize=False), X[::-1])
    assert at_once == []


NETWORK = """
relax.func @main(%x: !relax.tensor<[n, 784], f32>, %w: !relax.tensor<[784, 128], f32>, %b: !relax.tensor<[128], f32>)
    -> !relax.tensor<[n, 128], f32> {
  %o = relax.dataflow {
    %m = relax.matmul %x, %w : !relax.tensor<[n, 128], f32>
    %a = relax.add %m, %b : !relax.tensor<[n, 128], f32>
    %r = relax.nn.relu %a : !relax.tensor<[n, 128], f32>
    relax.output %r : !relax.tensor<[n, 128], f32>
  }
  relax.return %o : !relax.tensor<[n, 128], f32>
}
"""


def test_a_network_runs_at_once(at_once: list[bool]) -> None:
    module = AnnotateTIROpPattern()(LegalizeOps()(parsed(NETWORK)))
    lowered = FuseTIR()(FuseOps()(module))
    rng = np.random.default_rng(0)
    x, w, b = (rng.random(shape, "float32") - 0.5 for shape in ((5, 784), (784, 128), (128,)))
    result = interpret(lowered, "main", [x, w, b])
    np.testing.assert_allclose(result, np.maximum(x @ w + b, 0), rtol=1e-4, atol=1e-4)
    assert at_once and all(at_once)
