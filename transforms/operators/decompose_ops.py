"""Decompose composite operators into simple ones, for inference or training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from ...dialects import relax
from ...dialects.names import name_of
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import ShapeType, free_symbolic_vars
from ...ir.functions.lookup import relax_functions
from ...ir.names import fresh_suffix
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, OpRule, apply_rules
from ...ir.rewriting.edit import set_type
from ...ir.rewriting.infer import refine_struct_info
from ..tir.walk import values_of


@dataclass(frozen=True)
class DecomposeOpsForInference(Pass):
    """Decompose `nn.batch_norm` as at inference, whatever its `training` attribute, and `tensor_to_shape`.

    y = batch_norm(x, gamma, beta, mean, var)  ->  y = ((x - mean) / sqrt(var + epsilon) * gamma + beta, mean, var)
    s = tensor_to_shape(t)                     ->  s = match_cast(call_pure_packed("vm.builtin.tensor_to_shape", t), …)

    Applies to the function `func_name`, or to all. The extents of a shape computed from a tensor are new symbolic
    variables. Operators of unknown rank or dtype are kept. Raises `NameLookupError` for a missing function.
    """

    name = "decompose-ops-for-inference"
    func_name: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _decompose(op, self.func_name, {"relax.nn.batch_norm": _batch_norm_inference})


@dataclass(frozen=True)
class DecomposeOpsForTraining(Pass):
    """Decompose `nn.batch_norm` as in training, whatever its attribute, `nn.layer_norm` and `tensor_to_shape`.

    y = batch_norm(x, gamma, beta, mean, var)  ->  m = mean(x); v = variance(x), of each channel
                                                   y = ((x - m) / sqrt(v + epsilon) * gamma + beta,
                                                        (1 - momentum) * mean + momentum * m, likewise for var)
    y = layer_norm(x, gamma, beta)             ->  y = (x - mean(x)) / sqrt(variance(x) + epsilon) * gamma + beta

    Applies to the function `func_name`, or to all, as in `DecomposeOpsForInference`.
    """

    name = "decompose-ops-for-training"
    func_name: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = {"relax.nn.batch_norm": _batch_norm_training, "relax.nn.layer_norm": _layer_norm}
        _decompose(op, self.func_name, rules)


def _decompose(module: ModuleOp, func_name: str | None, rules: dict[str, OpRule]) -> None:
    for func in relax_functions(module, func_name):
        shapes = _Shapes(func)
        apply_rules(module, {**rules, "relax.tensor_to_shape": shapes.rule}, [func])
        if shapes.changed:
            refine_struct_info(func)


def _batch_norm_inference(op: Operator, emit: Emit) -> SSAValue | None:
    if op.tensor("data").rank is None or op.tensor("data").element is None:
        return None
    _, _, _, mean, var = op.operands
    return emit.put(relax.TupleOp([_by_channel(op, emit, mean, var), mean, var]))


def _batch_norm_training(op: Operator, emit: Emit) -> SSAValue | None:
    data = op.tensor("data")
    if data.rank is None or data.element is None:
        return None
    x, _, _, *moving = op.operands
    others = _other_axes(op, data.rank)
    batch = [emit("mean", x, axis=others), emit("variance", x, axis=others)]
    out = _by_channel(op, emit, *batch)

    def average(before: SSAValue, now: SSAValue) -> SSAValue:
        old, new = (_constant(op, emit, v) for v in (1 - op.attr("momentum"), op.attr("momentum")))
        return emit("add", emit("multiply", old, before), emit("multiply", new, now))

    return emit.put(relax.TupleOp([out, *(average(m, b) for m, b in zip(moving, batch, strict=True))]))


def _other_axes(op: Operator, rank: int) -> list[int]:
    """Return all axes except that of the channels."""
    return [i for i in range(rank) if i != op.attr("axis") % rank]


def _by_channel(op: Operator, emit: Emit, mean: SSAValue, var: SSAValue) -> SSAValue:
    """Return the first result of a batch_norm with this mean and variance of each channel."""
    x, gamma, beta, _, _ = op.operands
    others = _other_axes(op, op.tensor("data").rank or 0)

    def spread(v: SSAValue) -> SSAValue:
        return emit("expand_dims", v, axis=others) if others else v

    centered = emit("subtract", x, spread(mean))
    out = emit("divide", centered, _deviation(op, emit, spread(var)))
    if op.attr("scale"):
        out = emit("multiply", out, spread(gamma))
    if op.attr("center"):
        out = emit("add", out, spread(beta))
    return out


def _layer_norm(op: Operator, emit: Emit) -> SSAValue | None:
    data, axes = op.tensor("data"), op.attr("axes")
    if data.rank is None or data.element is None or not _last(axes, data.rank):
        return None
    x, gamma, beta = op.operands
    centered = emit("subtract", x, emit("mean", x, axis=axes, keepdims=True))
    variance = emit("variance", x, axis=axes, keepdims=True)
    out = emit("divide", centered, _deviation(op, emit, variance))
    if op.attr("scale"):
        out = emit("multiply", out, gamma)
    return emit("add", out, beta) if op.attr("center") else out


def _last(axes: Sequence[int], rank: int) -> bool:
    """Return whether the axes are the last ones in order, so that gamma and beta broadcast directly."""
    return [a % rank for a in axes] == list(range(rank - len(axes), rank))


def _deviation(op: Operator, emit: Emit, variance: SSAValue) -> SSAValue:
    epsilon = _constant(op, emit, op.attr("epsilon"))
    return emit("sqrt", emit("add", variance, epsilon))


def _constant(op: Operator, emit: Emit, value: float) -> SSAValue:
    """Return a scalar constant in the dtype of data."""
    dtype = op.tensor("data").element
    assert dtype is not None
    return emit.constant(value, dtype)


class _Shapes:
    """The rule for shapes computed from tensors; their extents become new symbolic variables."""

    def __init__(self, func: relax.FuncOp):
        self._func = func
        self._taken: set[str] | None = None
        self.changed = False

    def rule(self, op: Operator, emit: Emit) -> SSAValue | None:
        result = op.results[0]
        rank = result.type.rank if isinstance(result.type, ShapeType) else None
        if rank is None:
            return None
        packed = relax.CallPurePackedOp("vm.builtin.tensor_to_shape", list(op.operands), ShapeType.of(ndim=rank))
        value = emit.put(packed)
        dims = [self._fresh(name_of(op.operands[0]) or "s") for _ in range(rank)]
        cast = relax.MatchCastOp(value, ShapeType.of(dims))
        set_type(result, cast.result.type)
        self.changed = True
        return emit.put(cast)

    def _fresh(self, base: str) -> str:
        if self._taken is None:
            self._taken = {str(v.name) for v in free_symbolic_vars(self._types())}
            self._taken |= {n for op in self._func.walk() for v in values_of(op) if (n := name_of(v))}
        return fresh_suffix(base, self._taken)

    def _types(self) -> list[Attribute]:
        return [v.type for op in self._func.walk() for v in values_of(op)]
