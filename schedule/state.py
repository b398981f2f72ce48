"""The state that primitives operate on: the functions of a module, with queries for their blocks and loops.

The root block of a function, which is implicit in the IR, is represented by the function; if it has annotations, it
is a block named `root` around the full body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NoReturn, cast

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..diagnostics import TiraxError, unknown_name
from ..dialects import tir
from ..dialects.sym import ValueOp
from ..dialects.sym.expr import SymExpr, Var
from ..ir.affine.init_nest import sources
from ..ir.affine.values import sym_expr_of
from ..transforms.tir.walk import functions
from .random import Random

EXPRESSIONS = (*tir.EXPRESSION_OPS, ValueOp)
"""Operations that compute a value; all others are statements."""

BlockLike = tir.BlockOp | tir.FuncOp
"""A block; a function is its own root block."""


class State:
    """The scheduled module, its random number generator, and the function in which names are looked up."""

    def __init__(self, module: ModuleOp, random: Random, working_on: str | None = None):
        self.module = module
        self.random = random
        self.working_on = working_on
        self.replaced: dict[Operation, Operation] = {}
        """Operations that a primitive put others in the place of: handles on the old ones stand for the new ones."""

    def function(self, name: str | None = None) -> tir.FuncOp:
        """Return the function `name`; by default the one worked on, `main`, or the only one."""
        funcs = {f.sym_name.data: f for f in functions(self.module)}
        chosen = name or self.working_on or ("main" if "main" in funcs else None)
        if chosen is None and len(funcs) == 1:
            return next(iter(funcs.values()))
        if chosen is None:
            raise NoFunctionError(
                "the schedule does not know which function to be working on",
                expected="func_name, or work_on(name)",
                found=sorted(funcs),
            )
        if chosen not in funcs:
            raise unknown_name("function", chosen, funcs)
        return funcs[chosen]

    def is_alive(self, op: Operation) -> bool:
        """Return whether an operation is still in the module."""
        return self.module.is_ancestor(op)


def fail(rule: str, *places: Operation, **details: object) -> NoReturn:
    """Raise `ScheduleError`: `rule` is violated at `places`."""
    raise ScheduleError(rule, places, **details)


def children(block: Block) -> list[Operation]:
    """Return the statements of a body, without expressions and allocations."""
    return [op for op in block.ops if not isinstance(op, (*EXPRESSIONS, tir.AllocBufferOp, tir.AllocConstOp))]


def ancestors(op: Operation) -> Iterator[Operation]:
    """Yield the operations around `op`, innermost first."""
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def loops_above(op: Operation) -> list[tir.ForOp]:
    """Return the loops around `op` up to its block or function, outermost first."""
    inside = takewhile(lambda around: not isinstance(around, BlockLike), ancestors(op))
    return [around for around in inside if isinstance(around, tir.ForOp)][::-1]


def scope_of(op: Operation) -> BlockLike:
    """Return the block around `op`, or the function if there is none."""
    return cast(BlockLike, next((around for around in ancestors(op) if isinstance(around, BlockLike)), None))


def body_of(scope: BlockLike) -> Block:
    """Return the statements of a block."""
    return scope.body.block


def blocks_below(op: Operation) -> list[tir.BlockOp]:
    """Return the blocks below `op` that are not nested in another block, in order."""
    return [b for region in op.regions for block in region.blocks for b in _blocks_in(block)]


def _blocks_in(block: Block) -> Iterator[tir.BlockOp]:
    for op in block.ops:
        if isinstance(op, tir.BlockOp):
            yield op
        elif op.regions:
            yield from blocks_below(op)


def name_of_block(block: BlockLike) -> str:
    """Return the name of a block."""
    return block.block_name.data if isinstance(block, tir.BlockOp) else "root"


def domains_of(block: tir.BlockOp) -> dict[SSAValue, tuple[SymExpr, SymExpr]]:
    """Return the iterators of a block with their domains: minimum and extent."""
    return dict(zip(block.iter_vars, zip(block.mins, block.extents, strict=True), strict=True))


def annotations_of(op: tir.BlockOp | tir.ForOp) -> dict[str, Attribute]:
    """Return the annotations of a block or a loop."""
    return {} if op.annotations is None else dict(op.annotations.data)


def annotate(op: tir.BlockOp | tir.ForOp, more: Mapping[str, Attribute]) -> None:
    """Add annotations to a block or a loop."""
    op.properties["annotations"] = DictionaryAttr({**annotations_of(op), **more})


def buffers_read(block: tir.BlockOp) -> list[SSAValue]:
    """Return the buffers of a block's read regions."""
    return [r.buffer for r in block.reads]


def buffers_written(block: tir.BlockOp) -> list[SSAValue]:
    """Return the buffers of a block's write regions."""
    return [w.buffer for w in block.writes]


def buffers_needed(block: tir.BlockOp) -> set[SSAValue]:
    """Return the buffers that a block reads, including those of its predicate and bindings, which regions do not
    cover.
    """
    outside = {v for v in sources(block.operands) if isinstance(v.type, tir.BufferType)}
    return outside.union(buffers_read(block))


def producers(block: tir.BlockOp) -> list[tir.BlockOp]:
    """Return the blocks before a block in its scope that write its inputs."""
    read = buffers_needed(block)
    return [b for b in _siblings(block, before=True) if read & set(buffers_written(b))]


def consumers(block: tir.BlockOp) -> list[tir.BlockOp]:
    """Return the blocks after a block in its scope that read its outputs."""
    written = set(buffers_written(block))
    return [b for b in _siblings(block, before=False) if written & buffers_needed(b)]


def _siblings(block: tir.BlockOp, *, before: bool) -> list[tir.BlockOp]:
    every = blocks_below(scope_of(block))
    at = every.index(block)
    return every[:at] if before else every[at + 1 :]


def share_memory(scope: str, thread: str) -> bool:
    """Return whether the threads of a tag share memory of a scope, as those of a CUDA block share `shared`."""
    if scope.startswith("warp"):
        return thread == "threadIdx.x"
    return scope.startswith("shared") and not thread.startswith("blockIdx")


def output_blocks(scope: BlockLike) -> list[tir.BlockOp]:
    """Return the blocks of a scope that write buffers not allocated in it."""
    inside = {op.results[0] for op in body_of(scope).ops if isinstance(op, tir.AllocBufferOp)}
    return [b for b in blocks_below(scope) if not set(buffers_written(b)) <= inside]


def extent_of(loop: tir.ForOp) -> SymExpr:
    """Return the extent of a loop as an expression."""
    return loop.extent if isinstance(loop.extent, SymExpr) else sym_expr_of(loop.extent)


def constant_extent(loop: tir.ForOp) -> int | None:
    """Return the extent of a loop if it is constant, or None."""
    return extent_of(loop).constant


def min_of(loop: tir.ForOp) -> SymExpr:
    """Return the first value of a loop as an expression."""
    return loop.min if isinstance(loop.min, SymExpr) else sym_expr_of(loop.min)


def loop_expr(loop: tir.ForOp) -> Var:
    """Return the variable of a loop as an expression."""
    return cast(Var, sym_expr_of(loop.loop_var))


def is_function(block: BlockLike) -> bool:
    return isinstance(block, tir.FuncOp)


def function_around(op: Operation) -> tir.FuncOp:
    """Return the function that contains an operation of the module."""
    return cast(tir.FuncOp, function_of(op))


def require_same_scope(loops: Sequence[tir.ForOp]) -> None:
    """Reject loops that are not in the same block."""
    scopes = {scope_of(loop) for loop in loops}
    if len(scopes) > 1:
        fail("the loops are not in one block", *loops)


class UnknownHandleError(TiraxError, IndexError):
    """A handle is none of the schedule's."""


class ScheduleError(TiraxError):
    """A primitive failed: the violated rule, and the blocks or loops where it is violated (`places`).

    `str` shows the function with a line of `^` below each place.
    """

    brief: str | None = None
    """The rule without names, shown by the level `fast`, if the message contains names."""

    def __init__(self, message: str, places: Sequence[Operation] = (), **details: object):
        self.places = tuple(places)
        super().__init__(message, **details)  # pyright: ignore[reportArgumentType]

    def rendered(self, primitive: str, level: str = "detail") -> ScheduleError:
        """Return the error as shown to the user: with the primitive's name and, if `level` is `detail`, with the IR.

        The level `none` shows only the rule, for searches that try something else.
        """
        if level == "none":
            return type(self)(f"{primitive}: {self.message} (not rendered)", self.places)
        notes = [*self.notes, *(_shown(self.places) if level == "detail" else ())]
        details = {"expected": self.expected, "found": self.found, "hint": self.hint, "location": self.location}
        rule = self.brief if level == "fast" and self.brief is not None else self.message
        return type(self)(f"{primitive}: {rule}", self.places, notes=notes, **details)


class NoFunctionError(ScheduleError, ValueError):
    """A module has several functions, and none of them is worked on."""


class BufferIndexError(ScheduleError, AssertionError):
    """A buffer index is out of range for the buffers that the block reads or writes; TVM checks this with an
    `assert`.
    """


def _shown(places: Sequence[Operation]) -> list[str]:
    """Return the functions around the places as TVM shows them, with loops and blocks on separate numbered lines.

    They are printed immediately, because the IR may be restored before the error is shown.
    """
    from ..script import print_script

    funcs = dict.fromkeys(f for f in map(function_of, places) if f is not None)
    if not funcs:
        return []
    numbers = {op: f"tir.{'For' if isinstance(op, tir.ForOp) else 'Block'}#{k}" for k, op in enumerate(places)}
    shown = print_script(
        next(iter(funcs)).parent_op(),
        only=tuple(funcs),
        obj_to_underline=places,
        obj_to_annotate=numbers,
        syntax_sugar=False,
    )
    return [shown]


def function_of(op: Operation) -> tir.FuncOp | None:
    """Return the tensor function that `op` is, or that contains it."""
    return next((around for around in (op, *ancestors(op)) if isinstance(around, tir.FuncOp)), None)
