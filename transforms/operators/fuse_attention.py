"""Fuse attention written as separate operators, so that the scores are never stored in full."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.relax.operator import Operator
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules
from .attention_form import exchanged_heads, is_causal_mask, read_attention
from .rules import dims_of, producer


@dataclass(frozen=True)
class FuseAttention(Pass):
    """Fuse products with a softmax between them into `nn.attention`.

    s = matmul(q, permute_dims(k)); w = softmax(s * scale + mask); y = matmul(w, v)
      ->  y = attention(q, k, v, mask, scale=scale)

    Scale and mask are optional; the scale is a constant factor or divisor of scores, queries or keys. A constant mask
    that keeps the keys up to the query becomes `TopLeft`, also one that selects between scores and a number that makes
    their weights vanish, and the bias of an existing attention operator. The heads are moved to their position in the
    operator, (batch, length, heads, size), unless that moves more data than leaving them before the length: then each
    head is a batch of its own. Intermediate values have known sizes and no other uses. Fully masked rows become zeros,
    where the softmax returns NaN.
    """

    name = "fuse-attention"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = {"relax.matmul": _of_product, "relax.permute_dims": _of_exchanged, "relax.nn.attention": _of_mask}
        apply_rules(op, rules)


def _of_product(op: Operator, emit: Emit) -> SSAValue | None:
    """Return attention for the product of weights and values."""
    attention = read_attention(op)
    return None if attention is None or exchanged_heads(attention, op) is not None else attention.value(emit)


def _of_exchanged(op: Operator, emit: Emit) -> SSAValue | None:
    """Return attention for such a product whose heads are then moved after the length."""
    split = producer(op.operands[0], "reshape")
    product = producer(op.operands[0] if split is None else split.operands[0], "matmul")
    attention = None if product is None else read_attention(product)
    if product is None or attention is None or exchanged_heads(attention, product) is not op:
        return None
    return attention.value(emit, heads_last=True)


def _of_mask(op: Operator, emit: Emit) -> SSAValue | None:
    """Return causal attention for one whose bias is a causal mask."""
    query, key, _, *biases = op.operands
    queries, keys = dims_of(query), dims_of(key)
    if not biases or op.attr("causal_mask") is not None or queries is None or keys is None:
        return None
    if not is_causal_mask(biases[0], (queries[1], keys[1])):
        return None
    attrs = {"scale": op.attr("scale"), "window_size": op.attr("window_size")}
    return emit("nn.attention", *op.operands[:3], **attrs, causal_mask="TopLeft")
