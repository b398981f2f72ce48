"""`vectorize-loop` and `vectorize-for-target`: turn loops of kind `vectorized` into vector operations.

    for vectorized %i to 8 {store load %A[%j * 8 + %i], %B[%i]}
      ->  store load %A[ramp(%j * 8, 1, 8)], %B[ramp(0, 1, 8)]

`vectorize-loop` turns a loop into one vector with as many lanes as iterations, as in TVM, or with a multiple of
`T.vscale()` lanes if the target has scalable vectors; a branch on a varying condition runs lane by lane, or, with
`PassContext(config={"tir.enable_buffer_level_predication": True})`, under a mask.

`vectorize-for-target` uses vectors of the target's width: up to eight of them in a loop to be unrolled, more in a
serial one. The tail is a shorter vector, or a masked one:

    for vectorized %i to n {…}
      ->  for %v to n // 16 {… ramp(%v * 16, 1, 16)};  if n % 16 > 0 {… where ramp(0, 1, 16) < broadcast(n % 16)}

A varying condition that decides whether something runs becomes a mask, too. Values that do not depend on the loop
variable are computed once, and broadcast. A loop that contains an operation without a vector form (`vector_plan`)
becomes a serial loop.
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
"""Maximum number of vectors in a loop that is unrolled."""


@dataclass(frozen=True)
class VectorizeLoop(Pass):
    """Vectorize loops of kind `vectorized`; with `enable_vectorize` false these become serial.

    Raises `UnsupportedError` for a vectorized loop whose extent is neither a constant nor, for a target with scalable
    vectors, a multiple of `T.vscale()`.
    """

    name = "vectorize-loop"
    enable_vectorize: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            if _each_loop(func, _one_vector if self.enable_vectorize else lambda loop: False):
                remove_dead(func)


@dataclass(frozen=True)
class VectorizeForTarget(Pass):
    """Vectorize loops of kind `vectorized` with vectors of the target's width."""

    name = "vectorize-for-target"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bits = Target(self.target).vector_bits
        for func in functions(op):
            _each_loop(func, lambda loop: _vectors(loop, bits))


def _each_loop(func: tir.FuncOp, vectorize: Callable[[tir.ForOp], bool]) -> bool:
    """Vectorize loops, or make them serial if not possible; return whether there were any."""
    loops = list(outermost(func.body.block.ops, ForKind.VECTORIZED))
    for loop in loops:
        loop.properties.pop("kind_attr")
        if not vectorize(loop):
            loops += outermost(loop.body.block.ops, ForKind.VECTORIZED)
    return bool(loops)


def _one_vector(loop: tir.ForOp) -> bool:
    """Replace a loop by one vector; return False if that is not possible, and the loop is now serial."""
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
    """Return the number of lanes of a loop, and whether it is a multiple of vscale."""
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
    """Raise `UnsupportedError` for vectors in a loop to be vectorized; a serial loop would ignore the user's intent."""
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
    """Return the target of an operation: from an attribute around it, from its function, or the current target."""
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
    """Return whether branches may become masks: by configuration, else if the target can mask all vectors."""
    chosen = (PassContext.current().config or {}).get("tir.enable_buffer_level_predication")
    return has_scalable_vectors(target) if chosen is None else bool(chosen)


def _vectors(loop: tir.ForOp, bits: int) -> bool:
    """Replace a loop by vectors of up to `bits` bits; return False if impossible: the loop is then serial."""
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
    """Writer of the vectors of a loop before it, `width` lanes at once."""

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
        """Write this many full vectors."""
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
        """Write the tail: a shorter vector, masked if its length is not a power of two."""
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
        """Write the body once for `lanes` values of the loop variable from `start`, with the first `room` active."""
        at = self._value(start) if room is not None else Materializer(insert)(start, self.dtype)
        writer = VectorWriter(self.plan, at, lanes, insert, self._number, self.scalable)
        if room is not None:
            writer.mask = writer.first_lanes(self._value(room))
        writer.block(self.loop.body.block)

    def _value(self, expr: SymExpr) -> SSAValue:
        """Return an expression as a value before the loop; one over sizes is unchanged, as sizes are not negative."""
        sizes = [v.value is None for v in expr.free_vars()]
        if not sizes or not all(sizes) or expr.dtype != self.dtype:
            return self.build(expr, self.dtype)
        self.insert(size := ValueOp(expr))
        return size.results[0]

    def _number(self, value: int, dtype: Attribute) -> SSAValue:
        return self.build(Const(value), cast(IntegerType, dtype))

    def _bound(self, bound: SymExpr) -> SymExpr | SSAValue:
        """Return a loop bound: an expression over sizes unchanged, one over values as a value."""
        return self.build(bound, self.dtype) if any(v.value is not None for v in bound.free_vars()) else bound
