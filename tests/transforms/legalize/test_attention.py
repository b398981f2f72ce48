"""Attention with windows and of sequences of several lengths; linear layers and masks, which are several operators."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from strength import only_full, thinned

from tirax.dev.fuzz import checks
from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning, interpret
from tirax.script import parse_source, print_script
from tirax.transforms.legalize import LegalizeOps
from tirax.tvm_api import relax as rx

MASKS = [
    {"window_size": 3},
    {"window_size": 1, "causal_mask": "TopLeft"},
    {"window_size": 2, "causal_mask": "BottomRight"},
    {"causal_mask": "TopLeft"},
    {"causal_mask": "BottomRight", "scale": 0.5},
    {},
]
COMPILED = [MASKS[0], MASKS[2]]
"""What the others are legalized to is interpreted; of `attention` they are compiled in tests/robustness,
tests/semantics and by ONNX's own cases."""


def text_of(attrs: dict[str, Any]) -> str:
    return "".join(f", {k}={v!r}" for k, v in attrs.items())


def allowed(n: int, m: int, causal_mask: str | None = None, window_size: int | None = None, **_: Any) -> np.ndarray:
    """Which of m columns each of n rows looks at, as TVM's documentation draws it."""
    out = np.ones((n, m), bool)
    offset = abs(m - n) if causal_mask == "BottomRight" else 0
    for i in range(n):
        for j in range(m):
            late = causal_mask is not None and j > i + offset
            early = window_size is not None and j <= i + offset - window_size
            out[i, j] = not (late or early)
    return out


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, **attrs: Any) -> np.ndarray:
    """Row by row."""
    out = np.zeros((*q.shape[:3], v.shape[3]))
    scale = attrs.get("scale", q.shape[3] ** -0.5)
    mask = allowed(q.shape[1], k.shape[1], **attrs)
    for b, i, h in np.ndindex(*q.shape[:3]):
        chosen = np.flatnonzero(mask[i])
        if len(chosen):
            e = np.exp(k[b, chosen, h].astype(float) @ q[b, i, h].astype(float) * scale)
            out[b, i, h] = e / e.sum() @ v[b, chosen, h]
    return out


def tensors(n: int, m: int, batch: int = 2, dtype: str = "float32") -> list[np.ndarray]:
    rng = np.random.default_rng(n * 7 + m)
    return [rng.normal(size=(batch, r, 3, d)).astype(dtype) for r, d in ((n, 4), (m, 4), (m, 6))]


# The mask is made apart from the numbers: float16 has two of them.
@thinned("dtype, attrs", [*product(["float32"], MASKS), *product(["float16"], MASKS[2::3])], 1, ids=str)
def test_attention(attrs: dict[str, Any], dtype: str):
    module = parse_source(f"""
@R.function
def main(q: R.Tensor((2, "n", 3, 4), "{dtype}"), k: R.Tensor((2, "m", 3, 4), "{dtype}"),
         v: R.Tensor((2, "m", 3, 6), "{dtype}")):
    y = R.nn.attention(q, k, v{text_of(attrs)})
    return y
""")
    checks.texts(module)
    assert_same_meaning(module, LegalizeOps()(module))
    run = build(module)["main"] if attrs in COMPILED else None
    close = {"float32": 1e-5, "float16": 1e-2}[dtype]
    for n, m in ((4, 7), (5, 5), (6, 2), (1, 1), (0, 3)):
        args = tensors(n, m, dtype=dtype)
        expected = attend(*args, **attrs)
        np.testing.assert_allclose(interpret(module, "main", args), expected, rtol=close, atol=close)
        if run is not None:
            np.testing.assert_allclose(run(*args), expected, rtol=close, atol=close)


def test_a_bias_changes_the_name():
    module = parse_source("""
@R.function
def main(q: R.Tensor((2, 5, 3, 4), "float32"), b: R.Tensor((2, 3, 5, 5), "float32")):
    y = R.nn.attention(q, q, q, b, window_size=2)
    z = R.nn.attention_bias(q, q, q, bias=b, scale=T.float32(0.5))
    return (y, z)
""")
    checks.texts(module)
    text = print_script(module)
    assert "R.nn.attention_bias(q, q, q, b, scale=None, causal_mask=None, window_size=2)" in text
    assert "R.nn.attention_bias(q, q, q, b, scale=T.float32(0.5), causal_mask=None, window_size=None)" in text
    checks.native(module)


VAR_LEN = """
@R.function
def main(q: R.Tensor((1, "n", 3, 4), "float32"), k: R.Tensor((1, "m", 3, 4), "float32"),
         v: R.Tensor((1, "m", 3, 6), "float32"), a: R.Tensor(("s",), "int32"), b: R.Tensor(("s",), "int32"),
         c: R.Tensor((), "int32")):
    y = R.nn.attention_var_len(CALL)
    return y
"""
STARTS = [
    ([0, 2, 7, 9], [0, 1, 4, 8]),
    ([0, 9], [0, 8]),
    ([0, 3, 3, 9], [0, 0, 5, 8]),
    ([0, 4], [0, 8]),
    ([2, 4], [1, 3]),
    ([0], [0]),
    ([], []),
]


@only_full  # `test_attention` compiles what this is made of
@thinned("attrs", MASKS, 1, ids=str)
def test_attention_var_len(attrs: dict[str, Any]):
    module = parse_source(VAR_LEN.replace("CALL", f"q, k, v, a, c, b{text_of(attrs)}"))
    checks.texts(module)
    legal = LegalizeOps()(module)
    run = build(module)["main"] if attrs == COMPILED[1] else lambda *args: interpret(legal, "main", args)
    q, k, v = tensors(9, 8, batch=1)
    for a, b in STARTS:
        expected = np.zeros((1, 9, 3, 6))
        for i in range(len(a) - 1):
            mine, its = slice(a[i], a[i + 1]), slice(b[i], b[i + 1])
            expected[:, mine] = attend(q[:, mine], k[:, its], v[:, its], **attrs)
        args = [q, k, v, np.array(a, np.int32), np.array(b, np.int32), np.array(9, np.int32)]
        np.testing.assert_allclose(interpret(module, "main", args), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(run(*args), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "printed"),
    [
        ("q, k, v, a, c", "q, k, v, a, a, c, c"),
        ("q, k, v, a, c, b", "q, k, v, a, b, c, c"),
        ("q, k, v, a, b, c, c", "q, k, v, a, b, c, c"),
        ("q, k, v, seqstart_q=a, max_seqlen_q=c, seqstart_k=b", "q, k, v, a, b, c, c"),
        ("queries=q, keys=k, values=v, seqstart_q=a, max_seqlen_q=c", "q, k, v, a, a, c, c"),
    ],
)
def test_how_var_len_is_called(call: str, printed: str):
    """The function takes its arguments in one order and TVM prints them in another; both are read."""
    text = print_script(parse_source(VAR_LEN.replace("CALL", call)))
    assert f"R.nn.attention_var_len({printed}, scale=None, causal_mask=None, window_size=None)" in text


def tensor(dims: tuple[Any, ...] | None, dtype: str = "float32") -> Any:
    return rx.Var("x", rx.TensorStructInfo(dims, dtype))


Q = (1, 5, 3, 4)
I32 = "int32"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([tensor((2, 5, 3, 4))] * 3, "must have a batch of 1"),
        ([tensor(Q), tensor(Q), tensor((1, 6, 3, 4))], "queries, keys and values must agree in length"),
        ([tensor(Q), tensor(Q, "float16"), tensor(Q)], "argument keys must have the dtype of queries"),
        ([tensor(Q), tensor((5, 3, 4)), tensor(Q)], "argument keys must have 4 dimensions"),
        ([tensor(Q)] * 3 + [tensor((3,), "int64"), tensor((), I32)], "argument seqstart_q must be of int32"),
        ([tensor(Q)] * 3 + [tensor((3, 1), I32), tensor((), I32)], "argument seqstart_q must be a vector"),
        ([tensor(Q)] * 3 + [tensor((3,), I32), tensor((1, 1), I32)], "argument max_seqlen_q must be a scalar"),
        ([tensor(Q)] * 3 + [tensor((3,), I32), tensor((), I32), tensor((4,), I32)], "must have one length"),
        ([tensor(Q)] * 3 + [tensor((3,), I32)], "argument max_seqlen_q is missing"),
    ],
)
def test_refused_var_len(args: list[Any], message: str):
    rest = [tensor((3,), I32), tensor((), I32)] if len(args) == 3 else []
    with pytest.raises(TiraxError, match=message):
        assert rx.op.nn.attention_var_len(*args, *rest).struct_info


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"window_size": 0}, "attribute window_size must be positive"),
        ({"causal_mask": "topleft"}, "attribute causal_mask is unknown"),
        ({"window_size": 1.5}, "attribute window_size is of the wrong type"),
    ],
)
def test_refused_attributes(attrs: dict[str, Any], message: str):
    with pytest.raises(TiraxError, match=message):
        assert rx.op.nn.attention(tensor(Q), tensor(Q), tensor(Q), **attrs).struct_info


def test_unknown_shapes():
    out = rx.op.nn.attention_var_len(*[tensor(None)] * 3, tensor(None, I32), tensor(None, I32))
    assert out.struct_info.ndim == 4


COMPOSITES = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((3, 4), "float32"), b: R.Tensor((3,), "float32"),
         c: R.Tensor(("n", 4), "bool")):
    with R.dataflow():
        y = R.linear(x, w, b)
        z = R.linear(data=x, weight=w, out_dtype="float64")
        v = R.masked_fill(x, c, R.const(2.0, "float32"))
        u = R.masked_fill(x, mask=c, value=1)
        out = (y, z, v, u)
        R.output(out)
    return out
"""


def test_composites():
    module = parse_source(COMPOSITES)
    checks.texts(module)
    checks.native(module)
    text = print_script(module)
    for line in (
        'lv: R.Tensor((4, 3), dtype="float32") = R.permute_dims(w, axes=None)',
        'y: R.Tensor((n, 3), dtype="float32") = R.add(lv1, b)',
        'R.full_like(x, R.const(2.0, "float32"), dtype="void")',
        "= R.where(c, lv",
    ):
        assert line in text
    x, w, b = (np.random.default_rng(0).normal(size=s).astype(np.float32) for s in ((5, 4), (3, 4), (3,)))
    c = x > 0
    for actual in (interpret(module, "main", [x, w, b, c]), build(module)["main"](x, w, b, c)):
        wide = x.astype(float) @ w.T.astype(float)
        for a, e in zip(actual, (wide + b, wide, np.where(c, 2, x), np.where(c, 1, x)), strict=True):
            np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)


def test_composites_from_python():
    x, c = tensor((4, 3)), tensor((4, 3), "bool")
    assert rx.op.linear(x, x).struct_info == rx.TensorStructInfo((4, 4), "float32")
    assert rx.op.masked_fill(x, c, 0).struct_info == x.struct_info
    assert {"linear", "masked_fill"} <= set(dir(rx.op))
    assert "attention_bias" in dir(rx.op.nn)
    with pytest.raises(TiraxError, match=r"relax\.linear: missing a required argument: 'weight'"):
        rx.op.linear(x)
    with pytest.raises(TiraxError, match=r"relax\.masked_fill: got an unexpected keyword argument 'fill'"):
        rx.op.masked_fill(x, c, 0, fill=0)
    with pytest.raises(TiraxError, match="last dimension of x1 must agree"):
        assert rx.op.linear(x, tensor((3, 4))).struct_info
