"""`convert-sched-to-transform`: a trace as a `transform.named_sequence` on the linalg of `convert-tir-to-linalg`.

A loop of a trace is an iterator of an operation, or a piece of one that steps over tiles. All steps on a block are read
first, and then written: a tiling for each loop that is not one of the innermost, in the order of the nest, an
interchange of what is left, and what loops are marked as.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects import transform
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, ModuleOp, StringAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.sched import Instruction, SequenceOp
from ...dialects.tir import IterKind
from ...dialects.xdsl_extras import transform_extras as extras
from ...dialects.xdsl_extras.linalg_named import BLOCK_NAME
from ...ir.locations import location_of
from ...ir.passes.transform import Pass

ANY = transform.AnyOpType()
ENTRY = "__transform_main"
"""The sequence that MLIR's interpreter runs."""

ON_TENSORS = "MLIR fuses and pads on tensors only, and kernels are on memrefs"
OTHER = "the dialect transform has no such step"
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("compute_at", "reverse_compute_at", "compute_inline", "reverse_compute_inline"), ON_TENSORS),
    **dict.fromkeys(("pad_einsum", "decompose_padding"), ON_TENSORS),
    **dict.fromkeys(("cache_read", "cache_write"), "linalg has no copy of a buffer that a step makes"),
    "bind": "loops on threads of a GPU",
    "tensorize": "intrinsics are tirax's own",
}
"""Steps without a counterpart, and the reason; others have none either."""


@dataclass
class Loop:
    """A loop of a nest: it steps over `step` points of an iterator, `extent` times if that is known."""

    iterators: tuple[int, ...]
    """Several where loops were fused."""
    steps: tuple[int, ...]
    extent: int | None = None
    mark: str = ""


@dataclass
class Nest:
    """The loops of a block, outermost first; `rank` is the number of iterators."""

    name: str
    loops: list[Loop] = field(default_factory=list[Loop])
    rank: int = 0
    reductions: frozenset[int] = frozenset()


def _loops_of(block: tir.BlockOp) -> tuple[list[Loop], int, frozenset[int]]:
    """Return the loops around a block that run its iterators, how many these are, and those of reductions."""
    bound = [(binding, kind) for binding, kind in zip(block.bindings, block.kinds, strict=True) if _is_loop(binding)]
    places = {binding: number for number, (binding, _) in enumerate(bound)}
    loops: list[Loop] = []
    around = block.parent_op()
    while isinstance(around, tir.ForOp):
        extent = around.extent
        iterator = places.get(around.loop_var, -1)
        loops.insert(0, Loop((iterator,), (1,), None if isinstance(extent, SSAValue) else extent.constant))
        around = around.parent_op()
    reductions = frozenset(number for number, (_, kind) in enumerate(bound) if kind is IterKind.REDUCE)
    return [loop for loop in loops if loop.iterators != (-1,)], len(bound), reductions


def _is_loop(value: SSAValue) -> bool:
    return isinstance(value, BlockArgument) and isinstance(value.owner.parent_op(), tir.ForOp)


def _refused(inst: Instruction, why: str) -> UnsupportedError:
    return UnsupportedError(f"'{inst.name}' in a schedule for MLIR: {why}", location=location_of(inst))


class _Reader:
    """Reads a trace; `functions` are those that it schedules."""

    def __init__(self, functions: Mapping[str, tir.FuncOp]) -> None:
        self.functions = functions
        self.nests: dict[str, Nest] = {}
        self.values: dict[SSAValue, Any] = {}

    def read(self, trace: SequenceOp) -> list[Nest]:
        for inst in trace.instructions:
            name = inst.SPEC.name
            if name not in _STEPS:
                raise _refused(inst, REFUSED.get(name, OTHER))
            args = {key: self._known(value) for key, value in inst.args.items()}
            results = _STEPS[name](self, inst, args)
            self.values.update(zip(inst.outputs, results, strict=True))
        return list(self.nests.values())

    def _known(self, value: Any) -> Any:
        if isinstance(value, SSAValue):
            return self.values[value]
        return [self._known(v) for v in value] if isinstance(value, list | tuple) else value

    def nest_of(self, inst: Instruction, loops: Sequence[Loop]) -> tuple[Nest, list[int]]:
        """Return the nest of loops, and where they are in it. Raises `UnsupportedError` if they are not in one."""
        for nest in self.nests.values():
            places = [n for loop in loops for n, known in enumerate(nest.loops) if known is loop]
            if places and len(set(places)) == len(loops):
                return nest, places
        raise _refused(inst, "these are no loops around one block, each once, that were not split or fused before")

    def block(self, inst: Instruction, args: Mapping[str, Any]) -> Sequence[Any]:
        name, of = str(args["name"]), args.get("func_name")
        if name not in self.nests:
            functions = [f for key, f in self.functions.items() if of in (None, key)]
            found = [op for f in functions for op in f.walk() if isinstance(op, tir.BlockOp)]
            blocks = [op for op in found if op.block_name.data == name]
            if len(blocks) != 1:
                raise _refused(inst, f'the module has {len(blocks)} blocks "{name}"; convert-tir-to-linalg comes later')
            self.nests[name] = Nest(name, *_loops_of(blocks[0]))
        return [self.nests[name]]

    def loops(self, inst: Instruction, args: Mapping[str, Any]) -> Sequence[Any]:
        nest: Nest = args["block"]
        if len(nest.loops) != len(inst.outputs):
            raise _refused(inst, f'block "{nest.name}" is in {len(nest.loops)} loops that are iterators')
        return nest.loops

    def decided(self, inst: Instruction, args: Mapping[str, Any]) -> Sequence[Any]:
        if inst.decision is None:
            raise _refused(inst, "no decision was made")
        return list(inst.decision) if isinstance(inst.decision, list | tuple) else [inst.decision]

    def split(self, inst: Instruction, args: Mapping[str, Any]) -> Sequence[Any]:
        loop, factors = args["loop"], list(args["factors"])
        if len(loop.iterators) > 1 or loop.mark or not all(isinstance(f, int) for f in factors[1:]):
            raise _refused(inst, "only the first factor of a loop that is not fused may be open")
        (step,) = loop.steps
        first = None if loop.extent is None else -(-loop.extent // prod(factors[1:]))
        parts = [
            Loop(loop.iterators, (step * prod(factors[number + 1 :]),), factor if isinstance(factor, int) else first)
            for number, factor in enumerate(factors)
        ]
        self._replace(inst, [loop], parts)
        return parts

    def fuse(self, inst: Instruction, args: Mapping[str, Any]) -> Sequence[Any]:
        loops: list[Loop] = list(args["loops"])
        extents = [loop.extent for loop in loops]
        fused = Loop(
            tuple(i for loop in loops for i in loop.iterators),
            tuple(s for loop in loops for s in loop.steps),
            prod(e for e in extents if e is not None) if None not in extents else None,
        )
        self._replace(inst, loops, [fused])
        return [fused]

    def _replace(self, inst: Instruction, old: Sequence[Loop], new: Sequence[Loop]) -> None:
        nest, places = self.nest_of(inst, old)
        if places != list(range(places[0], places[0] + len(old))):
            raise _refused(inst, "the loops are not nested directly in each other, from the outside in")
        nest.loops[places[0] : places[0] + len(old)] = new

    def reorder(self, inst: Instruction, args: Mapping[str, Any]) -> Sequence[Any]:
        loops: list[Loop] = list(args["loops"])
        nest, places = self.nest_of(inst, loops)
        for place, loop in zip(sorted(places), loops, strict=True):
            nest.loops[place] = loop
        return []

    def marked(self, inst: Instruction, args: Mapping[str, Any]) -> Sequence[Any]:
        loop: Loop = args["loop"]
        nest, _ = self.nest_of(inst, [loop])
        if loop.mark:
            raise _refused(inst, f"the loop has the mark '{loop.mark}' already")
        if inst.SPEC.name == "parallel" and not nest.reductions.isdisjoint(loop.iterators):
            raise _refused(inst, "a loop over a reduction cannot be parallel")
        loop.mark = inst.SPEC.name
        return []

    def decomposed(self, inst: Instruction, args: Mapping[str, Any]) -> Sequence[Any]:
        """In linalg an init is an operation of its own, before the whole reduction."""
        nest: Nest = args["block"]
        if any(loop.steps != (1,) or len(loop.iterators) > 1 for loop in nest.loops):
            raise _refused(inst, "loops were split or fused before")
        kept = [loop for loop in nest.loops if loop.iterators[0] not in nest.reductions]
        order = sorted(loop.iterators[0] for loop in kept)
        loops = [Loop((order.index(loop.iterators[0]),), (1,), loop.extent) for loop in kept]
        result = self.nests[f"{nest.name}_init"] = Nest(f"{nest.name}_init", loops, len(loops))
        return [result]

    def nothing(self, inst: Instruction, args: Mapping[str, Any]) -> Sequence[Any]:
        return []


_Step = Callable[[_Reader, Instruction, Mapping[str, Any]], Sequence[Any]]
_STEPS: Mapping[str, _Step] = {
    "get_block": _Reader.block,
    "get_loops": _Reader.loops,
    "sample_perfect_tile": _Reader.decided,
    "sample_partitioned_tile": _Reader.decided,
    "sample_categorical": _Reader.decided,
    "split": _Reader.split,
    "fuse": _Reader.fuse,
    "reorder": _Reader.reorder,
    "parallel": _Reader.marked,
    "vectorize": _Reader.marked,
    "unroll": _Reader.marked,
    "decompose_reduction": _Reader.decomposed,
    "enter_postproc": _Reader.nothing,
}
"""Step -> what it does to the nests, and its results."""


class _Writer:
    """Writes the steps for nests."""

    def __init__(self) -> None:
        self.block = Block(arg_types=[ANY])

    def add(self, op: Operation) -> Sequence[SSAValue]:
        self.block.add_op(op)
        return op.results

    def matched(self, nest: Nest) -> SSAValue:
        attributes = DictionaryAttr({BLOCK_NAME: StringAttr(nest.name)})
        return self.add(transform.MatchOp(self.block.args[0], op_attrs=attributes))[0]

    def nest(self, nest: Nest) -> None:
        _check_order(nest)
        inner = _innermost(nest)
        op = self.matched(nest)
        unrolled: list[tuple[SSAValue, int]] = []
        for loop in nest.loops[: len(nest.loops) - len(inner)]:
            op, handle = self._tiled(nest, op, loop)
            if loop.mark == "unroll":
                unrolled.append((handle, _extent(nest, loop, "unrolled")))
        order = [loop.iterators[0] for loop in inner]
        if order != sorted(order):
            first = [number for number in range(nest.rank) if number not in order]
            (op,) = self.add(extras.GeneralizeOp.create(operands=[op], result_types=[ANY]))
            numbers = DenseArrayBase.from_list(i64, [*first, *order])
            result = extras.InterchangeOp.create(
                operands=[op], result_types=[ANY], properties={"iterator_interchange": numbers}
            )
            (op,) = self.add(result)
        if inner and inner[-1].mark == "vectorize":
            self._vectorized(nest, op, inner[-1])
        for handle, extent in reversed(unrolled):
            self.add(extras.UnrollOp.of(handle, extent))

    def _tiled(self, nest: Nest, op: SSAValue, loop: Loop) -> tuple[SSAValue, SSAValue]:
        """Tile for one loop; return the operation, and the loop."""
        sizes = [0] * nest.rank
        for iterator, step in zip(loop.iterators, loop.steps, strict=True):
            sizes[iterator] = step
        numbers = DenseArrayBase.from_list(i64, sizes)
        if loop.mark == "parallel":
            result: Operation = extras.TileUsingForallOp.of(op, {"static_tile_sizes": numbers}, [ANY, ANY])
            tiled, forall = self.add(result)
            return tiled, forall
        if loop.iterators != tuple(sorted(loop.iterators)):
            raise _of_nest(nest, "loops are fused in another order than that of the iterators")
        scalable = DenseArrayBase.from_list(i1, [0] * nest.rank)
        tiled, *loops = self.add(transform.TileOp(op, (), numbers, None, scalable))
        if len(loops) == 1:
            return tiled, loops[0]
        (fused,) = self.add(extras.CoalesceOp.create(operands=[loops[0]], result_types=[ANY]))
        return self.matched(nest), fused

    def _vectorized(self, nest: Nest, op: SSAValue, loop: Loop) -> None:
        sizes = [1] * nest.rank
        sizes[loop.iterators[0]] = _extent(nest, loop, "vectorized")
        self.add(extras.VectorizeOp.of(op, DenseArrayBase.from_list(i64, sizes)))


def _check_order(nest: Nest) -> None:
    """Tiles of one iterator come from the outside in."""
    least: dict[int, int] = {}
    for loop in nest.loops:
        for iterator, step in zip(loop.iterators, loop.steps, strict=True):
            if step > least.get(iterator, step):
                raise _of_nest(nest, "a loop within a tile surrounds the loop over the tiles")
            least[iterator] = step


def _innermost(nest: Nest) -> list[Loop]:
    """Return the innermost loops that stay iterators of the operation, each a whole one; only the vectorized one if
    there is one.
    """
    kept: list[Loop] = []
    for loop in reversed(nest.loops):
        again = any(loop.iterators == known.iterators for known in kept)
        if loop.steps != (1,) or again or loop.mark not in ("", "vectorize") or (loop.mark and kept):
            break
        kept.insert(0, loop)
        if loop.mark:
            break
    if any(loop.mark == "vectorize" for loop in nest.loops[: len(nest.loops) - len(kept)]):
        raise _of_nest(nest, "a vectorized loop has to be the innermost one, over single elements")
    return kept


def _extent(nest: Nest, loop: Loop, what: str) -> int:
    if loop.extent is None:
        raise _of_nest(nest, f"the extent of the loop that is {what} is open")
    return loop.extent


def _of_nest(nest: Nest, why: str) -> UnsupportedError:
    return UnsupportedError(f'the schedule of block "{nest.name}" has no form in MLIR: {why}')


def named_sequence(trace: SequenceOp, functions: Mapping[str, tir.FuncOp]) -> transform.NamedSequenceOp:
    """Return the sequence of MLIR that does the same as a trace on functions.

    Raises `UnsupportedError` for steps without a counterpart.
    """
    writer = _Writer()
    for nest in _Reader(functions).read(trace):
        writer.nest(nest)
    writer.add(transform.YieldOp())
    access = "transform.readonly"
    effects = ArrayAttr([DictionaryAttr({access: UnitAttr()})])
    inputs: Sequence[Attribute] = [ANY]
    return transform.NamedSequenceOp(ENTRY, (inputs, []), Region(writer.block), arg_attrs=effects)


@dataclass(frozen=True)
class ConvertSchedToTransform(Pass):
    """Convert the trace of a module, a `sched.sequence`, to a `transform.named_sequence` on linalg.

    `convert-tir-to-linalg`, after it, gives the operations that it matches, by the names of blocks. Raises
    `UnsupportedError` for steps that MLIR does not have, and if there are several traces.
    """

    name = "convert-sched-to-transform"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        traces = [s for s in op.body.block.ops if isinstance(s, SequenceOp) and s.function is None]
        if len(traces) > 1:
            raise UnsupportedError(f"{len(traces)} traces", location=location_of(traces[1]), expected="one")
        functions = {f.sym_name.data: f for f in op.body.block.ops if isinstance(f, tir.FuncOp)}
        for trace in traces:
            op.body.block.insert_op_before(named_sequence(trace, functions), trace)
            trace.detach()
            op.attributes["transform.with_named_sequence"] = UnitAttr()
