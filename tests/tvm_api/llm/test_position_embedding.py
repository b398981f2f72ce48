"""TVM's rotary embedding of fused queries, keys and values, beside complex numbers in numpy."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.tvm_api import relax
from tirax.tvm_api.relax.frontend import nn
from tirax.tvm_api.relax.frontend.nn.llm import position_embedding as pe

HEADS, KV_HEADS, SIZE, THETA = 2, 1, 8, 500.0
PLANES = SIZE // 2
ALL = HEADS + 2 * KV_HEADS
SCALINGS = {
    "default": {"rope_type": "default"},
    "gptj": {"rope_type": "gptj"},
    "llama3": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    },
    "longrope": {"rope_type": "longrope", "max_position_embeddings": 64, "original_max_position_embeddings": 16},
    "yarn": {
        "rope_type": "yarn",
        "factor": 4.0,
        "beta_fast": 32,
        "beta_slow": 1,
        "original_max_position_embeddings": 64,
    },
}


def frequencies(kind):
    scaling = SCALINGS[kind]
    plain = THETA ** -(np.arange(PLANES) / PLANES)
    if kind == "llama3":
        smooth = np.clip((64 * plain / (2 * np.pi) - 1.0) / 3.0, 0, 1)
        return plain * ((1 - smooth) / 8.0 + smooth)
    if kind == "yarn":
        ends = [SIZE * np.log(64 / (n * 2 * np.pi)) / (2 * np.log(THETA)) for n in (32, 1)]
        low, high = max(np.floor(ends[0]), 0), min(np.ceil(ends[1]), SIZE - 1)
        slowed = np.clip((np.arange(PLANES) - low) / (high - low), 0, 1)
        return plain * (slowed / scaling["factor"] + 1 - slowed)
    return plain


def turned(x, positions, kind):
    """Rotate (…, heads, size) whose second to last dimension but one is that of positions."""
    angle = np.asarray(positions)[:, None, None] * frequencies(kind)
    magnitude = np.sqrt(1 + np.log(4) / np.log(16)) if kind == "longrope" else 1.0
    pairs = (
        x.reshape(*x.shape[:-1], PLANES, 2) if kind == "gptj" else x.reshape(*x.shape[:-1], 2, PLANES).swapaxes(-1, -2)
    )
    z = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * angle) * magnitude
    out = np.stack([z.real, z.imag], -1)
    return out.reshape(x.shape) if kind == "gptj" else out.swapaxes(-1, -2).reshape(x.shape)


class Rotations(nn.Module):
    """A method for each kind."""


def _method(kind):
    def method(self, qkv: nn.Tensor, total: int):
        return pe.llama_rope(qkv, total, THETA, 1.0, HEADS, KV_HEADS, SCALINGS[kind])

    return method


for _kind in SCALINGS:
    setattr(Rotations, _kind, _method(_kind))


def test_llama_rope():
    qkv = np.random.default_rng(0).normal(size=(2, 5, ALL, SIZE)).astype("float32")
    spec = {"qkv": nn.spec.Tensor(["b", "n", ALL, SIZE], "float32"), "total": int}
    mod, _ = Rotations().export_tvm(dict.fromkeys(SCALINGS, spec))
    vm = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    for kind in SCALINGS:
        q, k, v = vm[kind](tvm.nd.array(qkv), tvm.runtime.ShapeTuple([9]))
        expected = turned(qkv[:, :, : HEADS + KV_HEADS], np.arange(4, 9), kind)
        np.testing.assert_allclose(np.concatenate([q.numpy(), k.numpy()], 2), expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(v.numpy(), qkv[:, :, -KV_HEADS:])


@pytest.mark.parametrize("kind", ["gptj", "longrope"])
def test_with_positions(kind):
    qkv = np.random.default_rng(1).normal(size=(4, ALL, SIZE)).astype("float32")
    func = pe.llama_rope_with_position_map(THETA, 1.0, SIZE, HEADS, KV_HEADS, "float32", SCALINGS[kind])
    positions = np.array([7, 0, 3, 11], "int32")
    built = tvm.build(func, target="llvm")[func.attrs["global_symbol"]]
    q, k, v = (tvm.nd.array(np.zeros((4, n, SIZE), "float32")) for n in (HEADS, KV_HEADS, KV_HEADS))
    last = [tvm.nd.array(np.ones(PLANES, "float32"))] if kind == "longrope" else [1]
    built(tvm.nd.array(qkv), tvm.nd.array(positions), q, k, v, *last)
    expected = turned(qkv[:, : HEADS + KV_HEADS], positions, kind)
    np.testing.assert_allclose(np.concatenate([q.numpy(), k.numpy()], 1), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(v.numpy(), qkv[:, -KV_HEADS:])
    if kind != "longrope":
        built(tvm.nd.array(qkv), tvm.nd.array(positions), q, k, v, 0)
        np.testing.assert_array_equal(q.numpy(), qkv[:, :HEADS])


def test_mistakes():
    with pytest.raises(TiraxError, match="unknown rope_type"):
        pe.switch_rope_freq_func({"rope_type": "su"})
    with pytest.raises(TiraxError, match="not complete"):
        pe.switch_rope_freq_func({"rope_type": "llama3", "factor": 8.0})
