"""Files that lie, fed to one reader in a process of its own: `python hostile_files.py NAME FLIPS [PART]`.

A row must be read, or refused by a `TiraxError`, within two seconds of the processor and 200 MB: limits of the process
see to both. Each line of the output is a row that was neither; the last one counts the rows.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import resource
import signal
import sqlite3
import struct
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import hostile_arrays
import hostile_databases
import numpy as np
from hostile_values import PATHS, SHAPES, VALUES

from tirax.diagnostics import TiraxError

SECONDS, MEGABYTES = 2, 200
Read = Callable[[Path], object]


class OverTime(BaseException):
    """The processor's seconds are spent."""


def limit_memory() -> None:
    """From here on the process may take so much more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + (MEGABYTES << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def outcome(read: Read, path: Path) -> str | None:
    """What came of reading a file, None where that was as it should be."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS + 1, hard))
    try:
        read(path)
    except TiraxError as error:
        str(error).encode()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is a finding
        return f"{type(error).__name__}: {str(error)[:200]!r}"
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
    return None


# Valid files, and how each is read.


def safetensors() -> tuple[bytes, Read]:
    from tirax.runtime.safetensors import read_weights, write_weights

    return written(
        lambda path: write_weights(path, {"a": np.ones((2, 3), "float32"), "b": np.ones((4,), "int8")})
    ), read_weights


def gguf() -> tuple[bytes, Read]:
    from tirax.llm.gguf import open_gguf, write_gguf

    metadata = {"general.architecture": "llama", "n": np.ones(3, "int32"), "texts": ("a", "b")}
    return written(lambda path: write_gguf(path, metadata, {"a": np.ones((2, 3), "float32")})), open_gguf


def parameters() -> tuple[bytes, Read]:
    from tirax.runtime.param_dict import load_param_dict_from_file, save_param_dict

    return bytes(
        save_param_dict({"a": np.ones((2, 3), "float32"), "b": np.ones((), "int8")})
    ), load_param_dict_from_file


def executable() -> tuple[bytes, Read]:
    from tirax.driver.build import build
    from tirax.runtime.executable import Executable
    from tirax.script import parse_mlir

    return written(build(parse_mlir(CONSTANTS)).save), Executable.load


def settings() -> tuple[bytes, Read]:
    from tirax.llm.checkpoints.settings import read_object

    return json.dumps({"model_type": "llama", "n": [1, 2.5, None, {"a": "\u00e9"}]}).encode(), read_object


def records() -> tuple[bytes, Read]:
    from tirax.tuning.database import JSONDatabase

    row = [0, [[[["GetBlock", [], ["matmul", "main"], ["b0"]]], []], [0.5], None, [["TENSOR", "float32", [4, 4]]]], "m"]
    module = ["0", "tir.func @main() { tir.evaluate }"]

    def read(path: Path) -> object:
        with tempfile.TemporaryDirectory() as folder:
            workloads = Path(folder, "workloads.json")
            workloads.write_text(json.dumps(module) + "\n")
            return JSONDatabase(workloads, path)

    return json.dumps(row).encode() + b"\n", read


def onnx() -> tuple[bytes, Read]:
    from onnx import TensorProto, helper

    from tirax.frontend.onnx import from_onnx

    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    weights = [helper.make_tensor("w", TensorProto.FLOAT, [4], [1.0, 2.0, 3.0, 4.0])]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return model.SerializeToString(), from_onnx


def pt2() -> tuple[bytes, Read]:
    import torch

    from tirax.frontend.torch.archive import load_exported_program

    sizes = ({0: torch.export.Dim("n", min=2, max=64)},)
    program = torch.export.export(torch.nn.Linear(4, 3), (torch.ones(4, 4),), dynamic_shapes=sizes)
    return written(lambda path: torch.export.save(program, path), "m.pt2"), load_exported_program


def stored_json() -> tuple[bytes, Read]:
    from tirax.handles.module import IRModule
    from tirax.script import parse_mlir
    from tirax.tvm_api.handles.relax_utils import load_json, save_json

    text = save_json(IRModule(parse_mlir(CONSTANTS)))
    return text.encode(), lambda path: load_json(text_of(path))


def mlir() -> tuple[bytes, Read]:
    from tirax.script import parse_mlir

    return CONSTANT.encode(), lambda path: parse_mlir(text_of(path))


def metadata() -> tuple[bytes, Read]:
    from tirax.script.metadata import decode_metadata

    row = {"dtype": "float32", "shape": [2], "data": "AAAAAAAAAAA="}
    text = json.dumps(
        {"format": "tirax.metadata", "version": 1, "relax.expr.Constant": [row], "runtime.String": ["YQ=="]}
    )
    return text.encode(), lambda path: decode_metadata(text_of(path))


def array() -> tuple[bytes, Read]:
    from tirax.tools.arguments import load_array

    return written(lambda path: np.save(path, np.ones((2, 3), "float32")), "file.npy"), lambda path: load_array(
        str(path)
    )


def archive() -> tuple[bytes, Read]:
    from tirax.transforms.params.bind_params import BindParams

    data = written(lambda path: np.savez(path, a=np.ones((2, 3), "float32"), b=np.ones(4, "int8")), "file.npz")
    return data, lambda path: BindParams("main", file=str(path)).arrays()


def measurements() -> tuple[bytes, Read]:
    from tirax.tuning.cost_model import BoostingModel
    from tirax.tuning.features import feature_count

    arrays = hostile_arrays.measured(feature_count())
    return written(lambda path: np.savez(path, **arrays), "file.npz"), lambda path: BoostingModel().load(path)


def state() -> tuple[bytes, Read]:
    from tirax.tuning.cost_model import RandomModel

    return written(RandomModel(seed=0).save), lambda path: RandomModel().load(path)


def database() -> tuple[bytes, Read]:
    from tirax.tuning.database import SQLiteDatabase

    def read(path: Path) -> None:
        with closing(SQLiteDatabase(path)) as opened:
            for record in opened.get_all_tuning_records():
                opened.get_top_k(record.workload, 1)

    def write(path: Path) -> None:
        with closing(SQLiteDatabase(path)):
            pass
        with closing(sqlite3.connect(path)) as db:
            for statement in ("pragma journal_mode = delete", *hostile_databases.FILLED):
                db.execute(statement)
            db.commit()

    return written(write), read


def tokenizer() -> tuple[bytes, Read]:
    from tirax.llm.tokenizers.huggingface import huggingface_tokenizer

    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]], "unk_token": "a"}
    added = {"id": 3, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    parts = {"normalizer": {"type": "NFC"}, "pre_tokenizer": level, "decoder": level, "post_processor": None}
    text = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [{**added, "special": True}]}

    def read(path: Path) -> object:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "tokenizer.json").symlink_to(path)
            tokenizer = huggingface_tokenizer(folder)
            return tokenizer.decode(tokenizer.encode("ab <s> b", special=True))

    return json.dumps({**text, **parts, "model": model}).encode(), read


def template() -> tuple[bytes, Read]:
    from tirax.llm.chat.sandbox import rendered

    text = "{% for m in messages %}<{{ m['role'] | upper }}>{{ m.content[:4 * 2] + '\\n' }}{% endfor %}{{ 'x' * 3 }}"
    return text.encode(), lambda path: rendered(text_of(path), {"messages": [{"role": "user", "content": "a" * 99}]})


CONSTANTS = """relax.func @main() -> !relax.tensor<[2], f32> {
  %1 = relax.constant <f32 [2] [1.0, 2.0]>
  relax.return %1 : !relax.tensor<[2], f32>
}
"""
CONSTANT = """func.func @main() -> tensor<2xf32> {
  %0 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = relax.constant <f32 [2] [1.0, 2.0]>
  func.return %0 : tensor<2xf32>
}
"""
READERS = {
    f.__name__: f
    for f in (
        safetensors,
        gguf,
        parameters,
        executable,
        settings,
        records,
        onnx,
        pt2,
        stored_json,
        mlir,
        metadata,
        array,
        archive,
        measurements,
        state,
        database,
        tokenizer,
        template,
    )
}
TEXTS = ("stored_json", "mlir", "metadata", "template", "tokenizer")
"""What takes a text, or a folder, and opens no file by its path."""


def written(write: Callable[[Path], object], name: str = "file") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, name))
        return Path(folder, name).read_bytes()


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


# Rows: a name, and the file.


def paths(folder: Path) -> Iterator[tuple[str, Path]]:
    """What is no regular file."""
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "nowhere").symlink_to(folder / "none")
    (folder / "directory").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "to_pipe").symlink_to(folder / "pipe")
    names = [
        "loop",
        "nowhere",
        "directory",
        "pipe",
        "to_pipe",
        "none",
        "a\0b",
        "\ud800",
        "x" * 300,
        "x" * 5000,
        "x/" * 5000,
    ]
    yield from ((f"path {name[:9]!r}", folder / name) for name in names)
    yield from ((f"path {name!r}", Path(name)) for name in ("/dev/zero", "/dev/stdin", "/", "/proc/self/mem"))


def contents(data: bytes, flips: int) -> Iterator[tuple[str, bytes]]:
    """A valid file cut off at every byte, with something behind it, and with bytes that are others."""
    step = max(1, len(data) // max(flips // 2, 40))
    yield from ((f"cut at {size}", data[:size]) for size in range(0, len(data), step))
    yield from ((f"behind it {more[:4]!r}", data + more) for more in (b"\0", b"garbage", bytes(4096), data))
    yield from (
        (f"alone {alone[:4]!r}", alone)
        for alone in (b"\0" * 64, b"\xff" * 4096, b"{" * 100_000, b"[" * 100_000, b"null")
    )
    rng = random.Random(0)
    for i in range(flips):
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            place = rng.randrange(len(changed))
            changed[place] = rng.choice((changed[place] ^ 1 << rng.randrange(8), 0, 255, 127, 128))
        yield f"flip {i}", bytes(changed)


def leaves(value: object, place: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The places of a JSON value."""
    yield place
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from leaves(inner, (*place, key))


def replaced(value: object, place: tuple[object, ...], new: object) -> object:
    if not place:
        return new
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = new
    return copy


def with_values(text: str, most: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    """A JSON text with every value at every place, and with keys that come twice."""
    value = json.loads(text)
    rows = [(place, new) for place in leaves(value) for new in VALUES]
    for place, new in rows if len(rows) <= most else rng.sample(rows, most):
        yield (
            f"{place} = {str(new)[:40] if not isinstance(new, int) else new.bit_length()}",
            json.dumps(replaced(value, place, new)),
        )
    for place in leaves(value):
        inner = value
        for key in place:
            inner = inner[key]
        if isinstance(inner, dict) and inner:
            full = json.dumps(replaced(value, place, "HERE"))
            twice = json.dumps(inner)[:-1] + ", " + json.dumps(inner)[1:]
            yield f"{place} twice", full.replace('"HERE"', twice)


def described(name: str, data: bytes, most: int) -> Iterator[tuple[str, bytes]]:
    """Files with other contents."""
    rng = random.Random(1)
    if name in DESCRIBED:
        yield from DESCRIBED[name](data, most, rng)
    elif name in ("settings", "records", "stored_json", "metadata", "state", "tokenizer"):
        yield from ((row, text.encode() + b"\n") for row, text in with_values(data.decode(), most, rng))


def _safetensors(data: bytes, most: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    (size,) = struct.unpack("<Q", data[:8])
    for row, text in with_values(data[8 : 8 + size].decode(), most, rng):
        yield row, struct.pack("<Q", len(text)) + text.encode() + data[8 + size :]


def _executables(data: bytes, most: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Executables whose header says other things, with a checksum that is right."""
    (size,) = struct.unpack_from("<I", data, 12)
    blobs = data[64 + -(-size // 64) * 64 :]
    for row, text in with_values(data[64 : 64 + size].decode(), most, rng):
        header = text.encode()
        body = header + bytes(-len(header) % 64) + blobs
        prefix = struct.pack("<8sIIQ8x", data[:8], 1, len(header), 64 + len(body))
        yield row, prefix + hashlib.sha256(prefix + body).digest() + body


TEMPLATES = [
    "{{ 'x' * 10**9 }}", "{{ 10**10**10 }}", "{% for i in range(10**9) %}{% endfor %}", "{{ messages.__class__ }}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{{ lipsum() }}", "{{ cycler }}", "{{ ''.join(messages) }}",
    "{% set x = 'a' %}" + "{% set x = x + x %}" * 60 + "{{ x }}", "{{ " + "(" * 5000, "{{ " + "-" * 5000 + "1 }}",
    "{% if 1 %}" * 3000, "{% for a in messages %}" * 30 + "x" + "{% endfor %}" * 30, "{{ '%s' % messages }}",
    "{{ '{:>999999999}'.format(1) }}", "{{ 'a' | center(10**9) }}", "{{ 'a' | indent(10**9) }}", "\ud800", "\0",
    "{% include '/etc/passwd' %}", "{{ messages | tojson(indent=10**9) }}", "{{ [1] * 10**10 }}", "{{ x.y.z }}",
    "{{ raise_exception('x' * 9999) }}", "{{ strftime_now('%' * 9999) }}", "{% set ns = namespace(a=[]) %}{{ ns.a }}",
    "{{ range(10**9) | list }}", "{{ 1 / 0 }}", "{{ 'a' ~ 10**5000 }}", "{% generation %}{% endgeneration %}",
]  # fmt: skip

PLACES = ["-1", "1.5", "nan", "", "9" * 5000, "1_0", str(2**63), str(2**64), "٣", "0x10", " 4"]
SIZES = [
    *("2**999**999", "1<<9999999999", "'a'*9999999999", "(" * 5000, "9" * 5000, "n*" * 5000 + "n", "\0", "x" * 5000),
    *("a+b", "2*n", "-1", "n//0", "lambda: n"),
]


def _models(data: bytes) -> Iterator[tuple[str, Any]]:
    """Models of ONNX whose fields say what they must not."""
    from onnx import ModelProto

    for row, change in (*_shapes(), *_external_places(), *_types()):
        model = ModelProto.FromString(data)
        change(model.graph)
        yield row, model
    for width in (2, 3, 50):
        yield f"functions {width}", _doubling(ModelProto.FromString(data), width)


Change = Callable[[Any], object]


def _external(weight: Any, **fields: str) -> None:
    weight.ClearField("float_data")
    weight.data_location = 1
    for key, value in {"location": "file", **fields}.items():
        weight.external_data.add(key=key, value=value)


def _shapes() -> Iterator[tuple[str, Change]]:
    from onnx import TensorProto, helper

    def constant(graph: Any, weight: Any) -> None:
        graph.node.insert(0, helper.make_node("Constant", [], ["c"], value=weight))
        graph.node[1].input[1] = "c"

    for shape in (s for s in SHAPES if all(-(2**63) <= n < 2**63 for n in s)):
        raw = TensorProto(name="w", data_type=1, dims=shape, raw_data=bytes(16))
        outside = TensorProto(name="w", data_type=1, dims=shape)
        _external(outside)
        for weight in (raw, outside):
            yield f"weight {shape}", lambda g, w=weight: g.initializer[0].CopyFrom(w)
            yield f"constant {shape}", lambda g, w=weight: constant(g, w)
        sparse = helper.make_sparse_tensor(raw, helper.make_tensor("i", TensorProto.INT64, [1], [2**40]), [4])
        sparse.dims[:] = shape
        yield f"sparse {shape}", lambda g, s=sparse: g.sparse_initializer.add().CopyFrom(s)
        kind = helper.make_tensor_value_info("x", 1, shape)
        yield f"input {shape}", lambda g, k=kind: g.input[0].CopyFrom(k)


def _external_places() -> Iterator[tuple[str, Change]]:
    for location in PATHS:
        yield f"location {location[:9]!r}", lambda g, at=location: _external(g.initializer[0], location=at)
    for text in PLACES:
        for key in ("offset", "length"):
            yield f"{key} {text[:9]}", lambda g, k=key, t=text: _external(g.initializer[0], **{k: t})


def _types() -> Iterator[tuple[str, Change]]:
    from onnx import helper

    for text in SIZES:
        size = helper.make_tensor_value_info("x", 1, [text, 4])
        yield f"size {text[:9]!r}", lambda g, k=size: g.input[0].CopyFrom(k)
    for kind in (
        helper.make_map_type_proto(7, helper.make_tensor_type_proto(1, [2])),
        helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [2])),
        helper.make_sparse_tensor_type_proto(1, [2]),
    ):
        yield "type", lambda g, k=kind: g.input[0].type.CopyFrom(k)


def _doubling(model: Any, width: int) -> Any:
    """Functions that call the one before so many times."""
    from onnx import helper

    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("l", 1)]

    def function(i: int, nodes: list[Any]) -> Any:
        return helper.make_function("l", f"f{i}", ["x"], ["y"], nodes, opsets)

    def calls(i: int) -> list[Any]:
        names = ["x", *(f"t{k}" for k in range(width - 1)), "y"]
        return [helper.make_node(f"f{i}", [a], [b], domain="l") for a, b in pairwise(names)]

    model.functions.append(function(0, [helper.make_node("Relu", ["x"], ["y"])]))
    model.functions.extend(function(i + 1, calls(i)) for i in range(30))
    model.opset_import.append(opsets[1])
    model.graph.node[0].CopyFrom(helper.make_node("f30", ["x"], ["y"], domain="l"))
    return model


def _archives(data: bytes, most: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    old = zipfile.ZipFile(io.BytesIO(data))
    files = {info.filename: old.read(info) for info in old.infolist()}
    for file in (f for f in files if f.endswith(".json")):
        for row, text in with_values(files[file].decode(), most // 3, rng):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
                for each, content in files.items():
                    new.writestr(each, text if each == file else content)
            yield f"{file} {row}", out.getvalue()


DESCRIBED: dict[str, Callable[[bytes, int, random.Random], Iterator[tuple[str, bytes]]]] = {
    "safetensors": _safetensors,
    "executable": _executables,
    "pt2": _archives,
    "array": lambda data, most, rng: hostile_arrays.arrays(),
    "archive": lambda data, most, rng: hostile_arrays.archives(),
    "measurements": lambda data, most, rng: hostile_arrays.archives(),
    "database": lambda data, most, rng: hostile_databases.databases(data),
    "template": lambda data, most, rng: (
        (f"template {t[:40]!r}", t.encode("utf-8", "surrogatepass")) for t in TEMPLATES
    ),
    "onnx": lambda data, most, rng: ((row, model.SerializeToString()) for row, model in _models(data)),
}
"""Files of a reader that are no valid ones, beyond those with other values of JSON."""


def main(name: str, flips: int) -> None:
    signal.signal(signal.SIGXCPU, _over_time)
    data, read = READERS[name]()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        path = folder / ("file.pt2" if name == "pt2" else "file")
        path.write_bytes(data)
        special = list(paths(folder)) if name not in TEXTS else []
        read(path)
        limit_memory()
        count = 0
        for row, content in chain(contents(data, flips), described(name, data, flips)):
            path.unlink(missing_ok=True)
            path.write_bytes(content)
            count += 1
            problem = outcome(read, path)
            if problem is not None:
                print(row, problem, flush=True)
        for row, wrong in special:
            count += 1
            problem = outcome(read, wrong)
            if problem is not None:
                print(row, problem, flush=True)
    print(count)


def _over_time(*_: object) -> None:
    raise OverTime


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
