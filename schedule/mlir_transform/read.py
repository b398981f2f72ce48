"""Runs a `transform.named_sequence` of MLIR on tensor functions, by the primitives of schedules.

A handle on operations is a list of blocks, each with the loops that are its iterators; one on loops is a list of loops.
A match finds blocks by the attribute `tirax.block`, which is their name, or by an operation of linalg, after which the
importer names blocks. An init is an operation of its own in linalg: it is taken out of a block when that is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import transform
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.tir import IterKind
from ...dialects.xdsl_extras.linalg_named import BLOCK_NAME
from ...ir.locations import location_of
from ...ir.names import NameSupply
from ..schedule import Schedule
from ..state import ScheduleError
from ..trace import BlockRV, LoopRV
from .write import ENTRY


@dataclass
class Structured:
    """A block: the loop of each of its iterators, and the loops around these that steps have made, outermost first.

    `key` is the function and the name of the block.
    """

    key: tuple[str, str]
    block: BlockRV
    iterators: list[LoopRV] | None = None
    around: list[LoopRV] = field(default_factory=list[LoopRV])


def run_sequences(module: ModuleOp) -> None:
    """Apply the sequence `__transform_main` of a module to its tensor functions, in place, and remove all sequences.

    The default schedule leaves functions alone in which the sequence finds blocks. Raises `UnsupportedError` for
    operations without a counterpart, `ScheduleError` if a step fails.
    """
    sequences = [op for op in module.body.block.ops if isinstance(op, transform.NamedSequenceOp)]
    module.attributes.pop("transform.with_named_sequence", None)
    for sequence in sequences:
        sequence.detach()
    for sequence in sequences:
        if sequence.sym_name.data == ENTRY:
            touched = _Runner(module).run(sequence)
            for function in module.body.block.ops:
                if isinstance(function, tir.FuncOp) and function.sym_name.data in touched:
                    known = {} if function.func_attrs is None else function.func_attrs.data
                    function.properties["func_attrs"] = DictionaryAttr({**known, "tir.is_scheduled": _TRUE})


class _Runner:
    """Runs the operations of a sequence."""

    def __init__(self, module: ModuleOp):
        self.schedule: Any = Schedule.on(module)
        self.handles: dict[SSAValue, list[Any]] = {}
        self.root: SSAValue | None = None
        self.found: dict[tuple[str, str], Structured] = {}
        self.blocks: dict[tuple[str, str], tir.BlockOp | None] = {}
        """By function and name; None for the operation that is the init of the block before."""
        for function in module.body.block.ops:
            if isinstance(function, tir.FuncOp):
                self._list(function)

    def _list(self, function: tir.FuncOp) -> None:
        names = NameSupply()
        for block in [op for op in function.walk() if isinstance(op, tir.BlockOp)]:
            name = names.fresh(block.block_name.data)
            block.properties["block_name"] = StringAttr(name)
            if block.init is not None:
                self.blocks[function.sym_name.data, f"{name}_init"] = None
            self.blocks[function.sym_name.data, name] = block

    def _find(self, key: tuple[str, str]) -> Structured:
        """Return a block that a sequence matches."""
        if key not in self.found:
            function, name = key
            if self.blocks[key] is None:
                self._prepare(self._find((function, name.removesuffix("_init"))))
            else:
                self.found[key] = Structured(key, self.schedule.get_block(name, function))
        return self.found[key]

    def _prepare(self, s: Structured) -> Structured:
        """Take the init out of a block before the first step on its loops, and note these."""
        if s.iterators is not None:
            return s
        loops = self.schedule.get_loops(s.block)
        if self.schedule.operation(s.block).init is not None and loops:
            init = self.schedule.decompose_reduction(s.block, loops[0])
            key = (s.key[0], f"{s.key[1]}_init")
            self.found[key] = Structured(key, init, self._iterators(init))
        s.iterators = self._iterators(s.block)
        return s

    def _iterators(self, block: BlockRV) -> list[LoopRV]:
        """Return the loop of each iterator of a block, in their order."""
        loops = {self.schedule.operation(loop).loop_var: loop for loop in self.schedule.get_loops(block)}
        return [loops[b] for b in self.schedule.operation(block).bindings if b in loops]

    def run(self, sequence: transform.NamedSequenceOp) -> set[str]:
        """Run a sequence; return the names of the functions with blocks that it finds."""
        self.root = sequence.body.block.args[0]
        for op in sequence.body.block.ops:
            rule = _RULES.get(op.name)
            if rule is None:
                raise UnsupportedError(f"'{op.name}' in a schedule of MLIR", location=location_of(op), hint=_HINT)
            results = rule(self, op)
            if op.name not in _READING:
                for operand in op.operands:
                    self.handles.pop(operand, None)
            if results is not None:
                self.handles.update(zip(op.results, results, strict=True))
        return {function for function, _ in self.found}

    # handles

    def items(self, value: SSAValue) -> list[Any]:
        """Return what a handle is on. Raises `ScheduleError` for the root, and for one that a step has consumed."""
        if value not in self.handles:
            what = "the handle on the whole module" if value is self.root else "a handle that a step has consumed"
            raise ScheduleError(what, location=_place(value), expected="the result of a match or of the last step")
        return self.handles[value]

    def structured(self, value: SSAValue) -> list[Structured]:
        """Return the blocks of a handle."""
        known = self.items(value)
        if not all(isinstance(item, Structured) for item in known):
            raise ScheduleError("a handle on loops", location=_place(value), expected="a handle on operations")
        return known

    def loops(self, value: SSAValue) -> list[LoopRV]:
        """Return the loops of a handle."""
        known = self.items(value)
        if not all(isinstance(item, LoopRV) for item in known):
            raise ScheduleError("a handle on operations", location=_place(value), expected="a handle on loops")
        return known

    # rules: operation -> the handles that it gives

    def match(self, op: Operation) -> list[Any]:
        if op.operands[0] is not self.root:
            raise UnsupportedError("a match within a handle", location=location_of(op), expected="the whole module")
        names, attributes = op.properties.get("ops"), op.properties.get("op_attrs")
        if op.properties.keys() - {"ops", "op_attrs"}:
            raise UnsupportedError("a match by interface or type", location=location_of(op), expected="ops, attributes")
        name = attributes.data.get(BLOCK_NAME) if isinstance(attributes, DictionaryAttr) else None
        if isinstance(attributes, DictionaryAttr) and set(attributes.data) != {BLOCK_NAME}:
            raise UnsupportedError("a match by an attribute", location=location_of(op), expected=BLOCK_NAME)
        known = list(self.blocks)
        if isinstance(name, StringAttr):
            known = [key for key in known if key[1] == name.data]
        if isinstance(names, ArrayAttr):
            kinds = [n.data.removeprefix("linalg.") for n in cast("ArrayAttr[StringAttr]", names)]
            known = [key for key in known if any(re.fullmatch(rf"{kind}(_\d+)?", key[1]) for kind in kinds)]
        return [[self._find(key) for key in known]]

    def split_handle(self, op: Operation) -> list[Any]:
        known = self.items(op.operands[0])
        if len(known) != len(op.results):
            raise ScheduleError(
                f"{len(op.results)} results", location=location_of(op), found=f"{len(known)} operations"
            )
        return [[item] for item in known]

    def tile(self, op: Operation) -> list[Any]:
        sizes = self.numbers(op, "static_sizes")
        order = self.numbers(op, "interchange")
        factors = [(d, [None, size]) for d, size in enumerate(sizes) if size]
        if len(factors) != len(op.results) - 1:
            found = f"{len(op.results) - 1} results that are loops"
            raise ScheduleError(f"{len(factors)} sizes that are not 0", location=location_of(op), found=found)
        results: list[list[LoopRV]] = []
        for s, iterators in self._of(op):
            outer = self._tiled(s, iterators, op, factors)
            by_iterator = {d: loop for (d, _), loop in zip(factors, outer, strict=True)}
            rank = len(iterators) if len(order) > len(sizes) else len(sizes)
            places = _permutation(op, order, rank) if order else range(len(iterators))
            results.append([by_iterator[d] for d in places if d in by_iterator])
            self._arrange(s, results[-1])
        return [self.structured(op.operands[0]), *([outer[i] for outer in results] for i in range(len(op.results) - 1))]

    def forall(self, op: Operation) -> list[Any]:
        sizes, threads = self.numbers(op, "static_tile_sizes"), self.numbers(op, "static_num_threads")
        factors = [(d, [None, size] if sizes else [size, None]) for d, size in enumerate(sizes or threads) if size]
        if not factors:
            raise ScheduleError("no size that is not 0", location=location_of(op))
        loops: list[LoopRV] = []
        for s, iterators in self._of(op):
            outer = self._tiled(s, iterators, op, factors)
            self._arrange(s, outer)
            fused = self.schedule.fuse(*outer) if len(outer) > 1 else outer[0]
            s.around[len(s.around) - len(outer) :] = [fused]
            self.schedule.parallel(fused)
            loops.append(fused)
        return [self.structured(op.operands[0]), loops]

    def _of(self, op: Operation) -> list[tuple[Structured, list[LoopRV]]]:
        """Return the blocks that an operation works on, and the loops of their iterators."""
        known = [self._prepare(s) for s in self.structured(op.operands[0])]
        return [(s, s.iterators or []) for s in known]

    def _tiled(
        self,
        s: Structured,
        iterators: list[LoopRV],
        op: Operation,
        factors: Sequence[tuple[int, list[int | None]]],
    ) -> list[LoopRV]:
        """Split iterators; return the outer loops."""
        if any(d >= len(iterators) for d, _ in factors):
            found = f"{len(iterators)} loops that are iterators"
            raise ScheduleError("more tile sizes than iterators", location=location_of(op), found=found)
        outer: list[LoopRV] = []
        for d, pair in factors:
            first, iterators[d] = self.schedule.split(iterators[d], pair)
            outer.append(first)
        return outer

    def _arrange(self, s: Structured, outer: list[LoopRV]) -> None:
        s.around += outer
        self._reorder([*outer, *(s.iterators or [])])

    def _reorder(self, loops: Sequence[LoopRV]) -> None:
        if len(loops) > 1:
            self.schedule.reorder(*loops)

    def interchange(self, op: Operation) -> list[Any]:
        for s, iterators in self._of(op):
            order = _permutation(op, self.numbers(op, "iterator_interchange"), len(iterators))
            s.iterators = [iterators[i] for i in order]
            self._reorder(s.iterators)
        return [self.structured(op.operands[0])]

    def vectorize(self, op: Operation) -> None:
        """The innermost iterator that is none of a reduction becomes vectors."""
        sizes = self.numbers(op, "static_vector_sizes")
        for s, iterators in self._of(op):
            if sizes and (len(sizes) != len(iterators) or min(sizes) < 1):
                expected = f"{len(iterators)} positive numbers, or none"
                raise ScheduleError("vector sizes", location=location_of(op), expected=expected, found=sizes)
            running = [loop for loop in iterators if self._runs(loop)]
            spatial = [loop for loop in running if self._is_spatial(s.block, loop)]
            if running and not spatial:
                raise ScheduleError("only loops of reductions to vectorize", location=location_of(op))
            if spatial:
                self._reorder([*(loop for loop in iterators if loop is not spatial[-1]), spatial[-1]])
                self.schedule.vectorize(spatial[-1])

    def _runs(self, loop: LoopRV) -> bool:
        return getattr(self.schedule.operation(loop).extent, "constant", None) != 1

    def _is_spatial(self, block: BlockRV, loop: LoopRV) -> bool:
        op, variable = self.schedule.operation(block), self.schedule.operation(loop).loop_var
        used = [kind for kind, binding in zip(op.kinds, op.bindings, strict=True) if _reaches(binding, variable)]
        return all(kind is IterKind.SPATIAL for kind in used)

    def unroll(self, op: Operation) -> None:
        factor = cast(IntegerAttr, op.properties["factor"]).value.data
        for loop in self.loops(op.operands[0]):
            extent = getattr(self.schedule.operation(loop).extent, "constant", None)
            inner = loop if extent is not None and extent <= factor else self.schedule.split(loop, [None, factor])[1]
            self.schedule.unroll(inner)

    def coalesce(self, op: Operation) -> list[Any]:
        """Fuse a loop with all that steps have made inside it."""
        results: list[LoopRV] = []
        for loop in self.loops(op.operands[0]):
            s = next((s for s in self.found.values() if any(loop == known for known in s.around)), None)
            if s is None:
                raise ScheduleError("no loop that a step has made", location=location_of(op))
            place = next(i for i, known in enumerate(s.around) if known == loop)
            fused = self.schedule.fuse(*s.around[place:]) if len(s.around) > place + 1 else loop
            s.around[place:] = [fused]
            results.append(fused)
        return [results]

    def fuse_into(self, op: Operation) -> list[Any]:
        loops = self.loops(op.operands[1])
        if len(loops) != 1:
            raise ScheduleError(
                "a handle to fuse into", location=location_of(op), expected="one loop", found=len(loops)
            )
        loop = loops[0]
        for s, _ in self._of(op):
            self.schedule.compute_at(s.block, loop)
            s.around, s.iterators = [], self._iterators(s.block)
        return [self.structured(op.operands[0]), [loop]]

    def pad(self, op: Operation) -> list[Any]:
        """Pad iterators to multiples, with the init still in the block."""
        dims, multiples = self._array(op, "padding_dimensions"), self.numbers(op, "static_pad_to_multiple_of")
        known = self.structured(op.operands[0])
        for s in known:
            padding = [1] * len(self.schedule.operation(s.block).iter_vars)
            if multiples and (len(dims) != len(multiples) or any(not 0 <= d < len(padding) for d in dims)):
                expected = f"a multiple for each, of {len(padding)} iterators"
                raise ScheduleError("dimensions to pad", location=location_of(op), expected=expected, found=dims)
            for d, multiple in zip(dims, multiples, strict=False):  # none: each is 1
                padding[d] = multiple
            self.schedule.pad_einsum(s.block, padding)
        return [known, *([] for _ in op.results[1:])]

    def _array(self, op: Operation, name: str) -> list[int]:
        value = op.properties.get(name)
        return [cast(IntegerAttr, n).value.data for n in value] if isinstance(value, ArrayAttr) else []

    def same(self, op: Operation) -> list[Any]:
        return [self.items(op.operands[0]) for _ in op.results]

    def numbers(self, op: Operation, name: str) -> list[int]:
        """Return constant numbers of an operation. Raises `UnsupportedError` for computed ones."""
        value = op.properties.get(name)
        found = [int(n) for n in cast("DenseArrayBase[Any]", value).get_values()] if value is not None else []
        if DYNAMIC_INDEX in found:
            raise UnsupportedError(f"'{op.name}' with computed sizes", location=location_of(op), expected="numbers")
        return found


_TRUE = IntegerAttr.from_bool(True)
_HINT = "docs/mlir.md lists the steps that tirax has, too"


def _place(value: SSAValue) -> Any:
    return location_of(value.owner) if isinstance(value.owner, Operation) else None


def _permutation(op: Operation, order: Sequence[int], rank: int) -> Sequence[int]:
    """Return `order`. Raises `ScheduleError` if it does not have each iterator once."""
    if sorted(order) != list(range(rank)):
        expected = f"each of 0 to {rank - 1} once"
        raise ScheduleError("an interchange", location=location_of(op), expected=expected, found=list(order))
    return order


def _reaches(value: SSAValue, variable: SSAValue) -> bool:
    """Return whether an expression is computed of a variable."""
    pending, seen = [value], {value}
    while pending:
        value = pending.pop()
        if value is variable:
            return True
        new = [v for v in value.owner.operands if v not in seen] if isinstance(value.owner, Operation) else []
        seen.update(new)
        pending += new
    return False


_Rule = Callable[[_Runner, Operation], "list[Any] | None"]
_RULES: Mapping[str, _Rule] = {
    "transform.structured.match": _Runner.match,
    "transform.structured.tile_using_for": _Runner.tile,
    "transform.structured.tile_using_forall": _Runner.forall,
    "transform.structured.interchange": _Runner.interchange,
    "transform.structured.vectorize": _Runner.vectorize,
    "transform.structured.fuse_into_containing_op": _Runner.fuse_into,
    "transform.structured.generalize": _Runner.same,
    "transform.structured.pad": _Runner.pad,
    "transform.split_handle": _Runner.split_handle,
    "transform.loop.unroll": _Runner.unroll,
    "transform.loop.coalesce": _Runner.coalesce,
    "transform.apply_cse": lambda runner, op: None,
    "transform.yield": lambda runner, op: None,
}
"""operation -> what it does, and the handles that it gives."""
_READING = frozenset(("transform.structured.match", "transform.apply_cse", "transform.yield"))
"""Operations that leave their handles valid; the others consume them, as in MLIR."""
