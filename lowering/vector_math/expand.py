"""`expand-math`: expand the elementary functions of `math` to polynomials, in vectors and scalars alike.

    %y = math.exp %x : vector<16xf32>
      -> math.fma, arith.addf, arith.shli, arith.select, …

f16 and bf16 are computed in f32. Division of a vector by a constant becomes a product (`divisions`). Sums c + c erf(x)
and c + c tanh(x), of which gelu consists, are expanded as one function, without cancellation where they are near zero,
and so is gelu of f32 itself, x * (0.5 + 0.5 erf(x sqrt(0.5))). For a target with `-math=libm`, everything is left to
the C library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, math, vector
from xdsl.dialects.builtin import BFloat16Type, DenseIntOrFPElementsAttr, Float16Type, FloatAttr, ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.quick import operations
from ...dialects.xdsl_extras.arith_extras import element_type
from ...ir.passes.transform import Pass
from ...target import Target
from ..tir_to_scf.emitter import Emitter, is_vector, like
from . import exponentials
from .divisions import divide, has_reciprocal
from .functions import FUNCTIONS, Function
from .lanes import F32, Float, Lanes

_HALVES = (Float16Type, BFloat16Type)
_SQRT_HALF = F32.nearest(0.5**0.5)


@dataclass(frozen=True)
class ExpandMath(Pass):
    """Expand elementary functions to polynomials in all functions of a module, unless `target` has `-math=libm`.

    Raises `TargetError` for an invalid target string.
    """

    name = "expand-math"

    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target(self.target)
        if target.math == "libm":
            return
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                _expand_function(function, target)


def _expand_function(function: func.FuncOp, target: Target) -> None:
    ops = operations(function)
    calls = [op for op in ops if type(op) in FUNCTIONS]
    quotients = [op for op in ops if type(op) is arith.DivfOp]
    if not calls and not quotients:
        return
    emit = Emitter(function.body.blocks[0])
    for op in quotients:
        _expand_quotient(emit, op, target)
    for op in [op for op in ops if isinstance(op, arith.MulfOp)]:
        _expand_gelu(emit, op, target)
    for op in [op for op in ops if isinstance(op, arith.AddfOp)]:
        if op.parent is not None:  # else it was a part of gelu
            _expand_sum(emit, op, target)
    for op in calls:
        if op.parent is not None:  # else it was a part of a sum or of gelu
            _expand_call(emit, op, target)


def _replace(emit: Emitter, op: Operation, build: Callable[[], SSAValue]) -> None:
    """Insert the operations of `build` before `op`, and replace the result of `op` by its result."""
    scratch = Block()
    emit.place = op.location
    with emit.inside(scratch):
        value = build()
    place = op.parent
    assert place is not None
    for new in list(scratch.ops):
        new.detach()
        place.insert_op_before(new, op)
    value.name_hint = value.name_hint or op.results[0].name_hint  # copied as it is stored, encoded
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def _in_f32(emit: Emitter, values: list[SSAValue], build: Callable[[list[SSAValue]], SSAValue]) -> SSAValue:
    """Return `build(values)`; f16 and bf16 are computed in f32 and the result is rounded."""
    narrow = values[0].type
    if not isinstance(element_type(narrow), _HALVES):
        return build(values)
    wide = build([emit.pure(arith.ExtFOp, (v,), like(narrow, f32)) for v in values])
    return emit.pure(arith.TruncFOp, (wide,), narrow)


def _expand_quotient(emit: Emitter, op: arith.DivfOp, target: Target) -> None:
    """Expand the division of a vector by a constant, for targets with fma."""
    divisor = _constant_of(op.rhs) if is_vector(op.lhs) and target.has_fma else None
    at = Lanes(emit, op.lhs.type, target)
    if divisor is None or element_type(op.lhs.type) != at.format.element or not has_reciprocal(divisor, at.format):
        return
    _replace(emit, op, lambda: divide(at, at.wrap(op.lhs), divisor).value)


def _expand_call(emit: Emitter, op: Operation, target: Target) -> None:
    function = FUNCTIONS[type(op)]

    def build(values: list[SSAValue]) -> SSAValue:
        at = Lanes(emit, values[0].type, target)
        args = [at.wrap(v) for v in values]
        return _formula(at, op, function, args).value

    _replace(emit, op, lambda: _in_f32(emit, list(op.operands), build))


def _formula(at: Lanes, op: Operation, function: Function, args: list[Float]) -> Float:
    if not function.uses_library:
        return function.formula(at, *args)
    values = [x.value for x in args]
    return function.formula(at, *args, lambda: at.wrap(at.emit.pure(type(op), values, at.type, op.properties)))


@dataclass(frozen=True)
class _Sum:
    """factor + factor * call, where `call` is erf or tanh."""

    factor: float
    call: Operation
    product: Operation | None


def _constant_of(value: SSAValue) -> float | None:
    """Return the number if the value is a constant that is the same in each lane, else None."""
    owner = value.owner
    if isinstance(owner, vector.BroadcastOp):
        return _constant_of(owner.source)
    if not isinstance(owner, arith.ConstantOp):
        return None
    attribute = owner.value
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        values = attribute.get_values() if attribute.is_splat() else ()
        return float(values[0]) if values and isinstance(values[0], float) else None
    return attribute.value.data if isinstance(attribute, FloatAttr) else None


def _sum_of(op: Operation) -> _Sum | None:
    for constant, other in (op.operands, op.operands[::-1]):
        factor, owner = _constant_of(constant), other.owner
        if factor is None or not isinstance(owner, Operation):
            continue
        if type(owner) in _SUMS and factor == 1.0:
            return _Sum(factor, owner, None)
        if isinstance(owner, arith.MulfOp):
            for a, b in (owner.operands, owner.operands[::-1]):
                if type(b.owner) in _SUMS and _constant_of(a) == factor:
                    return _Sum(factor, b.owner, owner)  # pyright: ignore[reportArgumentType]
    return None


def _expand_sum(emit: Emitter, op: Operation, target: Target) -> None:
    matched = _sum_of(op)
    if matched is None:
        return

    def build(values: list[SSAValue]) -> SSAValue:
        at = Lanes(emit, values[0].type, target)
        return _SUMS[type(matched.call)](at, at.wrap(values[0]), matched.factor).value

    _replace(emit, op, lambda: _in_f32(emit, [matched.call.operands[0]], build))
    _erase_unused(matched.product, matched.call)


def _erase_unused(*parts: Operation | None) -> None:
    """Erase the operations that have no uses; `parts` are ordered from the last to the first."""
    for part in parts:
        if part is not None and part.parent is not None and not any(r.uses for r in part.results):
            part.detach()
            part.erase()


@dataclass(frozen=True)
class _Gelu:
    """The gelu of x, and the operations that compute it, from the last to the first."""

    x: SSAValue
    parts: tuple[Operation | None, ...]


def _gelu_of(op: arith.MulfOp) -> _Gelu | None:
    """Match `op` if it is x * (0.5 + 0.5 erf(x sqrt(0.5))) of f32."""
    for x, other in (op.operands, op.operands[::-1]):
        add = other.owner
        if not isinstance(add, arith.AddfOp) or element_type(x.type) != f32:
            continue
        matched = _sum_of(add)
        if matched is None or matched.factor != 0.5 or not isinstance(matched.call, math.ErfOp):
            continue
        argument = matched.call.operand.owner
        if isinstance(argument, arith.MulfOp) and x in argument.operands:
            factor = argument.rhs if argument.lhs is x else argument.lhs
            if _constant_of(factor) == _SQRT_HALF:
                return _Gelu(x, (add, matched.product, matched.call, argument))
    return None


def _expand_gelu(emit: Emitter, op: arith.MulfOp, target: Target) -> None:
    gelu = _gelu_of(op)
    if gelu is None:
        return
    at = Lanes(emit, gelu.x.type, target)
    _replace(emit, op, lambda: exponentials.gelu(at, at.wrap(gelu.x)).value)
    _erase_unused(*gelu.parts)


def _one_plus_erf(at: Lanes, x: Float, factor: float) -> Float:
    return exponentials.erfc(at, -x) * factor


def _one_plus_tanh(at: Lanes, x: Float, factor: float) -> Float:
    """Return 2 / (1 + exp(-2 x)), scaled by `factor`."""
    return 2.0 * factor / (exponentials.exp(at, x * -2.0) + 1.0)


_SUMS: dict[type[Operation], Callable[[Lanes, Float, float], Float]] = {
    math.ErfOp: _one_plus_erf,
    math.TanhOp: _one_plus_tanh,
}
