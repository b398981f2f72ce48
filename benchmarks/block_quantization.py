"""Products with weights in blocks beside ONNX Runtime's MatMulNBits and llama.cpp's, in turns, results compared first.

    python benchmarks/block_quantization.py [--threads 2] [--only q4_0] [--activation float32] [--ggml FOLDER] [--apart]

The first rows are one row times a matrix, as a language model decodes (the shapes of SmolLM2-135M, then 4096 × 4096),
where the time is that of reading the weights: the column `read` is a sum over as many bytes, which is the limit. The
last rows are a prompt's. All round activations to bytes, unless `--activation float32` says that tirax does not: then
tirax's own product with floats is a peer, too (`floats`); llama.cpp has its weights in the order it prefers. ONNX
Runtime has groups of 32 with float32 scales: 4 bits for q4_0 and q4_1, 8 for q8_0. `--apart` takes each in a process of
its own, one after the other: with more than one thread the pools of others, which spin when they have nothing to do,
hold back whoever is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import measure

measure.quiet()

import numpy as np  # noqa: E402
from peers import ggml  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.dialects.block_formats import block_format  # noqa: E402
from tirax.runtime import set_num_threads  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

SHAPES = (
    ("q4_1", 1, 576, 576),
    ("q4_1", 1, 1536, 576),
    ("q4_1", 1, 576, 1536),
    ("q8_0", 1, 49152, 576),
    ("q4_0", 1, 4096, 4096),
    ("q4_1", 1, 4096, 4096),
    ("q8_0", 1, 4096, 4096),
    ("q4_k", 1, 4096, 4096),
    ("q6_k", 1, 4096, 4096),
    ("q4_0", 512, 1536, 576),
    ("q4_0", 512, 4096, 4096),
    ("q8_0", 512, 4096, 4096),
)
"""Format, rows of x, rows of weights, columns."""
TOLERANCE = 0.03
"""Of the largest result: what rounding x to bytes may make of it, and weights with scales of their own."""
Call = Callable[[], Any]


def ours(name: str, weights: np.ndarray, x: np.ndarray, activation: str) -> Call:
    """tirax, with any number of rows."""
    packed = relax.const(block_format(name).quantize(weights))
    return built(lambda argument: relax.op.matmul_blocks(argument, packed, name, activation=activation), x)


def floats(weights: np.ndarray, x: np.ndarray) -> Call:
    """tirax with weights that are float32."""
    matrix = relax.const(np.ascontiguousarray(weights.T))
    return built(lambda argument: relax.op.matmul(argument, matrix), x)


def built(product: Callable[[Any], Any], x: np.ndarray) -> Call:
    """A function of x alone, with any number of rows."""
    bb = relax.BlockBuilder()
    argument = relax.Var("x", relax.TensorStructInfo((tvm.tir.Var("m", "int64"), x.shape[1]), "float32"))
    with bb.function("main", [argument]):
        bb.emit_func_output(bb.emit(product(argument)))
    main, array = relax.build(bb.finalize(), target="llvm")["main"], tvm.nd.array(x)
    return lambda: main(array)


def onnx_runtime(name: str, weights: np.ndarray, x: np.ndarray, threads: int) -> Call | None:
    """ONNX Runtime with its own groups of 32; None where it is not installed."""
    try:
        import onnxruntime
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        return None
    bits, (n, k) = 8 if name == "q8_0" else 4, weights.shape
    if name.endswith("_k"):
        return None
    blocks = block_format(f"int{bits}_g32").quantize(weights).reshape(n, k // 32, -1)
    scales = np.ascontiguousarray(blocks[..., :4]).view("<f4").reshape(n, -1)
    zeros, q = blocks[..., 4], blocks[..., 5:]
    if bits == 4:  # neighbours share a byte there
        q = np.concatenate([q & 15, q >> 4], -1)
        q = q[..., ::2] | q[..., 1::2] << 4
        zeros = zeros[:, ::2] | zeros[:, 1::2] << 4
    data = {"b": np.ascontiguousarray(q), "s": scales, "z": np.ascontiguousarray(zeros)}
    attrs = {"K": k, "N": n, "bits": bits, "block_size": 32, "accuracy_level": 4, "domain": "com.microsoft"}
    node = helper.make_node("MatMulNBits", ["x", *data], ["y"], **attrs)
    ends = [helper.make_tensor_value_info(v, TensorProto.FLOAT, ["m", d]) for v, d in (("x", k), ("y", n))]
    constants = [numpy_helper.from_array(array, v) for v, array in data.items()]
    graph = helper.make_graph([node], "product", ends[:1], ends[1:], constants)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})[0]


def llama_cpp(name: str, weights: np.ndarray, x: np.ndarray, threads: int, path: str | None) -> Call | None:
    """llama.cpp's library; None where it is not installed."""
    libraries = ggml.folder(path)
    if libraries is None or name not in ggml.TYPES:
        return None
    return ggml.product(libraries, name, block_format(name).quantize(weights), x, threads)


def reading(nbytes: int) -> Call:
    """A sum over as many bytes."""
    bb, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo((nbytes // 4,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.sum(x)))
    main, array = relax.build(bb.finalize(), target="llvm")["main"], tvm.nd.array(np.ones(nbytes // 4, "f4"))
    return lambda: main(array)


def measured(shape: tuple[str, int, int, int], options: argparse.Namespace) -> dict[str, Any]:
    """The row of a product: microseconds by peer."""
    name, m, n, k = shape
    rng = np.random.default_rng(0)
    weights, x = (rng.standard_normal(s).astype(np.float32) for s in ((n, k), (m, k)))
    exact = x @ weights.T
    activation, threads = options.activation, options.threads
    makers: dict[str, Callable[[], Call | None]] = {
        "tirax": lambda: ours(name, weights, x, activation),
        "onnxruntime": lambda: onnx_runtime(name, weights, x, threads),
        "llama.cpp": lambda: llama_cpp(name, weights, x, threads, options.ggml),
        "floats": lambda: floats(weights, x) if activation == "float32" else None,
    }
    calls = {peer: make() for peer, make in makers.items() if options.peer in (peer, "")}
    by_name = {peer: call for peer, call in calls.items() if call is not None}
    scale = float(np.abs(exact).max())
    worst = 2 if name[1] == "4" else 1  # weights of 4 bits are further from those that were given
    for peer, call in by_name.items():
        error = float(np.abs(np.asarray(call()) - exact).max()) / scale
        if not error <= 2 * worst * TOLERANCE:
            raise ValueError(f"{peer} computes {shape} wrong: {error:.2g} of the greatest value")
    size = n * block_format(name).row_bytes(k)
    if m == 1 and options.peer in ("read", ""):
        by_name["read"] = reading(size)
    times = measure.interleaved(by_name, options.rounds, longest=options.longest)
    return {"product": f"{name} {m}x{n}x{k}", "bytes": size, **{peer: t.median for peer, t in times.items()}}


def printed(row: dict[str, Any]) -> str:
    """A line of the table: times, how much faster than each peer, the bandwidth."""
    peers = [f"{peer} {row[peer]:.1f} us ({row[peer] / row['tirax']:.2f})" for peer in row if peer in PEERS]
    rate = f", {row['bytes'] / row['tirax'] / 1e3:.1f} GB/s" if "read" in row else ""
    return f"{row['product']:22} tirax {row['tirax']:.1f} us{rate}, {', '.join(peers)}"


def in_subprocesses() -> None:
    """The same command for each peer, then the table of all."""
    rows: list[dict[str, Any]] = []
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, measure.CORES)  # of which they choose themselves
    for peer in ("tirax", *PEERS):
        arguments = [argument for argument in sys.argv if argument != "--apart"]
        subprocess.run([sys.executable, *arguments, "--peer", peer], check=True, stdout=subprocess.DEVNULL)
        mine = json.loads((measure.RESULTS / "block_quantization.json").read_text())["rows"]
        rows = [{**row, **one} for row, one in zip(rows or mine, mine, strict=True)]
    for row in rows:
        print(printed(row))
    measure.write("block_quantization", rows)


PEERS = ("floats", "onnxruntime", "llama.cpp", "read")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="rows whose text contains this")
    parser.add_argument("--activation", default="int8", choices=["int8", "float32"], help="what tirax multiplies")
    parser.add_argument("--ggml", help="the folder of llama.cpp's libraries")
    parser.add_argument("--apart", action="store_true", help="each peer in a process of its own")
    parser.add_argument("--peer", default="", help="this one alone, without a table")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--longest", type=float, default=2.0, help="seconds for a peer")
    options = parser.parse_args()
    if options.apart:
        in_subprocesses()
        return
    os.environ.update(dict.fromkeys(measure.THREADS, str(options.threads)))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(measure.CORES)[-options.threads :])
    set_num_threads(options.threads)
    rows: list[dict[str, Any]] = []
    for shape in SHAPES:
        if options.only in f"{shape[0]} {shape[1]}x{shape[2]}x{shape[3]}":
            rows.append(measured(shape, options))
            if not options.peer:
                print(printed(rows[-1]), flush=True)
    print(f"written to {measure.write('block_quantization', rows)}")


if __name__ == "__main__":
    main()
