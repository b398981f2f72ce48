"""A Llama of 1.1 billion random weights as a GGUF file, to measure with.

    python benchmarks/random_language_model.py SMOLLM2.gguf OUT.gguf [--format q4_0]
    python benchmarks/language_models.py OUT.gguf --peer-python VENV/bin/python --answer 32

It has the sizes of Llama 3.2 1B, and the tokenizer of the file that is given. Blocks are random bytes with one scale.
"""

from __future__ import annotations

import argparse

import numpy as np

from tirax.dialects.block_formats import BLOCK_FORMATS
from tirax.llm.gguf import GgufTensor, open_gguf, write_gguf

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS, HEAD = 16, 2048, 8192, 32, 8, 64
DEVIATIONS = {"q4_0": 4.6, "q8_0": 74.0}
"""Of numbers from random bytes, with a scale of 1."""
DEVIATION = 0.02


def blocks(name: str, rows: int, format: str, rng: np.random.Generator, columns: int) -> GgufTensor:
    """A matrix of random numbers."""
    row = BLOCK_FORMATS[format]
    data = rng.integers(0, 256, (rows * columns // row.size, row.block_bytes), np.uint8)
    data[:, :2] = np.array([DEVIATION / DEVIATIONS[format]], "<f2").view(np.uint8)
    return GgufTensor(name, (rows, columns), format, data.reshape(rows, -1))


def tensors(vocabulary: int, format: str) -> dict[str, np.ndarray | GgufTensor]:
    """All weights, by the names of GGUF."""
    rng = np.random.default_rng(0)
    matrices = {
        "attn_q": (HEADS * HEAD, HIDDEN), "attn_k": (KV_HEADS * HEAD, HIDDEN), "attn_v": (KV_HEADS * HEAD, HIDDEN),
        "attn_output": (HIDDEN, HEADS * HEAD), "ffn_gate": (INNER, HIDDEN), "ffn_up": (INNER, HIDDEN),
        "ffn_down": (HIDDEN, INNER),
    }  # fmt: skip
    shapes = {"token_embd": (vocabulary, HIDDEN)}
    shapes |= {f"blk.{i}.{name}": shape for i in range(LAYERS) for name, shape in matrices.items()}
    norms = ["output_norm", *(f"blk.{i}.{name}_norm" for i in range(LAYERS) for name in ("attn", "ffn"))]
    out: dict[str, np.ndarray | GgufTensor] = {f"{name}.weight": np.ones(HIDDEN, np.float32) for name in norms}
    for name, (rows, columns) in shapes.items():
        out[f"{name}.weight"] = blocks(f"{name}.weight", rows, format, rng, columns)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", help="a .gguf file of a Llama")
    parser.add_argument("out")
    parser.add_argument("--format", choices=DEVIATIONS, default="q4_0")
    options = parser.parse_args()
    known = open_gguf(options.tokenizer).metadata
    metadata = {name: value for name, value in known.items() if name.startswith("tokenizer.")}
    vocabulary = len(known["tokenizer.ggml.tokens"])
    sizes = {
        "context_length": 8192, "embedding_length": HIDDEN, "block_count": LAYERS, "feed_forward_length": INNER,
        "attention.head_count": HEADS, "attention.head_count_kv": KV_HEADS, "vocab_size": vocabulary,
        "rope.dimension_count": HEAD, "rope.freq_base": 500000.0, "attention.layer_norm_rms_epsilon": 1e-5,
    }  # fmt: skip
    metadata |= {"general.architecture": "llama", **{f"llama.{name}": value for name, value in sizes.items()}}
    write_gguf(options.out, metadata, tensors(vocabulary, options.format))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
