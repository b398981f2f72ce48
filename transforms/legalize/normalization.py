"""Rules of normalization and losses."""

from __future__ import annotations

from typing import Any

from ... import topi
from ...dialects.relax.operator import Operator
from ...topi import normalization as norm
from ...topi.util import normalize_axes, normalize_axis
from .legalize_rules import Emit, operand, result_tensor, rule


def _affine(op: Operator) -> tuple[Any, Any]:
    """Return gamma if `scale` is set, and beta if `center` is, else None."""
    return operand(op, "gamma") if op.attr("scale") else None, operand(op, "beta") if op.attr("center") else None


@rule("relax.nn.batch_norm")
def batch_norm(op: Operator) -> Emit:
    """relax.nn.batch_norm(data, gamma, beta, mean, var) -> batch_norm(…), with three results"""
    axis = normalize_axis(op.attr("axis"), op.tensor("data").rank or 0)
    args = (operand(op, "data"), *_affine(op), operand(op, "moving_mean"), operand(op, "moving_var"), axis)
    return Emit(norm.batch_norm, (*args, op.attr("epsilon"), op.attr("momentum"), op.attr("training")), "batch_norm")


def _grouped(op: Operator, groups: int | None) -> Emit:
    rank, name = result_tensor(op).rank or 0, op.name.removeprefix("relax.nn.")
    channel, axes = normalize_axis(op.attr("channel_axis"), rank), normalize_axes(op.attr("axes"), rank)
    args = (operand(op, "data"), *_affine(op), groups, channel, axes, op.attr("epsilon"), f"T_{name}")
    return Emit(norm.grouped_norm, args, name)


@rule("relax.nn.instance_norm")
def instance_norm(op: Operator) -> Emit:
    """relax.nn.instance_norm(data, gamma, beta) -> instance_norm(data, gamma, beta)"""
    return _grouped(op, None)


@rule("relax.nn.group_norm")
def group_norm(op: Operator) -> Emit:
    """relax.nn.group_norm(data, gamma, beta) -> group_norm(data, gamma, beta)"""
    return _grouped(op, op.attr("num_groups"))


@rule("relax.nn.rms_norm")
def rms_norm(op: Operator) -> Emit:
    """relax.nn.rms_norm(data, weight) -> rms_norm(data, weight)"""
    rank = result_tensor(op).rank or 0
    axes = [normalize_axis(a, rank) for a in op.attr("axes")]
    return Emit(norm.rms_norm, (operand(op, "data"), operand(op, "weight"), axes, op.attr("epsilon")), "rms_norm")


@rule("relax.nn.prelu")
def prelu(op: Operator) -> Emit:
    """relax.nn.prelu(data, alpha) -> prelu(data, alpha)"""
    axis = normalize_axis(op.attr("axis"), result_tensor(op).rank or 0)
    return Emit(norm.prelu, (operand(op, "data"), operand(op, "alpha"), axis), "prelu")


@rule("relax.nn.nll_loss")
def nll_loss(op: Operator) -> Emit:
    """relax.nn.nll_loss(predictions, targets, weights) -> nll_loss(…), nll_loss_without_weight(…)"""
    predictions, targets, weights = op.args
    args = (predictions, targets, weights, op.attr("reduction"), op.attr("ignore_index"))
    return Emit(norm.nll_loss, args, "nll_loss" if weights is not None else "nll_loss_without_weight")


@rule("relax.nn.layer_norm")
def layer_norm(op: Operator) -> Emit:
    """relax.nn.layer_norm(data, gamma, beta) -> layer_norm(data, gamma, beta), where `scale` and `center` are on"""
    args = (operand(op, "data"), *_affine(op), op.attr("axes"), op.attr("epsilon"))
    return Emit(topi.nn.layer_norm, args, "layer_norm")
