"""`tirax inspect` of GGUF files: of models that run, of others, and of what is none."""

from __future__ import annotations

import numpy as np
from tiny_language_models import byte_pair_metadata, write_tiny_gguf

from tirax.llm.gguf import GgufTensor, write_gguf
from tirax.tools.gguf_files import gguf_text


def test_a_language_model(cli, tmp_path):
    extra = byte_pair_metadata() | {"general.name": "a\x1b[31m" + "b" * 100}
    path = write_tiny_gguf(tmp_path / "m.gguf", extra=extra)
    result = cli("inspect", path)
    assert (result.code, result.err) == (0, "")
    assert "GGUF version 3, architecture 'llama'\n" in result.out
    assert "  'llama.embedding_length': 32\n" in result.out
    assert "  'tokenizer.ggml.merges': 11 texts: 'h e', 'l l', 'he ll', …\n" in result.out
    assert "  'tokenizer.ggml.token_type': 271 numbers (int32)\n" in result.out
    assert "  'general.name': 'a\\x1b[31m" in result.out and "\x1b" not in result.out
    assert "  f32: 21 tensors, 21152 numbers, 84608 bytes\n" in result.out
    assert "language model: 2 layers, hidden size 32, intermediate size 64, 4 heads of 8, 2 of keys and" in result.out


def test_another_model(tmp_path):
    rows = GgufTensor("", (2, 64), "q4_0", np.zeros((2, 36), "uint8"))
    path = tmp_path / "m.gguf"
    write_gguf(path, {"general.architecture": "whisper"}, {"x": rows, "y": np.zeros(3, "float32")})
    text = gguf_text(str(path))
    assert "  q4_0: 1 tensors, 128 numbers, 72 bytes" in text and "no language model that runs:" in text


def test_what_is_none(cli, tmp_path):
    (tmp_path / "m.gguf").write_bytes(b"GGUF" + bytes(10))
    result = cli("inspect", tmp_path / "m.gguf")
    assert result.code == 1 and "is not a GGUF file" in result.err
    result = cli("inspect", tmp_path / "absent.gguf")
    assert result.code == 1 and "cannot read" in result.err
