"""TVM's pattern of explicit attention, and the rewriter that turns it into `nn.attention`.

The pattern matches exactly the form that its options describe. The definition of attention, and its
conversion to the operator, are in `attention_form.py`, which the pass `fuse-attention` uses to find all
forms. (The file of the same name in `schedule/cpu/library/` works on loops: it matches the lowered
`nn.attention` of `topi`.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import SSAValue

from ....dialects.relax.operator import Operator
from ....handles.relax.calls import call_operator, to_expr
from ....handles.relax.expr import Expr
from ....transforms.dpl.constructors import is_const, is_op, wildcard
from ....transforms.dpl.matcher import Matches
from ....transforms.dpl.patterns import DFPattern
from ....transforms.operators.attention_form import exchanged_heads, read_attention
from ....transforms.operators.rules import producer

Rewriter = Callable[[Expr, Any], Expr]
_LAYOUTS = ("BSNH", "BSH")


def make_attention_rewrite_pattern(
    qkv_layout: str, out_layout: str, with_bias: bool, with_cast: bool, with_kv_repeat: bool = False
) -> tuple[DFPattern, Rewriter]:
    """Return a pattern of explicit attention, and the rewriter that turns a match into `nn.attention`.

    Layouts are `BSNH` (batch, length, heads, size) or `BSH`, for the inputs and the result. `with_cast`: the
    softmax is computed in another dtype. `with_kv_repeat`: keys and values are repeated first. The rewriter
    rejects matches whose axes or shapes are not those of attention. Raises `ValueError` for other layouts.
    """
    for layout in (qkv_layout, out_layout):
        if layout not in _LAYOUTS:
            raise ValueError(f"a layout is 'BSNH' or 'BSH', not '{layout}'")
    written = _WrittenOut(qkv_layout == "BSNH", out_layout == "BSNH", with_bias, with_cast, with_kv_repeat)
    return written.pattern, written.rewrite


def _input(heads: bool, repeated: bool) -> DFPattern:
    source: DFPattern = is_op("relax.repeat")(wildcard()) if repeated else wildcard()
    return is_op("relax.reshape")(is_op("relax.permute_dims")(source), wildcard()) if heads else source


@dataclass
class _WrittenOut:
    """The pattern and its options: the layouts of inputs and result, and optional parts."""

    heads: bool
    out_heads: bool
    with_bias: bool
    with_cast: bool
    with_kv_repeat: bool
    pattern: DFPattern = field(init=False)

    def __post_init__(self) -> None:
        q = _input(self.heads, False)
        k, v = (_input(self.heads, self.with_kv_repeat) for _ in range(2))
        product = is_op("relax.matmul")(q, is_op("relax.permute_dims")(k))
        scores = is_op("relax.multiply")(product, self._cast(is_const()))
        if self.with_bias:
            scores = is_op("relax.add")(scores, wildcard())
        softmax = is_op("relax.nn.softmax")(self._cast(scores))
        self._product = is_op("relax.matmul")(self._cast(softmax), v)
        self.pattern = self._product
        if self.out_heads:
            self.pattern = is_op("relax.permute_dims")(is_op("relax.reshape")(self._product, wildcard()))

    def _cast(self, pattern: DFPattern) -> DFPattern:
        return is_op("relax.astype")(pattern) if self.with_cast else pattern

    def rewrite(self, expr: Expr, matches: Matches) -> Expr:
        """Return the match as attention, or `expr` if it is not attention."""
        root, product = expr.ssa.owner, matches[self._product].ssa.owner
        attention = read_attention(product, self.with_cast) if isinstance(product, Operator) else None
        if attention is None or not isinstance(product, Operator) or not isinstance(root, Operator):
            return expr
        if exchanged_heads(attention, product) is root:
            return to_expr(attention.value(_emit, heads_last=True))
        value = attention.value(_emit)
        split = None if root is product else producer(root.operands[0], "reshape")
        if split is not None:
            value = _emit("permute_dims", _emit("reshape", value, split.operands[1]), axes=root.attr("axes"))
        return to_expr(value)


def _emit(name: str, *args: SSAValue, **attrs: Any) -> SSAValue:
    return call_operator(f"relax.{name}", *map(to_expr, args), **attrs).ssa
