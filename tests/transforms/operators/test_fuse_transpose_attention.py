"""Attention over transposed queries, keys and values: which are read in place, and that they mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.runtime.errors import TiraxError
from tirax.transforms.operators.fuse_transpose_attention import FuseTransposeAttention
from tirax.tvm_api.script import from_source

HEADS = '("b", 2, "n", 8)'
LENGTHS = '("b", "n", 2, 8)'


def program(*lines: str, q: str = HEADS, k: str = HEADS, v: str = HEADS, more: str = "") -> str:
    body = "\n            ".join(lines)
    return f"""
@I.ir_module
class Module:
    @R.function
    def main(q: R.Tensor({q}, "float32"), k: R.Tensor({k}, "float32"), v: R.Tensor({v}, "float32"){more}):
        with R.dataflow():
            {body}
            R.output(out)
        return out
"""


TURN = [f"{name} = R.permute_dims({name[0]}, axes=[0, 2, 1, 3])" for name in ("qt", "kt", "vt")]
BIAS = ', bias: R.Tensor(("b", 2, "n", "n"), "float32")'
ONE, SQUARE = {"q": LENGTHS, "v": LENGTHS}, dict.fromkeys("qkv", "(1, 2, 2, 8)")
CASES = {
    "all three": (program(*TURN, "out = R.nn.attention(qt, kt, vt)"), 0, 0),
    "negative axes": (
        program("kt = R.permute_dims(k, axes=[0, -2, 1, -1])", "out = R.nn.attention(q, kt, v)", **ONE), 0, 0,
    ),
    "keys, with a mask": (program(TURN[1], 'out = R.nn.attention(q, kt, v, causal_mask="TopLeft")', **ONE), 0, 0),
    "with a bias": (program(*TURN, "out = R.nn.attention(qt, kt, vt, bias)", more=BIAS), 0, 0),
    "used elsewhere": (program(*TURN, "a = R.nn.attention(qt, kt, vt)", "out = R.add(a, vt)"), 1, 0),
    "of one type, transposed and not": (
        program(TURN[1], "a = R.nn.attention(q, kt, v)", "out = R.nn.attention(a, k, v)", **SQUARE), 0, 1,
    ),
    "of one type, keys and values": (
        program(*TURN[1:], "a = R.nn.attention(q, kt, v)", "out = R.nn.attention(a, k, vt)", **SQUARE), 0, 0,
    ),
    "other axes": (
        program(
            "kt = R.permute_dims(k, axes=[0, 1, 3, 2])", "out = R.nn.attention(q, kt, v)", k='("b", "n", 8, 2)', **ONE
        ), 1, 1,
    ),
    "nothing transposed": (program("out = R.nn.attention(q, k, v)", **dict.fromkeys("qkv", LENGTHS)), 0, 1),
}  # fmt: skip
"""By name: a program, how many transpositions are left in it, and how many operators."""


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    text, transposed, kept = CASES[name]
    before = from_source(text)
    after = FuseTransposeAttention()(before)
    names = [op.name for op in after.op.walk()]
    assert (names.count("relax.permute_dims"), names.count("relax.nn.attention")) == (transposed, kept)
    assert_same_meaning(before.op, after.op)


@pytest.mark.parametrize("queries", [1, 3, 40])
def test_native(queries: int) -> None:
    rng = np.random.default_rng(queries)
    function = build(from_source(program(*TURN, "out = R.nn.attention(qt, kt, vt)", q='("b", 2, "m", 8)')))["main"]
    for batch, keys in ((1, 5), (2, 70), (1, 600), (0, 3)):
        q, k, v = (rng.standard_normal((batch, 2, n, 8), dtype=np.float32) for n in (queries, keys, keys))
        scores = np.einsum("bhqd,bhkd->bhqk", q.astype(float), k) / np.sqrt(8)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        expected = np.einsum("bhqk,bhkd->bqhd", powers / powers.sum(-1, keepdims=True), v)
        np.testing.assert_allclose(np.asarray(function(q, k, v)), expected, rtol=2e-5, atol=2e-5)


def test_lengths_that_differ_are_refused() -> None:
    text = program(*TURN, "out = R.nn.attention(qt, kt, vt)", v='("b", 2, "m", 8)')
    function = build(from_source(text))["main"]
    arrays = [np.zeros((1, 2, n, 8), np.float32) for n in (4, 4, 3)]
    with pytest.raises(TiraxError, match="m"):
        function(*arrays)
