"""Attention of the sizes of known models beside torch's and ONNX Runtime's kernels, where these are installed.

    python benchmarks/attention.py [--rounds 31]

Tensors are (batch, length, heads, size), in f32, everything on one thread. Results are compared with numpy in f64
before anything is timed. GFLOP/s count all scores, also those that a causal mask leaves out.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable

import measure

measure.quiet()

import numpy as np  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

SIZES = {
    "BERT, 128": (1, 128, 12, 64, False),
    "ViT, 197": (1, 197, 12, 64, False),
    "GPT-2, 128": (1, 128, 12, 64, True),
    "Llama, 64": (1, 64, 8, 64, True),
    "1024": (1, 1024, 12, 64, False),
    "1024, causal": (1, 1024, 12, 64, True),
    "2048": (1, 2048, 4, 64, False),
}
"""(batch, length, heads, size, causal)"""
Arrays = list[np.ndarray]


def ours(arrays: Arrays, causal: bool, symbolic: bool = False) -> Callable[[], np.ndarray]:
    """The compiled operator, for this length or for any."""
    builder, shape = relax.BlockBuilder(), list(arrays[0].shape)
    if symbolic:
        shape[1] = tvm.tir.Var("n", "int64")
    params = [relax.Var(name, relax.TensorStructInfo(shape, "float32")) for name in "qkv"]
    with builder.function("main", params):
        with builder.dataflow():
            mask = "TopLeft" if causal else None
            result = builder.emit_output(relax.op.nn.attention(*params, causal_mask=mask))
        builder.emit_func_output(result)
    function = relax.build(builder.get(), target="llvm")["main"]
    return lambda: function(*arrays)


def torchs(arrays: Arrays, causal: bool) -> Callable[[], np.ndarray]:
    """`scaled_dot_product_attention`."""
    import torch

    torch.set_num_threads(1)
    tensors = [torch.from_numpy(a).transpose(1, 2) for a in arrays]
    function = torch.nn.functional.scaled_dot_product_attention
    return lambda: function(*tensors, is_causal=causal).transpose(1, 2).numpy()


def onnx_runtimes(arrays: Arrays, causal: bool) -> Callable[[], np.ndarray]:
    """`MultiHeadAttention`, which takes heads and their elements as one dimension."""
    import onnxruntime
    from onnx import TensorProto, helper

    batch, length, heads, size = shape = arrays[0].shape
    flat = [batch, length, heads * size]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, flat) for name in "qkvy"]
    node = helper.make_node(
        "MultiHeadAttention", list("qkv"), ["y"], domain="com.microsoft", num_heads=heads, unidirectional=int(causal)
    )
    graph = helper.make_graph([node], "attention", infos[:3], infos[3:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    feed = {name: a.reshape(flat) for name, a in zip("qkv", arrays, strict=True)}
    return lambda: session.run(None, feed)[0].reshape(shape)


PEERS = {"torch": (torchs, ["torch"]), "onnxruntime": (onnx_runtimes, ["onnx", "onnxruntime"])}
"""How each is called, and the modules that it takes."""


def in_double(arrays: Arrays, causal: bool) -> np.ndarray:
    """What all are compared with."""
    q, k, v = (a.astype(np.float64).transpose(0, 2, 1, 3) for a in arrays)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return (powers / powers.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)


def row(name: str, rounds: int) -> dict[str, object]:
    """GFLOP/s of each side, of the fastest sample."""
    *shape, causal = SIZES[name]
    arrays = [np.random.default_rng(seed).standard_normal(shape).astype(np.float32) for seed in range(3)]
    sides = {"tirax": ours(arrays, causal), "any length": ours(arrays, causal, symbolic=True)}
    for peer, (make, modules) in PEERS.items():
        if all(importlib.util.find_spec(module) for module in modules):
            sides[peer] = make(arrays, causal)
    expected = in_double(arrays, causal)
    for side, call in sides.items():
        np.testing.assert_allclose(np.asarray(call()), expected, rtol=1e-3, atol=1e-4, err_msg=f"{name}: {side}")
    batch, length, heads, size = shape
    flop = 4 * batch * heads * length**2 * size
    times = measure.interleaved(sides, rounds, clock=time.process_time)
    return {"attention": name} | {side: flop / times[side].minimum / 1e3 for side in sides}


def main() -> None:
    """Print the table and write it to build/benchmarks/attention.json."""
    options = argparse.ArgumentParser(description="attention beside torch and ONNX Runtime, one thread")
    options.add_argument("--rounds", type=int, default=31)
    arguments = options.parse_args()
    print(f"{measure.processor()}, one thread, GFLOP/s\n")
    rows: list[dict[str, object]] = []
    for name in SIZES:
        rows.append(row(name, arguments.rounds))
        sides = [f"{side} {value:6.1f}" for side, value in rows[-1].items() if isinstance(value, float)]
        print(f"{name:<14}", "   ".join(sides), flush=True)
    measure.write("attention", rows)


if __name__ == "__main__":
    main()
