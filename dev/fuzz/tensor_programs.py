"""Random tensor functions, as MLIR text: stages of loop nests with blocks, each reading what earlier ones wrote.

Loops are plain, split with a predicate, or fused; indices stay in bounds at every size; blocks reduce, pad with
`if_then_else`, or select; some statements have no block.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from ...ir.passes.transform import new_context

DIMS = ("n", "m", "4", "3", "1", "8", "n + 1", "n * 2", "17")
DTYPES = ("f32", "f32", "f32", "i32", "f16", "i64", "f64", "i8")
FLOATS = ("f16", "f32", "f64")


@dataclass
class Stage:
    """The iterators of a loop nest with their extents."""

    iters: list[tuple[str, str]]
    dtype: str


@dataclass
class TensorMaker:
    """A function under construction: lines of text, buffers by name with their extents."""

    rng: random.Random
    dims: tuple[str, ...] = DIMS
    dtypes: tuple[str, ...] = DTYPES
    params: list[str] = field(default_factory=list)
    allocs: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    written: list[tuple[str, list[str], str]] = field(default_factory=list)
    count: int = 0

    def choice(self, items: Any) -> Any:
        return self.rng.choice(list(items))

    def chance(self, one_in: int = 2) -> bool:
        return self.rng.randint(1, one_in) == one_in

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def add(self, text: str) -> None:
        self.lines.append(text)

    def op(self, text: str) -> str:
        """Add a line that defines a value; return the value's name."""
        name = f"%{self.fresh('e')}"
        self.add(f"{name} = {text}")
        return name

    def symbol(self, extent: str) -> str:
        return self.op(f"sym.value {extent} : i64" if not extent.isdigit() else f"tir.const {extent} : i64")

    def number(self, value: Any, dtype: str) -> str:
        return self.op(f"tir.const {float(value) if dtype in FLOATS else int(value)} : {dtype}")

    def buffer(self, dims: list[str], dtype: str) -> str:
        name = self.fresh("A")
        self.params.append(f"%{name}: !tir.buffer<[{', '.join(dims)}], {dtype}>")
        return name

    # expressions

    def index(self, v: str, extent: str) -> tuple[str, str]:
        """Return an index computed from an iterator, and its exclusive upper bound."""
        kind = self.choice(["plain", "plain", "plain", "twice", "half", "reversed", "shifted"])
        one = lambda: self.number(1, "i64")  # noqa: E731
        if kind == "twice":
            return self.op(f"tir.mul {v}, {self.number(2, 'i64')} : i64"), f"({extent}) * 2"
        if kind == "half":
            return self.op(f"tir.floordiv {v}, {self.number(2, 'i64')} : i64"), extent
        if kind == "reversed":
            last = self.symbol(str(int(extent) - 1) if extent.isdigit() else f"{extent} - 1")
            return self.op(f"tir.sub {last}, {v} : i64"), extent
        if kind == "shifted":
            return self.op(f"tir.add {v}, {one()} : i64"), f"{extent} + 1"
        return v, extent

    def load(self, stage: Stage) -> str:
        """Return an element of a parameter, or of an earlier stage with these extents."""
        extents = [e for _, e in stage.iters]
        old = [w for w in self.written if w[1] == extents and w[2] == stage.dtype]
        if old and self.chance():
            name = self.choice(old)[0]
            return self.op(f"tir.load %{name}[{', '.join(v for v, _ in stage.iters)}] : {stage.dtype}")
        some = [it for it in stage.iters if self.chance(4) is False] or stage.iters[:1]
        if self.chance(3):
            some = some[::-1]
        pairs = [self.index(v, e) for v, e in some]
        name = self.buffer([e for _, e in pairs], stage.dtype)
        return self.op(f"tir.load %{name}[{', '.join(i for i, _ in pairs)}] : {stage.dtype}")

    def condition(self, stage: Stage) -> str:
        v, extent = self.choice(stage.iters)
        kind = self.choice(["lt", "ge", "eq"])
        return self.op(f"tir.{kind} {v}, {self.choice([self.number(1, 'i64'), self.symbol(extent)])} : i64")

    def expression(self, stage: Stage, depth: int = 2) -> str:
        t = stage.dtype
        if depth == 0:
            return self.load(stage)
        kind = self.choice(["load", "binary", "binary", "select", "guard", "constant", "cast", "call", "padded"])
        if kind == "binary":
            name = self.choice(["add", "sub", "max", "min"] + (["mul"] if t != "f16" else []))
            a, b = self.expression(stage, depth - 1), self.expression(stage, depth - 1)
            return self.op(f"tir.{name} {a}, {b} : {t}")
        if kind == "select":
            c = self.condition(stage)
            a, b = self.expression(stage, depth - 1), self.expression(stage, depth - 1)
            return self.op(f"tir.select {c}, {a}, {b} : {t}")
        if kind == "guard":
            return self.lazy(self.condition(stage), lambda: self.expression(stage, depth - 1), t)
        if kind == "padded":
            return self.padded(stage)
        if kind == "constant":
            return self.op(f"tir.add {self.number(2, t)}, {self.expression(stage, depth - 1)} : {t}")
        if kind == "cast" and t in ("f32", "i64"):
            v, _ = self.choice(stage.iters)
            i = v if t == "i64" else self.op(f"tir.cast {v} : i64 -> {t}")
            return self.op(f"tir.add {i}, {self.expression(stage, depth - 1)} : {t}")
        if kind == "call" and t in FLOATS:
            return self.op(
                f'tir.call_intrin "{self.choice(["tanh", "sigmoid", "sin", "erf"])}"({self.load(stage)}) : {t}'
            )
        return self.load(stage)

    def lazy(self, condition: str, value: Callable[[], str], dtype: str) -> str:
        outside, self.lines = self.lines, []
        self.add(f"tir.yield {value()} : {dtype}")
        inside, self.lines = self.lines, outside
        other = self.number(0, dtype)
        lines = "\n".join(inside)
        return self.op(f"tir.if_then_else {condition} {{\n{lines}\n}} else {{ tir.yield {other} : {dtype} }}")

    def padded(self, stage: Stage) -> str:
        """Return A[v - 1], padded with zero."""
        v, extent = self.choice(stage.iters)
        name = self.buffer([extent], stage.dtype)
        one = self.number(1, "i64")
        inside = self.op(f"tir.ge {v}, {one} : i64")

        def element() -> str:
            before = self.op(f"tir.sub {v}, {one} : i64")
            return self.op(f"tir.load %{name}[{before}] : {stage.dtype}")

        return self.lazy(inside, element, stage.dtype)

    # loops

    def loop(self, extent: str, kind: str = "") -> str:
        v = f"%{self.fresh('i')}"
        self.add(f"tir.for {kind} {v} = 0 to {extent} {{")
        return v

    def loops(self, extents: list[str], reduction: bool) -> tuple[list[str], str | None, int]:
        """Open loops over extents; return the iterator bindings, a predicate, and the number of loops."""
        form = self.choice(["plain", "plain", "split", "fused"])
        kinds = ["", "", "parallel"] if not reduction else [""]
        if form == "fused" and len(extents) > 1 and not reduction:
            f = self.loop(f"({extents[0]}) * ({extents[1]})", self.choice(kinds))
            by = self.symbol(extents[1])
            first = [self.op(f"tir.{name} {f}, {by} : i64") for name in ("floordiv", "floormod")]
            rest = [self.loop(e) for e in extents[2:]]
            return [*first, *rest], None, len(rest) + 1
        if form != "split":
            return (
                [self.loop(e, self.choice(kinds) if k == 0 else "") for k, e in enumerate(extents)],
                None,
                len(extents),
            )
        cut = self.rng.randrange(len(extents))
        factor = self.choice([3, 4, 5])
        bound: list[str] = []
        for k, e in enumerate(extents):
            if k != cut:
                bound.append(self.loop(e))
                continue
            outer = self.loop(f"({e} + {factor - 1}) floordiv {factor}")
            inner = self.loop(str(factor), self.choice(["", "", "unrolled", "vectorized"] if not reduction else [""]))
            scaled = self.op(f"tir.mul {outer}, {self.number(factor, 'i64')} : i64")
            bound.append(self.op(f"tir.add {scaled}, {inner} : i64"))
        predicate = self.op(f"tir.lt {bound[cut]}, {self.symbol(extents[cut])} : i64")
        return bound, predicate, len(extents) + 1

    def target(self, extents: list[str], dtype: str, last: bool) -> str:
        name = self.fresh("T")
        text = f"!tir.buffer<[{', '.join(extents)}], {dtype}>"
        if last:
            self.params.append(f"%{name}: {text}")
        else:
            self.allocs.append(f"%{name} = tir.alloc_buffer : {text}")
        return name

    def stage(self, last: bool) -> None:
        dtype = self.choice(self.dtypes) if not self.written or self.chance(4) else self.written[-1][2]
        reuse = [w for w in self.written if w[2] == dtype]
        if reuse and self.chance():
            extents = list(self.choice(reuse)[1])
        else:
            extents = [self.choice(self.dims) for _ in range(self.rng.randint(1, 3))]
        name = self.target(extents, dtype, last)
        kind = self.choice(["map", "map", "reduce", "bare"])
        if kind == "bare":
            self.bare(name, extents, dtype)
        else:
            self.blocked(name, extents, dtype, kind == "reduce")
        self.written.append((name, extents, dtype))

    def bare(self, name: str, extents: list[str], dtype: str) -> None:
        """Add loops without a block, optionally with an update of the stored value."""
        loops = [self.loop(e) for e in extents]
        stage = Stage(list(zip(loops, extents, strict=True)), dtype)
        where = ", ".join(loops)
        self.add(f"tir.store {self.expression(stage)}, %{name}[{where}]")
        if self.chance(3):
            condition = self.condition(stage)
            self.add(f"tir.if {condition} {{")
            old = self.op(f"tir.load %{name}[{where}] : {dtype}")
            new = self.op(f"tir.add {old}, {self.load(stage)} : {dtype}")
            self.add(f"tir.store {new}, %{name}[{where}]\n}}")
        self.add("}" * len(loops))

    def blocked(self, name: str, extents: list[str], dtype: str, reduce: bool) -> None:
        over = [*extents, self.choice(self.dims)] if reduce else extents
        bound, predicate, count = self.loops(over, reduce)
        kinds = ["spatial"] * len(extents) + ["reduce"] * reduce
        iters = [f"%{self.fresh('v')}" for _ in over]
        head = ", ".join(f"{v} = {k}({b}, {e})" for v, k, b, e in zip(iters, kinds, bound, over, strict=True))
        where = f" where {predicate}" if predicate else ""
        self.add(f'tir.block "{name}" ({head}){where} {{')
        at = ", ".join(iters[: len(extents)])
        stage = Stage(list(zip(iters, over, strict=True)), dtype)
        if reduce:
            self.add(f"tir.init {{\n%z{name} = tir.const {'0.0' if dtype in FLOATS else '0'} : {dtype}")
            self.add(f"tir.store %z{name}, %{name}[{at}]\n}}")
            value = self.expression(stage, 1)
            old = self.op(f"tir.load %{name}[{at}] : {dtype}")
            combine = self.choice(["add", "max"] if dtype != "f16" else ["max"])
            value = self.op(f"tir.{combine} {old}, {value} : {dtype}")
        else:
            value = self.expression(stage)
        self.add(f"tir.store {value}, %{name}[{at}]\n}}" + "}" * count)

    def text(self) -> str:
        body = "\n".join([*self.allocs, *self.lines])
        return f"tir.func @main({', '.join(self.params)}) attributes {{tir.noalias = true}} {{\n{body}\n}}\n"


def tensor_program(rng: random.Random, most: int = 3, **options: Any) -> ModuleOp:
    """Return a module with one tensor function, `main`."""
    maker = TensorMaker(rng, **options)
    stages = rng.randint(1, most)
    for var in ("n", "m"):
        maker.buffer([var], "f32")
    for i in range(stages):
        maker.stage(last=i == stages - 1 or maker.chance(3))
    return Parser(new_context(), maker.text()).parse_module()
