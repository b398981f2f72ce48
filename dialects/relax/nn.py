"""Neural network operators that are not element-wise: normalization, attention, dropout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from ..dtypes import is_float
from ..sym.expr import Const, SymExpr
from .normalization import check_ranks, check_vector, float_data
from .operator import AXES, FLOATS, Attr, Domain, Kind, Operator, operator
from .reduction import normalize_axes, normalize_axis
from .types import TensorType, tuple_type


@operator("relax.nn.layer_norm", "data gamma beta", axes=AXES, epsilon=1e-5, center=True, scale=True)
class LayerNorm(Operator):
    """(data - mean) / sqrt(variance + epsilon) over `axes`, times gamma if `scale`, plus beta if `center`."""

    def infer(self) -> Attribute:
        data = self.tensor("data")
        if data.element is not None and not is_float(data.element):
            self.fail_dtype("argument data must be of a floating point type", "float32", data.element)
        if data.rank is None:
            check_ranks(self, ("gamma", "beta"), self.attr("axes"))
            return data
        axes = normalize_axes(self, self.attr("axes"), data.rank, "axes")
        for name in ("gamma", "beta"):
            self._check_parameter(name, data, axes)
        return data

    def _check_parameter(self, name: str, data: TensorType, axes: list[int]) -> None:
        t = self.tensor(name)
        if t.element is not None and data.element is not None and t.element != data.element:
            self.fail_dtype(f"argument {name} must have the dtype of data", data.element, t.element)
        if t.rank is not None and t.rank != len(axes):
            self.fail_shape(f"argument {name} must have a dimension for each of axes", len(axes), t.rank)
        if t.dims is None or data.dims is None:
            return
        for axis, extent in zip(axes, t.dims, strict=True):
            self.require_equal(
                data.dims[axis],
                extent,
                f"argument {name} has another extent than data's axis {axis}",
                data.dims[axis],
                extent,
            )


@operator(
    "relax.nn.attention",
    "query key value bias?",
    scale=Attr(Kind.FLOAT, types=(float,)),
    causal_mask=Attr(types=(str,)),
    window_size=Attr(types=(int,)),
)
class Attention(Operator):
    """softmax(query · keyᵀ * scale + bias) · value for each head (Vaswani et al., 2017).

    query is (batch, n, heads, size), key (batch, m, heads, size), value (batch, m, heads, size_v); the result is
    (batch, n, heads, size_v). `scale` defaults to 1 / sqrt(size); `causal_mask` is `TopLeft` or `BottomRight`. With
    `window_size`, each position attends to at most that many positions, up to and including its own.
    """

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": FLOATS}

    @property
    def script_name(self) -> str:
        """Return the name in TVMScript, which differs for attention with a bias."""
        return "nn.attention" if self.args[3] is None else "nn.attention_bias"

    def infer(self) -> Attribute:
        result = attention_result(self, ("query", "key", "value"))
        q, k = self.tensor("query").dims, self.tensor("key").dims
        if self.args[3] is not None and q is not None and k is not None:
            self._check_bias((q[0], q[2], q[1], k[1]))
        return result

    def _check_bias(self, scores: Sequence[SymExpr]) -> None:
        for i, (have, want) in enumerate(zip((self.tensor("bias").dims or ())[::-1], scores[::-1], strict=False), 1):
            if have.constant != 1:
                self.require_equal(want, have, f"argument bias does not broadcast in dimension -{i}", want, have)


def attention_result(op: Operator, names: tuple[str, str, str]) -> TensorType:
    """Return the result type of attention on the operands `names`. Raises `ShapeError` or `DTypeError` on a
    mismatch.
    """
    q, k, v = (op.tensor(name) for name in names)
    if op.attr("causal_mask") not in (None, "TopLeft", "BottomRight"):
        op.fail_shape("attribute causal_mask is unknown", "TopLeft or BottomRight", op.attr("causal_mask"))
    if op.attr("window_size") is not None and op.attr("window_size") < 1:
        op.fail_shape("attribute window_size must be positive", "1 or more", op.attr("window_size"))
    for name, t in zip(names, (q, k, v), strict=True):
        if t.rank not in (None, 4):
            op.fail_shape(f"argument {name} must have 4 dimensions", 4, t.rank)
        if t.element is not None and q.element is not None and t.element != q.element:
            op.fail_dtype(f"argument {name} must have the dtype of {names[0]}", q.element, t.element)
    if q.dims is None or k.dims is None or v.dims is None:
        return TensorType.of(None, q.element, 4)
    heads = [("heads", q, k, 2), ("heads", q, v, 2)]
    for what, a, b, i in [("batch", q, k, 0), *heads, ("size", q, k, 3), ("batch", q, v, 0), ("length", k, v, 1)]:
        left, right = (a.dims or ())[i], (b.dims or ())[i]
        op.require_equal(left, right, f"{names[0]}, {names[1]} and {names[2]} must agree in {what}", left, right)
    return TensorType.of([q.dims[0], q.dims[1], q.dims[2], v.dims[3]], q.element)


@operator(
    "relax.nn.attention_var_len",
    "queries keys values seqstart_q seqstart_k max_seqlen_q max_seqlen_k",
    scale=Attr(Kind.FLOAT, types=(float,)),
    causal_mask=Attr(types=(str,)),
    window_size=Attr(types=(int,)),
)
class AttentionVarLen(Operator):
    """Attention within each of several concatenated sequences.

    The tensors are as for attention, with batch 1. Sequence s of the queries begins at seqstart_q[s] and ends before
    seqstart_q[s + 1]; likewise for keys and values. The maximum lengths are also operands but have no effect.
    """

    DOMAINS: ClassVar[Mapping[str, Domain]] = dict.fromkeys(("queries", "keys", "values"), FLOATS)
    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"seqstart_k", "max_seqlen_k"})

    @classmethod
    def fill_defaults(cls, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in defaults: keys begin at the same positions as queries.

        TVM prints the operands in declaration order, but its function takes them in another; the ranks tell which order
        is used.
        """
        out = super().fill_defaults(arguments)
        if _is_vector(out["max_seqlen_q"]) and not _is_vector(out.get("seqstart_k")):
            out["max_seqlen_q"], out["seqstart_k"] = out.get("seqstart_k"), out["max_seqlen_q"]
        for name, default in (("seqstart_k", "seqstart_q"), ("max_seqlen_k", "max_seqlen_q")):
            out[name] = out[default] if out.get(name) is None else out[name]
        return out

    def infer(self) -> Attribute:
        out = attention_result(self, ("queries", "keys", "values"))
        for name, rank in (("seqstart_q", 1), ("seqstart_k", 1), ("max_seqlen_q", 0), ("max_seqlen_k", 0)):
            t = self.tensor(name)
            if t.rank not in (None, rank):
                self.fail_shape(f"argument {name} must be a {'vector' if rank else 'scalar'}", f"rank {rank}", t.rank)
            if t.element not in (None, i32):
                self.fail_dtype(f"argument {name} must be of int32", i32, t.element)
        starts_q, starts_k = self.tensor("seqstart_q").dims, self.tensor("seqstart_k").dims
        if starts_q is not None and starts_k is not None:
            what = "seqstart_q and seqstart_k must have one length"
            self.require_equal(starts_q[0], starts_k[0], what, starts_q[0], starts_k[0])
        if out.dims is not None:
            self.require_equal(out.dims[0], Const(1), "queries, keys and values must have a batch of 1", 1, out.dims[0])
        return out


def _is_vector(value: Any) -> bool:
    t = getattr(getattr(value, "ssa", value), "type", None)
    return isinstance(t, TensorType) and t.rank == 1


@operator("relax.nn.dropout", "x", rate=0.5)
class Dropout(Operator):
    """Inference only: x itself, and a mask of ones."""

    def infer(self) -> Attribute:
        x = self.tensor("x")
        return tuple_type((x, x))


@operator("relax.nn.pad", "data", pad_width=[], pad_value=0.0, pad_mode="constant")
class Pad(Operator):
    """data with `pad_width` = [before, after, …] elements around it in each dimension.

    `pad_mode` is `constant` (`pad_value`), `reflect` (without the edge), `replicate` (the edge) or `circular`.
    """

    MODES: ClassVar[tuple[str, ...]] = ("constant", "reflect", "replicate", "circular")

    def widths(self) -> list[tuple[int, int]]:
        """Return the padding before and after each dimension. Raises `ShapeError` for an odd number of them or a
        negative one.
        """
        widths = self.attr("pad_width")
        if len(widths) % 2 or any(not isinstance(w, int) or w < 0 for w in widths):
            self.fail_shape("attribute pad_width must be [before, after, …]", "integers that are not negative", widths)
        return list(zip(widths[::2], widths[1::2], strict=True))

    def infer(self) -> Attribute:
        data, widths = self.tensor("data"), self.widths()
        if self.attr("pad_mode") not in self.MODES:
            self.fail_shape("attribute pad_mode is unknown", ", ".join(self.MODES), self.attr("pad_mode"))
        if data.rank != len(widths):
            what = "attribute pad_width must have two elements for each dimension"
            self.fail_shape(what, "a known rank" if data.rank is None else 2 * data.rank, widths)
        if data.dims is None:
            return TensorType.of(None, data.element, len(widths))
        for extent, pair in zip(data.dims, widths, strict=True):
            self._require_elements(extent, max(pair))
        return TensorType.of([d + (b + a) for d, (b, a) in zip(data.dims, widths, strict=True)], data.element)

    def _require_elements(self, extent: SymExpr, width: int) -> None:
        """Require, like torch, that a dimension has the elements used as its padding, each at most once."""
        least = {"constant": 0, "reflect": width + 1, "replicate": 1, "circular": width}[self.attr("pad_mode")]
        if width and least:
            self.require_at_least(extent, least, "a dimension of data is too short for pad_width")


@operator("relax.nn.pixel_shuffle", "data", upscale_factor=1)
class PixelShuffle(Operator):
    """Rearrange channels into blocks of pixels: (…, c * r * r, h, w) becomes (…, c, h * r, w * r)."""

    def infer(self) -> Attribute:
        data, r = self.tensor("data"), self.attr("upscale_factor")
        if r < 1:
            self.fail_shape("attribute upscale_factor must be positive", "1 or more", r)
        if data.rank is not None and data.rank < 3:
            self.fail_shape("argument data must have 3 dimensions or more", 3, data.rank)
        if data.dims is None:
            return TensorType.of(None, data.element, data.rank)
        *outer, channels, height, width = data.dims
        self.require_equal(
            channels % (r * r),
            Const(0),
            "the channels of data are no multiple of upscale_factor squared",
            r * r,
            channels,
        )
        return TensorType.of([*outer, channels // (r * r), height * r, width * r], data.element)


@operator("relax.nn.prelu", "data alpha", axis=1)
class PRelu(Operator):
    """data if it is positive, alpha * data otherwise; alpha has an element for each index of `axis`."""

    def infer(self) -> Attribute:
        data = float_data(self)
        if data.rank is not None:
            check_vector(self, "alpha", data, normalize_axis(self, self.attr("axis"), data.rank))
        return data
