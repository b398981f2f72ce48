"""Programs whose blocks run under conditions, what they compute by numpy, and steps of schedules to take with them.

A program has loops `i` and `j` over `n` and `m`, numbers or symbolic sizes, and a condition on them: as `T.where` of a
block, as a branch around it, or as a branch in it around what it stores. Elements that nothing stores are -1 in the
output, and no value anywhere else: `Program.expected` says which elements have one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray[Any, Any]]
Holds = Callable[[Any, Any, Arrays], Any]
"""(i, j, data) -> whether a condition holds there."""

CONDITIONS: dict[str, tuple[str, Holds]] = {
    "none": ("", lambda i, j, d: True),
    "<": ("j < 5", lambda i, j, d: j < 5),
    ">=": ("j >= 3", lambda i, j, d: j >= 3),
    "==": ("j == 0", lambda i, j, d: j == 0),
    "!=": ("j != 2", lambda i, j, d: j != 2),
    "%": ("j % 2 == 0", lambda i, j, d: j % 2 == 0),
    "the outer loop": ("i >= 1", lambda i, j, d: i >= 1),
    "two loops": ("j <= i", lambda i, j, d: j <= i),
    "a sum": ("i + j < 7", lambda i, j, d: i + j < 7),
    "a quotient": ("j // 2 <= i", lambda i, j, d: j // 2 <= i),
    "a position": ("i * {m} + j < 27", lambda i, j, d: i * d["A"].shape[1] + j < 27),
    "a buffer": ("M[j] < 4", lambda i, j, d: d["M"][j] < 4),
    "a buffer of the outer loop": ("K[i] > 1", lambda i, j, d: d["K"][i] > 1),
    "a matrix": ("L[i, j] > 1", lambda i, j, d: d["L"][i, j] > 1),
    "a float": ("A[i, j] > T.float32(0.5)", lambda i, j, d: d["A"][i, j] > 0.5),
    "negated": ("not (j == 3)", lambda i, j, d: j != 3),
    "a buffer negated": ("not (M[j] > 2)", lambda i, j, d: d["M"][j] <= 2),
    "two parts": ("i >= 1 and M[j] < 4", lambda i, j, d: (i >= 1) & (d["M"][j] < 4)),
    "or": ("j < 2 or M[j] > 2", lambda i, j, d: (j < 2) | (d["M"][j] > 2)),
    "nested": (
        "(j < 2 or i > 1) and not (j % 3 == 1)",
        lambda i, j, d: ((j < 2) | (i > 1)) & (j % 3 != 1),
    ),
    "a choice": ("T.if_then_else(i < 2, j, 7 - j) < 5", lambda i, j, d: np.where(i < 2, j, 7 - j) < 5),
    "never": ("j < 0", lambda i, j, d: j < 0),
}

OF_POINTS: dict[str, Callable[[Any, Arrays], Any]] = {
    "the outer loop": lambda i, d: i >= 1,
    "a buffer of the outer loop": lambda i, d: d["K"][i] > 1,
    "two parts": lambda i, d: i >= 1,
}
"""What parts of conditions say of the outer loop alone: a sum of nothing has its init only there."""

FORMS = ("where", "around", "inside")
"""Where the condition stands: in `T.where`, around the block, or in the block around what it stores."""


def data(n: int, m: int) -> dict[str, np.ndarray[Any, Any]]:
    """Inputs of the programs: the first of each row and column are those that conditions hold for."""
    rng = np.random.default_rng(10 * n + m)
    vector, matrix = rng.integers(0, 6, m), rng.integers(0, 5, (n, m))
    vector[:1], matrix[:, :1] = 1, 2
    outer = np.arange(n) % 3
    values = rng.random((n, m)).astype("float32")
    values[:, :1] += 0.5
    integers = {"M": vector, "K": outer, "L": matrix}
    return {"A": values, **{name: array.astype("int32") for name, array in integers.items()}}


@dataclass(frozen=True)
class Program:
    """One program under one condition."""

    kind: str
    condition: str
    form: str = "where"
    n: int | str = 4
    m: int | str = 8

    @property
    def text(self) -> str:
        """The condition as the program has it."""
        return CONDITIONS[self.condition][0].format(m=self.m)

    def source(self) -> str:
        """The program as TVMScript."""
        return f"from tvm.script import tir as T\n@T.prim_func\ndef main({self._parameters()}{_KINDS[self.kind](self)}"

    def output(self, n: int, m: int) -> np.ndarray[Any, Any]:
        """The output before the program runs."""
        return np.full((n,) if self.kind in ("reduced", "reducing") else (n, m), -1, "float32")

    def expected(self, n: int, m: int) -> tuple[Any, Any]:
        """What the program gives for `data(n, m)`, and where that is a value."""
        arrays = data(n, m)
        i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
        holds = np.broadcast_to(CONDITIONS[self.condition][1](i, j, arrays), (n, m))
        begun = np.broadcast_to(OF_POINTS.get(self.condition, lambda i, d: True)(np.arange(n), arrays), (n,))
        begun = np.ones(n, bool) if self.form == "inside" else holds[:, 0] if m else begun
        return _EXPECTED[self.kind](holds, arrays["A"], begun)

    def _parameters(self) -> str:
        n, m = self.n, self.m
        out = f"({n},)" if self.kind in ("reduced", "reducing") else f"({n}, {m})"
        shapes = {"A": (f"({n}, {m})", "float32"), "M": (f"({m},)", "int32"), "K": (f"({n},)", "int32")}
        shapes |= {"L": (f"({n}, {m})", "int32"), "O": (out, "float32")}
        sizes = [v for v in (n, m) if isinstance(v, str)]
        if not sizes:
            return ", ".join(f'{b}: T.Buffer({s}, "{t}")' for b, (s, t) in shapes.items()) + "):\n"
        lines = [f"    {v} = T.int32()" for v in sizes]
        lines += [f'    {b} = T.match_buffer(of_{b}, {s}, "{t}")' for b, (s, t) in shapes.items()]
        return ", ".join(f"of_{b}: T.handle" for b in shapes) + "):\n" + "\n".join(lines) + "\n"

    def block(self, name: str, *body: str, kinds: str = "SS", under: bool = False, init: str = "") -> str:
        """A block over both loops, `under` the condition."""
        text, at = self.text if under else "", self.form if under else ""
        head = [f"for i, j in T.grid({self.n}, {self.m}):"]
        head += [f"if {text}:"] if text and at == "around" else []
        head += [f'with T.block("{name}"):']
        inner = [f"T.where({text})"] if text and at == "where" else []
        inner += [f'vi, vj = T.axis.remap("{kinds}", [i, j])']
        inner += ["with T.init():", f"    {init}"] if init else []
        inner += [f"if {_of_iterators(text)}:", *(f"    {s}" for s in body)] if text and at == "inside" else body
        rows = ["    " * (1 + depth) + line for depth, line in enumerate(head)]
        return "\n".join([*rows, *("    " * (1 + len(head)) + line for line in inner)]) + "\n"

    def allocation(self, name: str, shape: str, dtype: str = "float32") -> str:
        """A buffer of the program."""
        return f'    {name} = T.alloc_buffer({shape.format(n=self.n, m=self.m)}, "{dtype}")\n'

    def row(self, name: str, extent: int | str, store: str) -> str:
        """A block over one loop."""
        inside = f"vx = T.axis.spatial({extent}, x)\n            {store}\n"
        return f'    for x in range({extent}):\n        with T.block("{name}"):\n            {inside}'


def _of_iterators(text: str) -> str:
    """A condition on loops as one on the iterators that are bound to them."""
    import re

    return re.sub(r"\b([ij])\b", r"v\1", text)


_DOUBLE, _NEXT = "B[vi, vj] = A[vi, vj] * T.float32(2)", "O[vi, vj] = B[vi, vj] + T.float32(1)"


def _pair(program: Program, producer: bool, consumer: bool) -> str:
    blocks = program.block("b", _DOUBLE, under=producer), program.block("o", _NEXT, under=consumer)
    return program.allocation("B", "({n}, {m})") + "".join(blocks)


def _reduced(program: Program) -> str:
    block = program.block("b", "B[vi] = B[vi] + A[vi, vj]", kinds="SR", under=True, init="B[vi] = T.float32(0)")
    return program.allocation("B", "({n},)") + block + program.row("o", program.n, "O[vx] = B[vx] + T.float32(1)")


def _reducing(program: Program) -> str:
    first = program.block("b", _DOUBLE)
    block = program.block("o", "O[vi] = O[vi] + B[vi, vj]", kinds="SR", under=True, init="O[vi] = T.float32(0)")
    return program.allocation("B", "({n}, {m})") + first + block


def _through(program: Program) -> str:
    block = program.block("o", "O[vi, vj] = A[vi, vj] + T.float32(1)", under=True).replace("M[", "N[")
    return program.allocation("N", "({m},)", "int32") + program.row("b", program.m, "N[vx] = M[vx] + 0") + block


_KINDS: dict[str, Callable[[Program], str]] = {
    "consumer": lambda p: _pair(p, producer=False, consumer=True),
    "producer": lambda p: _pair(p, producer=True, consumer=False),
    "both": lambda p: _pair(p, producer=True, consumer=True),
    "reduced": _reduced,
    "reducing": _reducing,
    "through": _through,
}
"""Which block is under the condition: the last, the first, both, a reduction that is read, one that reads; or the last,
by a condition that reads what the first computes."""


def _stored(holds: Any, value: Any) -> tuple[Any, Any]:
    return np.where(holds, value, -1), np.ones(holds.shape, bool)


_EXPECTED: dict[str, Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    "consumer": lambda holds, a, begun: _stored(holds, a * 2 + 1),
    "producer": lambda holds, a, begun: (a * 2 + 1, holds),
    "both": lambda holds, a, begun: _stored(holds, a * 2 + 1),
    "reduced": lambda holds, a, begun: ((a * holds).sum(1) + 1, begun),
    "reducing": lambda holds, a, begun: ((2 * a * holds).sum(1) + np.where(begun, 0, -1), np.ones(len(a), bool)),
    "through": lambda holds, a, begun: _stored(holds, a + 1),
}
"""What the program gives, and where; a sum has `begun` with its init in its first step, or as there is none."""


Step = Callable[[Any], object]


def _loop(s: Any, block: str, at: int) -> Any:
    return s.get_loops(s.get_block(block))[at]


def _tiled(s: Any, block: str) -> Any:
    """The inner part of a tile of two by four."""
    i, j = s.get_loops(s.get_block(block))
    (io, ii), (jo, ji) = s.split(i, [None, 2]), s.split(j, [None, 4])
    s.reorder(io, jo, ii, ji)
    return ii


def _of_block(name: str) -> dict[str, Step]:
    """Steps with a block in two loops."""

    def loop(s: Any, at: int) -> Any:
        return _loop(s, name, at)

    def block(s: Any) -> Any:
        return s.get_block(name)

    return {
        "nothing": lambda s: None,
        "split, divides": lambda s: s.split(loop(s, 1), [None, 4]),
        "split": lambda s: s.split(loop(s, 1), [None, 3]),
        "split, the outer": lambda s: s.split(loop(s, 0), [None, 3]),
        "split twice": lambda s: s.split(s.split(loop(s, 1), [None, 3])[0], [None, 2]),
        "fuse": lambda s: s.fuse(*s.get_loops(block(s))),
        "fuse, split": lambda s: s.split(s.fuse(*s.get_loops(block(s))), [None, 5]),
        "reorder": lambda s: s.reorder(*s.get_loops(block(s))[::-1]),
        "split, reorder": lambda s: (s.split(loop(s, 1), [None, 3]), s.reorder(*s.get_loops(block(s))[::-1])),
        "merge": lambda s: s.merge(_loop(s, "b", 0), _loop(s, "o", 0)),
        "merge, the inner": lambda s: s.merge(_loop(s, "b", -1), _loop(s, "o", -1)),
        "add_unit_loop": lambda s: s.add_unit_loop(block(s)),
        "add_unit_loop, fuse": lambda s: (s.add_unit_loop(loop(s, 1)), s.fuse(*s.get_loops(block(s)))),
        "reorder_block_iter_var": lambda s: s.reorder_block_iter_var(block(s), [1, 0]),
        "loop_partition": lambda s: s.loop_partition(loop(s, 1), [3, None]),
        "vectorize": lambda s: s.vectorize(loop(s, 1)),
        "split, vectorize": lambda s: s.vectorize(s.split(loop(s, 1), [None, 3])[1]),
        "parallel": lambda s: s.parallel(loop(s, 0)),
        "unroll": lambda s: s.unroll(s.split(loop(s, 1), [None, 3])[1]),
        "bind": lambda s: s.bind(loop(s, 0), "vthread.x"),
        "annotate": lambda s: s.annotate(loop(s, 1), "pragma_unroll_explicit", 1),
        "blockize": lambda s: s.blockize(loop(s, 0)),
        "blockize, the inner": lambda s: s.blockize(loop(s, 1)),
        "blockize, a tile": lambda s: s.blockize(_tiled(s, name)),
        "blockize, a tail": lambda s: s.blockize(s.split(loop(s, 1), [None, 3])[1]),
        "blockize, blocks": lambda s: s.blockize([block(s)]),
        "cache_read": lambda s: s.cache_read(block(s), 0, "global"),
        "cache_read, compute_at": lambda s: s.compute_at(s.cache_read(block(s), 0, "global"), loop(s, 0)),
        "cache_write": lambda s: s.cache_write(block(s), 0, "global"),
        "split, cache_write": lambda s: (s.split(loop(s, 1), [None, 3]), s.cache_write(block(s), 0, "local")),
        "cache_write, reverse_compute_at": lambda s: s.reverse_compute_at(
            s.cache_write(block(s), 0, "global"), loop(s, 0)
        ),
        "cache_inplace": lambda s: s.cache_inplace(block(s), 0, "global"),
        "cache_index": lambda s: s.cache_index(block(s), "global"),
        "reindex, read": lambda s: s.reindex(block(s), ("read", 0)),
        "reindex, write": lambda s: s.reindex(block(s), ("write", 0)),
        "reindex_cache_read": lambda s: s.reindex_cache_read(block(s), 0, "global", lambda i, j: (j, i)),
        "reindex_cache_write": lambda s: s.reindex_cache_write(block(s), 0, "global", lambda i, j: (j, i)),
        "reindex_cache_write, a row": lambda s: s.reindex_cache_write(block(s), 0, "global", lambda i, j: (i,)),
        "read_at": lambda s: s.read_at(loop(s, 0), block(s), 0, "global"),
        "write_at": lambda s: s.write_at(loop(s, 0), block(s), 0, "global"),
        "write_at, the inner": lambda s: s.write_at(loop(s, 1), block(s), 0, "global"),
        "transform_block_layout": lambda s: s.transform_block_layout(block(s), lambda i, j: (j, i)),
        "pad_einsum": lambda s: s.pad_einsum(block(s), [3, 5]),
        "decompose_padding": lambda s: s.decompose_padding(block(s), loop(s, 0)),
    }


def _of_reduction(name: str) -> dict[str, Step]:
    """Steps with a reduction over the inner loop."""

    def loop(s: Any, at: int) -> Any:
        return _loop(s, name, at)

    def block(s: Any) -> Any:
        return s.get_block(name)

    def decompose_blocks(s: Any) -> None:
        outer = s.blockize(s.split(loop(s, 1), [None, 4])[1])
        s.decompose_reduction(outer, s.get_loops(outer)[1])

    return {
        "decompose_reduction": lambda s: s.decompose_reduction(block(s), loop(s, 0)),
        "decompose_reduction, the inner": lambda s: s.decompose_reduction(block(s), loop(s, 1)),
        "split, decompose_reduction": lambda s: (
            s.split(loop(s, 1), [None, 3]),
            s.decompose_reduction(block(s), loop(s, 1)),
        ),
        "fuse, decompose_reduction": lambda s: (
            s.fuse(*s.get_loops(block(s))),
            s.decompose_reduction(block(s), loop(s, 0)),
        ),
        "reorder, decompose_reduction": lambda s: (
            s.reorder(*s.get_loops(block(s))[::-1]),
            s.decompose_reduction(block(s), loop(s, 0)),
        ),
        "blockize, decompose_reduction": decompose_blocks,
        "rfactor": lambda s: s.rfactor(loop(s, 1), 0),
        "split, rfactor": lambda s: s.rfactor(s.split(loop(s, 1), [None, 4])[1], 0),
        "split, rfactor, the outer": lambda s: s.rfactor(s.split(loop(s, 1), [None, 4])[0], 1),
        "split, rfactor, a tail": lambda s: s.rfactor(s.split(loop(s, 1), [None, 3])[1], 0),
        "vectorize, the outer": lambda s: s.vectorize(loop(s, 0)),
    }


_MOVES: dict[str, Step] = {
    "compute_at": lambda s: s.compute_at(s.get_block("b"), _loop(s, "o", 0)),
    "compute_at, the inner": lambda s: s.compute_at(s.get_block("b"), _loop(s, "o", -1)),
    "split, compute_at": lambda s: (
        s.split(_loop(s, "b", -1), [None, 3]),
        s.compute_at(s.get_block("b"), _loop(s, "o", 0)),
    ),
    "compute_at, a tail": lambda s: s.compute_at(s.get_block("b"), s.split(_loop(s, "o", 0), [None, 3])[0]),
    "fuse, split, compute_at": lambda s: (
        s.split(s.fuse(*s.get_loops(s.get_block("b"))), [None, 5]),
        s.compute_at(s.get_block("b"), _loop(s, "o", 0)),
    ),
    "reverse_compute_at": lambda s: s.reverse_compute_at(s.get_block("o"), _loop(s, "b", 0)),
    "reverse_compute_at, the inner": lambda s: s.reverse_compute_at(s.get_block("o"), _loop(s, "b", -1)),
    "reverse_compute_at, a tail": lambda s: s.reverse_compute_at(
        s.get_block("o"), s.split(_loop(s, "b", 0), [None, 3])[0]
    ),
    "split, reverse_compute_at": lambda s: (
        s.split(_loop(s, "o", -1), [None, 3]),
        s.reverse_compute_at(s.get_block("o"), _loop(s, "b", 0)),
    ),
    "fuse, reverse_compute_at": lambda s: (
        s.fuse(*s.get_loops(s.get_block("o"))),
        s.reverse_compute_at(s.get_block("o"), _loop(s, "b", 0)),
    ),
    "compute_inline": lambda s: s.compute_inline(s.get_block("b")),
    "reverse_compute_inline": lambda s: s.reverse_compute_inline(s.get_block("o")),
    "set_scope": lambda s: s.set_scope(s.get_block("b"), 0, "local"),
    "storage_align": lambda s: s.storage_align(s.get_block("b"), 0, 0, 16, 4),
    "unsafe_set_dtype": lambda s: s.unsafe_set_dtype(s.get_block("b"), 0, "float64"),
    "merge, blockize": lambda s: (
        s.merge(_loop(s, "b", 0), _loop(s, "o", 0)),
        s.blockize([s.get_block("b"), s.get_block("o")]),
    ),
    "rolling_buffer": lambda s: (
        s.compute_at(s.get_block("b"), _loop(s, "o", 0)),
        s.rolling_buffer(s.get_block("b"), 0),
    ),
}
_LAYOUTS: dict[str, Step] = {
    "transform_layout": lambda s: s.transform_layout(s.get_block("b"), ("write", 0), lambda i, j: (j, i)),
    "transform_layout, tiles": lambda s: s.transform_layout(
        s.get_block("b"), ("write", 0), lambda i, j: (i, j // 4, j % 4)
    ),
    "transform_layout, padded": lambda s: s.transform_layout(
        s.get_block("b"), ("write", 0), lambda i, j: (i, j // 3, j % 3), pad_value=0.0
    ),
    "set_axis_separator": lambda s: s.set_axis_separator(s.get_block("b"), ("write", 0), [1]),
}
_ROW_LAYOUTS: dict[str, Step] = {
    "transform_layout": lambda s: s.transform_layout(s.get_block("b"), ("write", 0), lambda i: (i // 2, i % 2)),
    "transform_layout, padded": lambda s: s.transform_layout(
        s.get_block("b"), ("write", 0), lambda i: (i // 3, i % 3), pad_value=0
    ),
}
_OF_MASK: dict[str, Step] = {
    "cache_write, the mask": lambda s: s.cache_write(s.get_block("b"), 0, "global"),
    "cache_write, of the mask": lambda s: s.cache_write(s.get_block("b"), 0, "global", [s.get_block("o")]),
    "reindex, the mask": lambda s: s.reindex(s.get_block("b"), ("write", 0)),
    "write_at, the mask": lambda s: s.write_at(_loop(s, "b", 0), s.get_block("b"), 0, "global"),
    "reorder, merge": lambda s: (
        s.reorder(*s.get_loops(s.get_block("o"))[::-1]),
        s.merge(_loop(s, "b", 0), _loop(s, "o", 0)),
    ),
    "blockize, both": lambda s: s.blockize([s.get_block("b"), s.get_block("o")]),
}

STEPS: dict[str, dict[str, Step]] = {
    "consumer": {**_of_block("o"), **_MOVES, **_LAYOUTS},
    "producer": {**_of_block("b"), **_MOVES, **_LAYOUTS},
    "both": {**_of_block("b"), **_MOVES, **_LAYOUTS},
    "reduced": {**_of_block("b"), **_of_reduction("b"), **_MOVES, **_ROW_LAYOUTS},
    "reducing": {**_of_block("o"), **_of_reduction("o"), **_MOVES, **_LAYOUTS},
    "through": {**_of_block("o"), **_MOVES, **_ROW_LAYOUTS, **_OF_MASK},
}
"""The steps by the kind of program; those that a program of a kind has no use for are refused."""
