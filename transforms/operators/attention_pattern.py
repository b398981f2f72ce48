"""Attention that is written out becomes `nn.attention`: a pattern, and the rewriter that goes with it.

softmax(matmul(q, transposed k) * scale [+ bias]) · v, over matrices (batch, length, size), is attention of one head;
where q, k and v have been brought to that form from (batch, length, heads, size), it is attention of several.

This is TVM's function, whose users say which form they have; the pass `fuse-attention` beside it finds all forms that
importers write, as the pipelines need it. (`schedule/cpu/attention_form.py` is of another level: it reads what `topi`
made of `nn.attention`, loops.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import SymExpr
from ...handles.relax.calls import call_operator as call
from ...handles.relax.expr import Expr, ShapeExpr
from ..dpl.matcher import Matches
from ..dpl.patterns import DFPattern, is_const, is_op, wildcard
from .rules import fits_attention

Rewriter = Callable[[Expr, Any], Expr]
_LAYOUTS = ("BSNH", "BSH")
_HEADS_FIRST = [0, 2, 1, 3]
_TRANSPOSED = [0, 2, 1]


def make_attention_rewrite_pattern(
    qkv_layout: str, out_layout: str, with_bias: bool, with_cast: bool, with_kv_repeat: bool = False
) -> tuple[DFPattern, Rewriter]:
    """A pattern of attention that is written out, and the rewriter that makes `nn.attention` of a match.

    Layouts are `BSNH` (batch, length, heads, size) or `BSH`, of the inputs and of the result. `with_cast`: the softmax
    is computed in another dtype. `with_kv_repeat`: keys and values are repeated before. What only looks like attention,
    by its axes or shapes, the rewriter leaves. Raises `ValueError` for another layout.
    """
    for layout in (qkv_layout, out_layout):
        if layout not in _LAYOUTS:
            raise ValueError(f"a layout is 'BSNH' or 'BSH', not '{layout}'")
    written = _WrittenOut(qkv_layout == "BSNH", out_layout == "BSNH", with_bias, with_cast, with_kv_repeat)
    return written.pattern, written.rewrite


@dataclass
class _Input:
    """An input: `source` is what attention takes, `matrices` what the product takes, made of it by the others."""

    source: DFPattern
    matrices: DFPattern
    permuted: DFPattern | None = None


def _input(heads: bool, repeated: bool) -> _Input:
    source: DFPattern = is_op("relax.repeat")(wildcard()) if repeated else wildcard()
    if not heads:
        return _Input(source, source)
    permuted = is_op("relax.permute_dims")(source)
    return _Input(source, is_op("relax.reshape")(permuted, wildcard()), permuted)


@dataclass
class _WrittenOut:
    """The parts of the pattern; whether inputs and result have several heads, and what else there is."""

    heads: bool
    out_heads: bool
    with_bias: bool
    with_cast: bool
    with_kv_repeat: bool
    pattern: DFPattern = field(init=False)

    def __post_init__(self) -> None:
        self._q = _input(self.heads, False)
        self._k, self._v = (_input(self.heads, self.with_kv_repeat) for _ in range(2))
        self._transposed = is_op("relax.permute_dims")(self._k.matrices)
        self._scale, self._bias = is_const(), wildcard()
        product = is_op("relax.matmul")(self._q.matrices, self._transposed)
        scores = is_op("relax.multiply")(product, self._cast(self._scale))
        if self.with_bias:
            scores = is_op("relax.add")(scores, self._bias)
        self._softmax = is_op("relax.nn.softmax")(self._cast(scores))
        self._mixed = is_op("relax.matmul")(self._cast(self._softmax), self._v.matrices)
        self.pattern = self._mixed
        if self.out_heads:
            self._reshaped = is_op("relax.reshape")(self._mixed, wildcard())
            self.pattern = is_op("relax.permute_dims")(self._reshaped)

    def _cast(self, pattern: DFPattern) -> DFPattern:
        return is_op("relax.astype")(pattern) if self.with_cast else pattern

    def rewrite(self, expr: Expr, matches: Matches) -> Expr:
        """The match as attention, `expr` where it is none."""
        scale = matches[self._scale].data.numpy()
        if scale.size != 1 or matches[self._softmax].attrs.axis not in (-1, 2) or not self._is_attention(matches):
            return expr
        inputs = [self._with_heads(matches, i) for i in (self._q, self._k, self._v)]
        if self.with_bias:
            inputs.append(self._bias_with_heads(matches))
        out = call("relax.nn.attention", *inputs, scale=float(scale.item()))
        return self._as_before(expr, out, matches)

    def _is_attention(self, matches: Matches) -> bool:
        """Whether matrices are made of the inputs, and fit each other, as attention means it."""
        inputs = (self._q, self._k, self._v)
        shapes = [_dims(matches[i.matrices]) for i in inputs]
        if any(s is None or len(s) != 3 for s in shapes) or _axes(matches[self._transposed]) != _TRANSPOSED:
            return False
        q, k, v = cast("list[tuple[SymExpr, ...]]", shapes)
        if not fits_attention(q, k, v):
            return False
        if self.with_bias and _dims(matches[self._bias]) != (q[0], q[1], k[1]):
            return False
        return all(self._is_in_matrices(matches, i) for i in inputs)

    def _is_in_matrices(self, matches: Matches, part: _Input) -> bool:
        """(b, s, n, h) -> (b * n, s, h), with the batch and the heads of the query; always where there are no heads."""
        if part.permuted is None:
            return True
        source, query = _dims(matches[part.source]), _dims(matches[self._q.source])
        if source is None or query is None or len(source) != 4 or len(query) != 4:
            return False
        b, s, n, h = source
        same = (b, n) == (query[0], query[2]) and _dims(matches[part.matrices]) == (b * n, s, h)
        return same and _axes(matches[part.permuted]) == _HEADS_FIRST

    def _with_heads(self, matches: Matches, part: _Input) -> Expr:
        source = matches[part.source]
        if self.heads:
            return source
        b, s, h = _known(source)
        return _reshape(source, b, s, 1, h)

    def _bias_with_heads(self, matches: Matches) -> Expr:
        bias = matches[self._bias]
        both, s, t = _known(bias)
        if not self.heads:
            return _reshape(bias, both, 1, s, t)
        b, _, n, _ = _known(matches[self._q.source])
        return _reshape(bias, b, n, s, t)

    def _as_before(self, expr: Expr, out: Expr, matches: Matches) -> Expr:
        """The result of attention, (b, s, n, h), as what the match gives."""
        b, s, n, h = _known(out)
        if self.heads and self.out_heads:
            apart = _dims(matches[self._reshaped]) == (b, n, s, h) and _axes(expr) == _HEADS_FIRST
            if apart:
                return out
        if self.heads:
            out = call("relax.permute_dims", out, axes=_HEADS_FIRST)
        matrices = _reshape(out, b * n, s, h)
        if not self.out_heads:
            return matrices
        shaped = _reshape(matrices, *_known(matches[self._reshaped]))
        return call("relax.permute_dims", shaped, axes=_axes(expr))


def _reshape(expr: Expr, *dims: SymExpr | int) -> Expr:
    return call("relax.reshape", expr, ShapeExpr(dims))


def _dims(expr: Expr) -> tuple[SymExpr, ...] | None:
    t = expr.struct_info.type
    return t.dims if isinstance(t, TensorType) else None


def _known(expr: Expr) -> tuple[SymExpr, ...]:
    dims = _dims(expr)
    assert dims is not None
    return dims


def _axes(expr: Any) -> list[int] | None:
    """The axes of a permutation, None where all are reversed."""
    axes = expr.attrs.axes
    return None if axes is None else list(axes)
