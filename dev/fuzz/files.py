"""Damaged and malformed files: executables, tuning databases, GGUF language models.

A case is the numbers of a `Tape`, which select the mutations of a file that is created here, since the
bytes differ between machines.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from xdsl.parser import Parser

from ...diagnostics import TiraxError
from ...driver.build import build
from ...ir.passes.transform import new_context
from ...llm.checkpoints import Rope, TransformerConfig, expected_shapes, load_language_model
from ...llm.checkpoints.names import ROWS
from ...llm.gguf import write_gguf
from ...runtime import Executable
from ...schedule import Schedule
from ...target import Target
from ...tuning.database import JSONDatabase, SQLiteDatabase
from ...tuning.types import TuningRecord
from ...tvm_api.script import from_source
from .mutations import mutated_bytes, mutated_text
from .tape import Tape
from .workloads import WORKLOADS

_PROGRAM = """
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %lv = relax.exp %x : !relax.tensor<[n, 4], f32>
  relax.return %lv : !relax.tensor<[n, 4], f32>
}
"""
_CHECKSUM = slice(32, 64)
_HEADER_AT = 64
_HEADER_SIZE = struct.Struct("<12xI")


def _numbers(rng: random.Random) -> str:
    return " ".join(str(rng.getrandbits(53)) for _ in range(40))


draw_executable = draw_database = draw_gguf = _numbers
"""Draw the numbers that select the mutations."""


@cache
def _executable() -> bytes:
    module = Parser(new_context(), _PROGRAM).parse_module()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.tirax")
        build(module).save(path)
        return path.read_bytes()


def _resealed(rng: random.Random, data: bytes) -> bytes:
    """Return an executable with mutated metadata and a matching checksum."""
    (size,) = _HEADER_SIZE.unpack_from(data)
    text = data[_HEADER_AT : _HEADER_AT + size].decode()
    header = mutated_text(rng, text).encode()[:size].ljust(size)
    changed = bytearray(data)
    changed[_HEADER_AT : _HEADER_AT + size] = header
    digest = hashlib.sha256(changed[: _CHECKSUM.start])
    digest.update(changed[_HEADER_AT:])
    changed[_CHECKSUM] = digest.digest()
    return bytes(changed)


def check_executable(text: str) -> int:
    """Check that a mutated file is either rejected or read. The code in it is not run."""
    rng = Tape(played=[int(word) for word in text.split()])
    data = _executable()
    changed = _resealed(rng, data) if rng.random() < 0.5 else mutated_bytes(rng, data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.tirax")
        path.write_bytes(changed)
        try:
            str(list(Executable.load(path).functions.values()))
        except TiraxError:
            return 1
    return 1


@cache
def _databases() -> dict[str, bytes]:
    """Return the files of a database of each kind, with one workload and two records."""
    module = from_source(WORKLOADS["matmul"])
    with tempfile.TemporaryDirectory() as folder:
        for database in (JSONDatabase(work_dir=folder), SQLiteDatabase.in_folder(folder)):
            workload = database.commit_workload(module)
            for factor in (2, 4):
                sch = Schedule(module)
                sch.split(sch.get_loops(sch.get_block("matmul"))[0], [None, factor])
                database.commit_tuning_record(TuningRecord(sch.trace, workload, [0.1 * factor], Target("llvm")))
            if isinstance(database, SQLiteDatabase):
                database.close()
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir()) if path.is_file()}


def check_database(text: str) -> int:
    """Check that a mutated database is either rejected or its records are read."""
    rng = Tape(played=[int(word) for word in text.split()])
    files = dict(_databases())
    name = rng.choice([name for name, data in files.items() if data])
    lines = name.endswith(".json") and rng.random() < 0.6
    files[name] = mutated_text(rng, files[name].decode()).encode() if lines else mutated_bytes(rng, files[name])
    with tempfile.TemporaryDirectory() as folder:
        for each, data in files.items():
            Path(folder, each).write_bytes(data)
        try:
            database = (SQLiteDatabase.in_folder if "sqlite" in name else _json)(folder)
            for record in database.get_all_tuning_records():
                json.dumps(record.trace.as_json())
        except TiraxError:
            return 1
    return 1


def _json(folder: str) -> JSONDatabase:
    return JSONDatabase(work_dir=folder)


@cache
def _language_model() -> bytes:
    """Return a model of one layer with a tokenizer, with weights in two formats."""
    config = TransformerConfig("llama", 20, 32, 32, 1, 4, 2, 8, 16, Rope(1e4, 8, "pairs"), 1e-5)
    entries = {
        "block_count": 1, "context_length": 16, "embedding_length": 32, "feed_forward_length": 32,
        "attention.head_count": 4, "attention.head_count_kv": 2, "attention.layer_norm_rms_epsilon": 1e-5,
    }  # fmt: skip
    tokens = {"model": "gpt2", "pre": "smollm", "tokens": tuple("abcdefghijklmnopqrst"), "merges": ("a b",)}
    metadata = {f"llama.{key}": value for key, value in entries.items()}
    metadata |= {f"tokenizer.ggml.{key}": value for key, value in tokens.items()}
    metadata |= {
        "tokenizer.ggml.token_type": np.ones(20, "int32"),
        "tokenizer.chat_template": "{{ messages[0].content }}",
    }
    names = {row.name: row.gguf for row in ROWS}
    weights = {names[n.replace("s.0.", "s.*.")]: shape for n, shape in expected_shapes(config).items()}
    tensors = {(n or "").replace("*", "0"): np.zeros(shape, "float16") for n, shape in weights.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.gguf")
        write_gguf(path, {"general.architecture": "llama"} | metadata, tensors)
        return path.read_bytes()


def check_gguf(text: str) -> int:
    """Check that a mutated language model is either rejected, or is read, tokenizes and renders."""
    rng = Tape(played=[int(word) for word in text.split()])
    data = _language_model()
    head = data.rstrip(bytes(1))  # the weights are zeros
    changed = mutated_bytes(rng, head) + data[len(head) :] if rng.random() < 0.8 else mutated_bytes(rng, data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.gguf")
        path.write_bytes(changed)
        try:
            model = load_language_model(path)
            tokens = model.tokenizer.prompt("abc <|im_end|> \u00e9", special=True)
            model.tokenizer.decode(tokens)
            model.chat_template.tokens([{"role": "user", "content": "abc"}])
        except TiraxError:
            return 1
    return 1
