"""Chains of convolutions in channels-last layouts, which register tiles read and write directly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, TypeGuard, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8, i32
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.dtypes import ui8
from ...dialects.quick import operations
from ...dialects.relax.convolution import Convolution
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase, insert_before
from .convert_layout import convert_function
from .layout_rules import MORE_RULES, Desired

_LAST: Desired = {"relax.nn.conv1d": ["NWC", "WIO"], "relax.nn.conv2d": ["NHWC", "HWIO"]}
_FIRST: Desired = {"relax.nn.conv1d": ["NCW", "OIW"], "relax.nn.conv2d": ["NCHW", "OIHW"]}
_MANY_PRODUCTS = 256
"""Multiplications for each element of the input or the result; measured on AVX-512: a transposition takes as long as
a hundred."""
_SHORT_ROW = 16
"""Elements of a row of an image: as few leave vectors half empty, which depthwise convolutions have along it."""


@dataclass(frozen=True)
class ChannelsLast(Pass):
    """Convert functions with several convolutions of constant kernels to the layouts NWC and NHWC.

    Operators before, between and after them follow as in `convert-layout`. A function is unchanged if this would need
    more transpositions at run time than one for every `least` of its NCW and NCHW convolutions; with fewer
    convolutions, none is allowed. Two are allowed for a convolution that needs many operations for each element, beside
    which they cost little, and for one with rows of unknown length: vectors along the channels are always full.

    Grouped convolutions keep the channels first, because a vector of them would need different data, except depthwise
    convolutions and those of bytes.
    """

    name: ClassVar[str] = "channels-last"
    least: int = 4

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            convolutions = [op for op in operations(func) if isinstance(op, Operator) and op.name in _LAST]
            if not self._convert(func, convolutions) and any(map(_has_groups_last, convolutions)):
                convert_function(func, lambda op: _FIRST if _has_groups_last(op) else _as_it_is(op), MORE_RULES)

    def _convert(self, func: relax.FuncOp, convolutions: list[Operator]) -> bool:
        """Replace `func` by a channels-last version if that is profitable, and return whether it is."""
        count = sum(2 * self.least if _pays_alone(op) else 1 for op in convolutions if _is_convertible(op))
        if not count:
            return False
        new = func.clone()
        convert_function(new, lambda op: _FIRST if _has_groups(op) else _LAST, MORE_RULES)
        if _moves(new) - _moves(func) > count // self.least:
            return False
        insert_before(func, new)
        erase(func)
        return True


def _is_convertible(op: Operator) -> bool:
    """Return whether a convolution has channels first, a constant kernel and no groups."""
    return op.attr("data_layout") == _FIRST[op.name][0] and _is_constant(op.operands[1]) and not _has_groups(op)


def _has_groups(op: Operator) -> bool:
    """Return whether an operator is a convolution in groups of several channels, faster with channels first."""
    if op.name not in _LAST or op.attr("groups") == 1:
        return False
    return not cast(Convolution, op).is_depthwise() and not _is_of_bytes(op)


def _is_of_bytes(convolution: Operator) -> bool:
    """Return whether a convolution multiplies bytes: their kernels are packed for groups, too (`pack-convolutions`)."""
    data, out = convolution.tensor("data"), cast(TensorType, convolution.results[0].type)
    return data.element in (i8, ui8) and out.element == i32 and _is_constant(convolution.operands[1])


def _has_groups_last(op: Operator) -> bool:
    return _has_groups(op) and op.attr("data_layout") == _LAST[op.name][0]


def _as_it_is(op: Operator) -> Desired:
    """Return the current layouts of a convolution."""
    if op.name not in _LAST:
        return {}
    return {op.name: [op.attr(name) for name in ("data_layout", "kernel_layout", "out_layout")]}


def _pays_alone(convolution: Operator) -> bool:
    """Return whether a convolution is worth transposing its input and its result."""
    dims, weight = convolution.tensor("data").dims, convolution.tensor("weight").dims
    if dims is None or weight is None or dims[-1].constant is None:
        return True
    if _is_of_bytes(convolution):
        return False
    if convolution.attr("groups") != 1:
        return dims[-1].constant <= _SHORT_ROW
    outer, inner, *window = (weight[place].constant or 0 for place in cast(Convolution, convolution).kernel_places())
    return min(outer, inner) * math.prod(window) >= _MANY_PRODUCTS


def _moves(func: relax.FuncOp) -> int:
    """Return the number of tensors transposed at run time. A chain of transpositions counts once, at its end."""
    transposed = (op for op in operations(func) if _is_transposition(op) and not _is_passed_on(op))
    return sum(not _moves_nothing(*_source_and_axes(op)) for op in transposed)


def _is_transposition(op: Any) -> TypeGuard[Operator]:
    return isinstance(op, Operator) and op.name == "relax.permute_dims" and op.tensor("x").dims is not None


def _is_passed_on(permute: Operator) -> bool:
    """Return whether all users of a transposed tensor transpose it again, so that it need not be stored."""
    uses = list(permute.results[0].uses)
    return bool(uses) and all(_is_transposition(use.operation) for use in uses)


def _source_and_axes(permute: Operator) -> tuple[SSAValue, list[int]]:
    """Return the source of a chain of transpositions, and its dimension at each position of the result."""
    source = permute.operands[0]
    rank = len(permute.tensor("x").dims or ())
    axes = [axis % rank for axis in permute.attr("axes") or range(rank)[::-1]]
    if not _is_transposition(source.owner):
        return source, axes
    first, inner = _source_and_axes(source.owner)
    return first, [inner[axis] for axis in axes]


def _moves_nothing(source: SSAValue, axes: list[int]) -> bool:
    """Return whether a permutation moves no element (dimensions other than 1 stay in order), or permutes a constant."""
    dims = cast(TensorType, source.type).dims
    kept = [axis for axis in axes if dims is None or dims[axis].constant != 1]
    return _is_constant(source) or kept == sorted(kept)


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, relax.ConstantOp)
