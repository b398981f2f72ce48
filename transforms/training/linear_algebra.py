"""Gradients of matrix products, Einstein sums and attention."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import cast

from xdsl.ir import Attribute

from ...dialects.relax.linear_algebra import Einsum
from ...dialects.sym.operators import maximum
from ...handles.relax.expr import Expr
from ...handles.tir import limits
from .expressions import Dims, broadcast, call, dims, number, permute, prim, rank, shape, tensor, total, where
from .gradient_rules import Gradients, Site, gradient


def _transposed(x: Expr) -> Expr:
    """Swap the last two dimensions."""
    n = rank(x)
    return call("permute_dims", x, axes=[*range(n - 2), n - 1, n - 2])


@gradient("matmul")
def matmul(s: Site) -> Gradients:
    """x @ y -> g @ yᵀ, xᵀ @ g; vectors are matrices of one row or column"""
    x, y = s.args
    g = s.cast(s.grad, x)
    if rank(x) == 1 and rank(y) == 1:
        return [g * y, g * x]
    if rank(y) == 1:
        column = call("expand_dims", g, axis=[-1])
        by_x = call("matmul", column, call("expand_dims", y, axis=[0]))
        return [s.fit(by_x, x), s.fit(call("squeeze", call("matmul", _transposed(x), column), axis=[-1]), y)]
    if rank(x) == 1:
        row = call("expand_dims", g, axis=[-2])
        by_x = call("matmul", row, _transposed(y))
        return [s.fit(by_x, x), s.fit(call("matmul", call("expand_dims", x, axis=[1]), row), y)]
    return [s.fit(call("matmul", g, _transposed(y)), x), s.fit(call("matmul", _transposed(x), g), y)]


@gradient("outer")
def outer(s: Site) -> Gradients:
    """outer(x, y) -> g @ y, x @ g"""
    x, y = s.args
    return [call("matmul", s.grad, y), call("matmul", x, s.grad)]


@gradient("einsum")
def einsum(s: Site) -> Gradients:
    """einsum(xs) -> for each x, g times the others summed to the letters of x; broadcast along those that only x has"""
    op = cast(Einsum, s.op)
    xs = s.fields(0)
    inputs, result = op.labels([rank(x) for x in xs])
    if any(len(set(term)) < len(term) for term in inputs):
        raise s.refuse("where a letter stands twice for one operand")
    free = iter(c for c in string.ascii_letters if c not in "".join(inputs))
    named = {c: next(free) if c.isdigit() else c for c in dict.fromkeys("".join(inputs))}
    extents = op.extents()
    terms = ["".join(named[c] for c in term) for term in inputs]
    shapes = [tuple(extents[c] for c in t) for t in inputs]
    full = [x if dims(x) == to else broadcast(x, to) for x, to in zip(xs, shapes, strict=True)]
    out = "".join(named[c] for c in result)
    gradients: list[Expr] = []
    for i, (x, term) in enumerate(zip(xs, terms, strict=True)):
        others, letters = [*full[:i], *full[i + 1 :]], [*terms[:i], *terms[i + 1 :]]
        gradients.append(s.fit(_summed([s.grad, *others], [out, *letters], term, shapes[i]), x))
    return [s.gathered(0, gradients)]


def _summed(factors: list[Expr], terms: Sequence[str], letters: str, extents: Dims) -> Expr:
    """Return the product of `factors`, which have the letters `terms`, summed to `letters`."""
    known = [c for c in letters if any(c in t for t in terms)]
    value = call("einsum", factors, subscripts=f"{','.join(terms)}->{''.join(known)}")
    missing = [i for i, c in enumerate(letters) if c not in known]
    return broadcast(call("expand_dims", value, axis=missing), extents) if missing else value


@gradient("nn.attention")
def attention(s: Site) -> Gradients:
    """attention(q, k, v, bias) -> by definition, p = softmax(q kᵀ * scale + bias), y = p v; p is recomputed"""
    query, key, value, bias = s.args
    size = dims(query)[3].constant
    scale = s.attr("scale")
    if scale is None and size is None:
        raise s.refuse("where neither scale nor the size of a head is known")
    factor = number(1 / math.sqrt(size or 1) if scale is None else scale, query)
    q, k, v, g = (permute(t, [0, 2, 1, 3]) for t in (query, key, value, s.grad))
    scores = call("matmul", q, _transposed(k)) * factor
    p = call("nn.softmax", _masked(s, scores if bias is None else scores + bias), axis=-1)
    by_p = call("matmul", g, _transposed(v))
    by_scores = (by_p - total(by_p * p, [-1], True)) * p
    scaled = by_scores * factor
    gradients = [call("matmul", scaled, k), call("matmul", _transposed(scaled), q), call("matmul", _transposed(p), g)]
    by_bias = None if bias is None else s.fit(by_scores, bias)
    return [*(permute(m, [0, 2, 1, 3]) for m in gradients), by_bias]


def _masked(s: Site, scores: Expr) -> Expr:
    """Return the scores, with the least number where the mask or window excludes a key."""
    causal, window = s.attr("causal_mask"), s.attr("window_size")
    if causal is None and window is None:
        return scores
    n, m = dims(scores)[2:]
    offset = maximum(m - n, n - m) if causal == "BottomRight" else n - n
    seen = call("ones", shape([n, m]), dtype=tensor(scores).element)
    if causal is not None:
        seen = call("tril", seen, prim(offset))
    if window is not None:
        seen = call("triu", seen, prim(offset - (window - 1)))
    lowest = limits.min_value(cast(Attribute, tensor(scores).element)).constant
    return where(seen > number(0.0, scores), scores, number(cast(float, lowest), scores))
