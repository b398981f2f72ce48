"""`vectorize-loop` and `vectorize-for-target`: loops of kind `vectorized` become operations on vectors.

    for vectorized %i to 8 {store load %A[%j * 8 + %i], %B[%i]}
      ->  store load %A[ramp(%j * 8, 1, 8)], %B[ramp(0, 1, 8)]

By `vectorize-loop` a loop becomes one vector of as many lanes as it has iterations, as in TVM, or of a multiple of
`T.vscale()` lanes where the target has such vectors; a branch that varies from lane to lane runs lane by lane, or, by
`PassContext(config={"tir.enable_buffer_level_predication": True})`, under a mask. By
`vectorize-for-target` vectors of the target's width, up to eight of them in a loop to be unrolled, more in a serial
one. The lanes that are left over are a shorter vector, or one under a mask:

    for vectorized %i to n {…}
      ->  for %v to n // 16 {… ramp(%v * 16, 1, 16)};  if n % 16 > 0 {… where ramp(0, 1, 16) < broadcast(n % 16)}

What varies from lane to lane and decides whether something runs becomes a mask, too. What the loop variable does not
reach is computed once, and broadcast. A loop with something in it that has no form for vectors (`vector_plan`) becomes
a serial loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, StringAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import dtype_name, is_scalable
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr, Var
from ...dialects.tir import ForKind
from ...dialects.tir.targets import full_text
from ...ir.affine.values import Materializer
from ...ir.locations import location_of
from ...ir.passes.transform import Pass, PassContext
from ...ir.rewriting.edit import inserter
from ...target import Target, has_scalable_vectors
from .vector_plan import VectorPlan, vector_plan
from .vector_writer import VectorWriter
from .walk import bound_expr, erase_with_tree, functions, move_out, outermost, remove_dead

_WRITTEN_OUT = 8
"""A loop of up to so many vectors is written out."""


@dataclass(frozen=True)
class VectorizeLoop(Pass):
    """Vectorize loops of kind `vectorized`; with `enable_vectorize` false these are made serial.

    Raises `UnsupportedError` for a vectorized loop whose extent is neither a constant nor, for a target with vectors
    of lengths that the machine sets, a multiple of `T.vscale()`.
    """

    name = "vectorize-loop"
    enable_vectorize: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            if _each_loop(func, _one_vector if self.enable_vectorize else lambda loop: False):
                remove_dead(func)


@dataclass(frozen=True)
class VectorizeForTarget(Pass):
    """Loops of kind `vectorized` become vectors as wide as those of the target."""

    name = "vectorize-for-target"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bits = Target(self.target).vector_bits
        for func in functions(op):
            _each_loop(func, lambda loop: _vectors(loop, bits))


def _each_loop(func: tir.FuncOp, vectorize: Callable[[tir.ForOp], bool]) -> bool:
    """Make vectors of vectorized loops, serial ones of those that cannot be; whether there are any."""
    loops = list(outermost(func.body.block.ops, ForKind.VECTORIZED))
    for loop in loops:
        loop.properties.pop("kind_attr")
        if not vectorize(loop):
            loops += outermost(loop.body.block.ops, ForKind.VECTORIZED)
    return bool(loops)


def _one_vector(loop: tir.ForOp) -> bool:
    """A vector in place of a loop; false where that cannot be done, and the loop is serial now."""
    target = _target_of(loop)
    lanes, scalable = _lanes(loop, target)
    move_out(loop)
    _refuse_scalable_elements(loop)
    plan = vector_plan(loop, masks=False, predicates=_predicates(target))
    if plan is None:
        _refuse_vectors_in(loop, scalable)
        set_name(loop.loop_var, f"{name_of(loop.loop_var) or 'i'}_s")
        return False
    _Strips(loop, plan, lanes, scalable).full_vectors(Const(1))
    erase_with_tree(loop)
    return True


def _lanes(loop: tir.ForOp, target: Target | str | None) -> tuple[int, bool]:
    """How many lanes a loop becomes, and whether times what the machine has."""
    extent = loop.extent
    lanes = bound_expr(extent).constant
    if lanes is not None:
        return lanes, False
    factor = tir.vscale_factor(extent) if isinstance(extent, SSAValue) else None
    if factor is not None and has_scalable_vectors(target):
        return factor, True
    text = _described(extent) if factor is None else f"T.vscale() * {factor}"
    target_text = "(nullptr)" if target is None else full_text(str(target))
    raise UnsupportedError(
        f"Failed to vectorize loop with extent {text} for target {target_text}",
        location=location_of(loop),
        expected="a constant, or T.vscale() times one for a target with such vectors",
        found=text,
    )


def _described(extent: SymExpr | SSAValue) -> str:
    if isinstance(extent, Var):
        return str(extent.name)
    return str(extent) if isinstance(extent, SymExpr) else name_of(extent) or "an expression"


def _refuse_vectors_in(loop: tir.ForOp, scalable: bool) -> None:
    """A serial loop of so many iterations as the machine has lanes would do the same; who wrote it meant vectors."""
    vectors = (r for op in loop.body.walk() for r in op.results if isinstance(r.type, VectorType))
    vector = next((v for v in vectors if scalable or is_scalable(v.type)), None)
    if vector is None:
        return
    what = (
        "Creating scalable vectors from existing vectors" if scalable else "Vectorizing over existing scalable vectors"
    )
    raise UnsupportedError(
        f"{what} is not supported.", location=location_of(vector.owner), found=dtype_name(vector.type)
    )


def _refuse_scalable_elements(loop: tir.ForOp) -> None:
    for op in loop.body.walk():
        stored: Attribute | None = cast(tir.BufferType, op.buffer.type).dtype if isinstance(op, tir.StoreOp) else None
        if stored is not None and is_scalable(stored):
            raise UnsupportedError(
                "Vectorizing over scalable buffer elements is not supported in vectorizer.",
                location=location_of(op),
                found=dtype_name(stored),
            )


def _target_of(op: Operation) -> Target | str | None:
    """What code is written for: by a note around `op`, by the function, by the target that was entered."""
    around = op.parent_op()
    while around is not None:
        noted = _noted_target(around)
        if noted is not None:
            return noted
        around = around.parent_op()
    return Target.current()


def _noted_target(op: Operation) -> Target | str | None:
    about: Attribute | SSAValue | None = None
    if isinstance(op, tir.AttrOp) and op.key.data == "target":
        about = op.on
    elif isinstance(op, tir.FuncOp) and op.func_attrs is not None:
        about = op.func_attrs.data.get("target")
    if isinstance(about, tir.TargetAttr):
        return Target(cast(Any, about.config)) if about.config["kind"] == "llvm" else None
    return about.data if isinstance(about, StringAttr) else None


def _predicates(target: Target | str | None) -> bool:
    """Whether branches may become masks: as it is configured, else where the target has them for all vectors."""
    chosen = (PassContext.current().config or {}).get("tir.enable_buffer_level_predication")
    return has_scalable_vectors(target) if chosen is None else bool(chosen)


def _vectors(loop: tir.ForOp, bits: int) -> bool:
    """Vectors of up to so many bits in place of a loop; false where that cannot be done, and the loop is serial now."""
    move_out(loop)
    plan = vector_plan(loop)
    if plan is None or bits < 2 * plan.widest:
        return False
    strips = _Strips(loop, plan, bits // plan.widest)
    strips.full_vectors(strips.extent // strips.width)
    strips.rest()
    erase_with_tree(loop)
    return True


class _Strips:
    """Writes the vectors of a loop before it, `width` lanes at once."""

    def __init__(self, loop: tir.ForOp, plan: VectorPlan, width: int, scalable: bool = False):
        self.loop = loop
        self.plan = plan
        self.width = width
        self.scalable = scalable
        self.insert = inserter(loop)
        self.dtype = cast(IntegerType, loop.loop_var.type)
        self.build = Materializer(self.insert)
        self.first, self.extent = bound_expr(loop.min), bound_expr(loop.extent)

    def full_vectors(self, count: SymExpr) -> None:
        """So many full vectors."""
        if count.constant == 1:
            self._vector(self.insert, self.first, self.width)
        elif count.constant != 0:
            body = Block(arg_types=[self.dtype])
            set_name(body.args[0], name_of(self.loop.loop_var))
            start = self.first + Var(body.args[0], self.dtype) * self.width
            self._vector(body.add_op, start, self.width)
            short = count.constant is not None and count.constant <= _WRITTEN_OUT
            kind = ForKind.UNROLLED if short else ForKind.SERIAL
            self.insert(tir.ForOp(Const(0, self.dtype), self._bound(count), Region(body), kind))

    def rest(self) -> None:
        """The lanes that are left over: a shorter vector, masked where their number is no power of two."""
        count = self.extent % self.width
        if count.constant == 0:
            return
        start = self.first + self.extent // self.width * self.width
        if count.constant == 1:
            values = {self.plan.lane: self.build(start, self.dtype)}
            for op in self.loop.body.block.ops:
                self.insert(op.clone(values))
        elif self.plan.gathers:
            self.insert(tir.ForOp(self._bound(start), self._bound(count), self.loop.body.clone()))
        elif count.constant is not None:
            lanes = 1 << (count.constant - 1).bit_length()
            self._vector(self.insert, start, lanes, None if lanes == count.constant else count)
        else:
            branch = Block()
            some = tir.GtOp(self._value(count), self.build(Const(0), self.dtype))
            self.insert(some)
            self._vector(branch.add_op, start, self.width, count)
            self.insert(tir.IfOp(some.result, Region(branch), Region()))

    def _vector(
        self, insert: Callable[[Operation], object], start: SymExpr, lanes: int, room: SymExpr | None = None
    ) -> None:
        """The body once for `lanes` values of the loop variable from `start`, of which the first `room` run."""
        at = self._value(start) if room is not None else Materializer(insert)(start, self.dtype)
        writer = VectorWriter(self.plan, at, lanes, insert, self._number, self.scalable)
        if room is not None:
            writer.mask = writer.first_lanes(self._value(room))
        writer.block(self.loop.body.block)

    def _value(self, expr: SymExpr) -> SSAValue:
        """An expression as a value before the loop: one over sizes as it is, since sizes are not negative."""
        sizes = [v.value is None for v in expr.free_vars()]
        if not sizes or not all(sizes) or expr.dtype != self.dtype:
            return self.build(expr, self.dtype)
        self.insert(size := ValueOp(expr))
        return size.results[0]

    def _number(self, value: int, dtype: Attribute) -> SSAValue:
        return self.build(Const(value), cast(IntegerType, dtype))

    def _bound(self, bound: SymExpr) -> SymExpr | SSAValue:
        """A bound of a loop: an expression over sizes as it is, one over values as a value."""
        return self.build(bound, self.dtype) if any(v.value is not None for v in bound.free_vars()) else bound
