"""Random sequences of schedule primitives: drawn step by step, applied, and checked.

A step names its blocks and loops (`"matmul"`, `("matmul", 2)`: the third loop around it), so that it can be
tried at any point of any sequence; steps that are rejected or name missing blocks are skipped.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ...dialects import tir
from ...dialects.dtypes import is_float
from ...dialects.sched import INSTRUCTIONS
from ...driver.build import build
from ...handles.module import IRModule
from ...handles.tir.index_map import IndexMap
from ...interpreter import assert_same_meaning
from ...ir.verification.verify import verify_module
from ...schedule import Schedule, ScheduleError, Trace
from ...schedule import state as st
from .checks import demand

Step = tuple[str, dict[str, Any]]
"""A primitive and its arguments; a block is a name, a loop the pair of a block's name and a position."""

_HANDLES = frozenset({"block", "loop", "loops", "block_or_loop", "consumer_blocks", "target", "scope_block"})


def apply(sch: Schedule, step: Step) -> None:
    """Apply a step. Raises `ScheduleError` if it is rejected, or names a missing block or loop."""
    name, arguments = step
    inputs = INSTRUCTIONS[name].inputs
    resolved = {k: _resolved(sch, v) if k in _HANDLES and k in inputs else v for k, v in arguments.items()}
    if name.startswith("sample_") and name != "sample_compute_location":
        sch.split(resolved["loop"], getattr(sch, name)(**resolved))
    else:
        getattr(sch, name)(**resolved)


def _resolved(sch: Schedule, value: Any) -> Any:
    if isinstance(value, str):
        return sch.get_block(value)
    if isinstance(value, tuple):
        loops = sch.get_loops(sch.get_block(value[0]))
        if value[1] >= len(loops):
            raise ScheduleError("there is no such loop")
        return loops[value[1]]
    return [_resolved(sch, v) for v in value]


class Scene:
    """The blocks and loops of a schedule to choose from, and the random source."""

    def __init__(self, sch: Schedule, rng: random.Random):
        self.rng = rng
        ops = [op for op in sch.mod.op.walk() if isinstance(op, tir.BlockOp)]
        names = [op.block_name.data for op in ops]
        self.blocks = {n: op for n, op in zip(names, ops, strict=True) if names.count(n) == 1}

    def block(self) -> str:
        return self.rng.choice(list(self.blocks))

    def nest(self, block: str) -> list[tir.ForOp]:
        return st.loops_above(self.blocks[block])

    def loop(self, block: str | None = None) -> tuple[str, int]:
        name = block or self.block()
        return name, self.rng.randrange(len(self.nest(name)) or 1)

    def extent(self, loop: tuple[str, int]) -> int | None:
        nest = self.nest(loop[0])
        return st.constant_extent(nest[loop[1]]) if nest else None

    def flag(self) -> bool:
        return self.rng.random() < 0.5


def _split(s: Scene) -> dict[str, Any]:
    loop = s.loop()
    extent = s.extent(loop) or 12
    size = s.rng.choice((1, 2, 2, 3, 3, 4, 5, 8, extent))
    factors: list[int | None] = s.rng.choice(
        ([None, size], [size, None], [None, size], [None, 2, size], [2, None, 2], [1, None], [-(-extent // size), size])
    )
    exact = None in factors and all(extent % (f or 1) == 0 for f in factors) and len(factors) == 2
    unpredicated = bool(exact and s.extent(loop) and s.rng.random() < 0.2)
    return {
        "loop": loop,
        "factors": list(factors),
        "preserve_unit_iters": s.rng.random() < 0.8,
        "disable_predication": unpredicated,
    }


def _fuse(s: Scene) -> dict[str, Any]:
    name, first = s.loop()
    last = min(first + s.rng.choice((1, 1, 2)), max(len(s.nest(name)) - 1, 0))
    return {"loops": [(name, k) for k in range(first, last + 1)], "preserve_unit_iters": s.rng.random() < 0.8}


def _reorder(s: Scene) -> dict[str, Any]:
    name = s.block()
    every = [(name, k) for k in range(len(s.nest(name)))]
    return {"loops": s.rng.sample(every, s.rng.randint(min(2, len(every)), len(every)))}


def _one_loop(s: Scene) -> dict[str, Any]:
    return {"loop": s.loop()}


def _unrolled(s: Scene) -> dict[str, Any]:
    """Return a loop of constant length if there is one, since others cannot be compiled unrolled."""
    loop = next((lp for lp in (s.loop() for _ in range(4)) if s.extent(lp) is not None), ("none", 0))
    return {"loop": loop}


def _one_block(s: Scene) -> dict[str, Any]:
    return {"block": s.block()}


def _block_and_loop(s: Scene) -> dict[str, Any]:
    return {"block": s.block(), "loop": s.loop()}


def _own_loop(s: Scene) -> dict[str, Any]:
    name = s.block()
    return {"block": name, "loop": s.loop(name)}


def _moved(s: Scene) -> dict[str, Any]:
    index = s.rng.choice((-1, -1, -1, -2, 0, 1))
    return {**_block_and_loop(s), "preserve_unit_loops": s.flag(), "index": index}


def _iterators(s: Scene) -> dict[str, Any]:
    name = s.block()
    count = len(s.blocks[name].iter_vars)
    return {"block": name, "new_order": s.rng.sample(range(count), count)}


def _any(s: Scene) -> dict[str, Any]:
    return {"block_or_loop": s.loop() if s.flag() else s.block()}


def _annotation(s: Scene) -> dict[str, Any]:
    value = s.rng.choice((1, "x", [1, 2], 0.5, {"a": [1, "b"]}))
    return {**_any(s), "ann_key": s.rng.choice(("note", "mark")), "ann_val": value}


def _removed(s: Scene) -> dict[str, Any]:
    return {**_any(s), "ann_key": s.rng.choice(("note", "mark"))}


def _consumers(s: Scene, block: str) -> list[str]:
    others = [n for n in s.blocks if n != block]
    return s.rng.sample(others, 1) if others and s.rng.random() < 0.3 else []


def _cached_read(s: Scene) -> dict[str, Any]:
    block, scope = s.block(), s.rng.choice(("local", "global"))
    index = s.rng.randrange(2)
    return {
        "block": block,
        "read_buffer_index": index,
        "storage_scope": scope,
        "consumer_blocks": _consumers(s, block),
    }


def _cached_write(s: Scene) -> dict[str, Any]:
    block, scope = s.block(), s.rng.choice(("local", "global"))
    return {"block": block, "write_buffer_index": 0, "storage_scope": scope, "consumer_blocks": _consumers(s, block)}


def _scope(s: Scene) -> dict[str, Any]:
    return {"block": s.block(), "buffer_index": 0, "storage_scope": s.rng.choice(("local", "global", "shared"))}


def _factored(s: Scene) -> dict[str, Any]:
    return {"loop": s.loop(), "factor_axis": s.rng.choice((0, 0, 1, -1))}


def _tiled(s: Scene) -> dict[str, Any]:
    return {"loop": s.loop(), "n": s.rng.randint(2, 4), "max_innermost_factor": s.rng.choice((4, 16))}


def _merged(s: Scene) -> dict[str, Any]:
    first, second = s.loop(), s.loop()
    return {"loops": [first, (second[0], first[1])]}


def _partitioned(s: Scene) -> dict[str, Any]:
    loop = s.loop()
    size = s.rng.randint(1, 3)
    return {"loop": loop, "factors": s.rng.choice(([size, None], [None, size], [size, size, None])), **_UNITS}


_UNITS = {"preserve_unit_iters": True}


def _layout(s: Scene, extents: list[int | None]) -> IndexMap:
    """Return a layout: indices optionally split, shuffled, and two of them optionally fused."""
    pieces: list[tuple[int, int | None, int | None]] = []
    for k, extent in enumerate(extents):
        size = s.rng.choice((2, 3, 4, 5)) if extent is not None and extent > 1 and s.flag() else None
        pieces += [(k, None, None)] if size is None else [(k, size, None), (k, None, size)]
    s.rng.shuffle(pieces)
    joined = s.rng.random() < 0.3 and len(pieces) > 1 and pieces[1][2] is not None

    def function(*indices: Any) -> list[Any]:
        out = [indices[k] if d is m is None else indices[k] // d if d else indices[k] % m for k, d, m in pieces]
        return [out[0] * pieces[1][2] + out[1], *out[2:]] if joined else out

    return IndexMap.from_func(function, len(extents), index_dtype="int32")


def _laid_out(s: Scene) -> dict[str, Any]:
    inner = [n for n, op in s.blocks.items() if op.writes and isinstance(op.writes[0].buffer.owner, tir.AllocBufferOp)]
    if not inner:
        return {"block": s.block(), "buffer": ["write", 9], "index_map": IndexMap.from_func(lambda: ())}
    name = s.rng.choice(inner)
    buffer: Any = s.blocks[name].writes[0].buffer.type
    pad = s.rng.choice((None, None, 0.0, 1.5)) if is_float(buffer.dtype) else None
    rest = {"pad_value": pad, "assume_injective_transform": False}
    return {"block": name, "buffer": ["write", 0], "index_map": _layout(s, [d.constant for d in buffer.dims]), **rest}


def _block_laid_out(s: Scene) -> dict[str, Any]:
    name = s.block()
    return {"block": name, "index_map": _layout(s, [e.constant for e in s.blocks[name].extents])}


def _mapped(side: str) -> Callable[[Scene], dict[str, Any]]:
    """Return a drawer of copies whose indices are some iterators in another order."""

    def propose_(s: Scene) -> dict[str, Any]:
        name = s.block()
        count = len(s.blocks[name].iter_vars)
        order = s.rng.sample(range(count), s.rng.randint(min(1, count), count))
        mapping = IndexMap.from_func(lambda *i: [i[k] for k in order], count, index_dtype="int32")
        index = {f"{side}_buffer_index": s.rng.randrange(2) if side == "read" else 0}
        return {"block": name, **index, "storage_scope": "local", "index_map": mapping}

    return propose_


def _copied(s: Scene) -> dict[str, Any]:
    return {"block": s.block(), "buffer": s.rng.choice((["read", 0], ["read", 1], ["write", 0]))}


def _staged(side: str) -> Callable[[Scene], dict[str, Any]]:
    def propose_(s: Scene) -> dict[str, Any]:
        index = {f"{side}_buffer_index": s.rng.randrange(2) if side == "read" else 0}
        return {**_own_loop(s), **index, "storage_scope": "local"}

    return propose_


def _blockized(s: Scene) -> dict[str, Any]:
    return {"target": s.loop(), "preserve_unit_iters": s.flag()}


def _padded(s: Scene) -> dict[str, Any]:
    name = s.block()
    return {"block": name, "padding": [s.rng.choice((1, 1, 2, 4, 8)) for _ in s.blocks[name].iter_vars]}


def _aligned(s: Scene) -> dict[str, Any]:
    return {"block": s.block(), "buffer_index": 0, "axis": s.rng.choice((-2, -1, 0)), "factor": 8, "offset": 1}


def _index_kept(s: Scene) -> dict[str, Any]:
    return {"block": s.block(), "storage_scope": "local", "cse_thresh": s.rng.choice((0, 1))}


def _in_place(s: Scene) -> dict[str, Any]:
    return {"block": s.block(), "read_buffer_index": 0, "storage_scope": "local"}


def _rolled(s: Scene) -> dict[str, Any]:
    return {"block": s.block(), "write_buffer_index": 0}


PROPOSALS: dict[str, tuple[int, Callable[[Scene], dict[str, Any]]]] = {
    "split": (8, _split),
    "fuse": (6, _fuse),
    "reorder": (6, _reorder),
    "sample_perfect_tile": (2, _tiled),
    "add_unit_loop": (1, _any),
    "reorder_block_iter_var": (1, _iterators),
    "parallel": (1, _one_loop),
    "vectorize": (1, _one_loop),
    "unroll": (1, _unrolled),
    "annotate": (1, _annotation),
    "unannotate": (1, _removed),
    "cache_read": (3, _cached_read),
    "cache_write": (3, _cached_write),
    "set_scope": (1, _scope),
    "compute_at": (8, _moved),
    "reverse_compute_at": (8, _moved),
    "compute_inline": (2, _one_block),
    "reverse_compute_inline": (2, _one_block),
    "decompose_reduction": (3, _own_loop),
    "rfactor": (3, _factored),
    "merge": (1, _merged),
    "loop_partition": (1, _partitioned),
    "transform_layout": (2, _laid_out),
    "transform_block_layout": (2, _block_laid_out),
    "reindex": (2, _copied),
    "reindex_cache_read": (1, _mapped("read")),
    "reindex_cache_write": (1, _mapped("write")),
    "read_at": (1, _staged("read")),
    "write_at": (1, _staged("write")),
    "blockize": (2, _blockized),
    "pad_einsum": (2, _padded),
    "decompose_padding": (2, _own_loop),
    "rolling_buffer": (2, _rolled),
    "storage_align": (1, _aligned),
    "cache_index": (1, _index_kept),
    "cache_inplace": (1, _in_place),
}
"""The weight of each primitive, and how its arguments are drawn."""


def propose(sch: Schedule, rng: random.Random) -> Step:
    """Return a random step, which may be invalid."""
    weights = [weight for weight, _ in PROPOSALS.values()]
    name = rng.choices(list(PROPOSALS), weights)[0]
    return name, PROPOSALS[name][1](Scene(sch, rng))


@dataclass
class Outcome:
    """The result of a sequence: schedule, applied steps, last attempted step, number of rejected steps."""

    sch: Schedule
    taken: list[Step] = field(default_factory=list)
    last: Step | None = None
    refused: int = 0

    @staticmethod
    def fresh(module: IRModule, rng: random.Random) -> Outcome:
        return Outcome(Schedule(module, seed=rng.randrange(1, 1 << 30), error_render_level="fast"))

    @property
    def steps(self) -> list[Step]:
        """Return the applied steps, and the last attempted one if it was not applied."""
        return self.taken if self.last is None or self.last in self.taken else [*self.taken, self.last]


def draw(out: Outcome, rng: random.Random, count: int, attempts: int) -> None:
    """Apply up to `count` steps in at most `attempts`, verifying the module after each."""
    for _ in range(attempts):
        if len(out.taken) == count:
            break
        out.last = propose(out.sch, rng)
        if try_apply(out.sch, out.last):
            out.taken.append(out.last)
        else:
            out.refused += 1


def try_apply(sch: Schedule, step: Step) -> bool:
    """Return whether a step was applied. If rejected, the module is unchanged; if applied, it is valid."""
    try:
        apply(sch, step)
    except ScheduleError:
        return False
    verify_module(sch.mod.op)
    return True


def run(module: IRModule, steps: Sequence[Step]) -> Schedule:
    """Return the schedule after the steps; rejected ones are skipped."""
    sch = Schedule(module, seed=1, error_render_level="fast")
    for step in steps:
        try_apply(sch, step)
    return sch


_ITERATIONS = 200_000
"""Limit on block executions, interpreted in a second or two; nested splits that do not divide can multiply them."""


def iterations(module: IRModule) -> int:
    """Return how often the blocks of a module execute in total."""
    blocks = [op for op in module.op.walk() if isinstance(op, tir.BlockOp)]
    return sum(prod(st.constant_extent(loop) or 1 for loop in st.loops_above(block)) for block in blocks)


def check(module: IRModule, sch: Schedule, *, native: bool = False) -> None:
    """Check that a schedule is equivalent to the module, and that its trace in every form reproduces it."""
    if iterations(sch.mod) <= _ITERATIONS:
        assert_same_meaning(module.op, sch.mod.op)
    text, trace = sch.mod.script(), sch.trace.simplified()
    for form in (sch.trace, Trace.from_json(trace.as_json()), Trace.from_mlir(trace.mlir())):
        again = Schedule(module, error_render_level="fast")
        form.apply_to_schedule(again)
        demand(again.mod.script() == text, f"the trace gives another program than the schedule:\n{text}")
    if native:
        build(sch.mod.op)


def shrunk(module: IRModule, steps: Sequence[Step], fails: Callable[[IRModule, Sequence[Step]], bool]) -> list[Step]:
    """Return the steps without those that `fails` does not need."""
    kept = list(steps)
    for k in range(len(kept) - 1, -1, -1):
        fewer = kept[:k] + kept[k + 1 :]
        if fails(module, fewer):
            kept = fewer
    return kept
