"""Files that come back as they were written, and files that lie: each is refused by a diagnostic."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tirax.llm.gguf import FORMATS, GgufError, GgufTensor, open_gguf, write_gguf
from tirax.llm.gguf import cursor as limits

METADATA: dict[str, Any] = {
    "general.architecture": "llama",
    "text": "grüße 🙂",
    "empty": "",
    "yes": True,
    "small": 7,
    "negative": -3,
    "large": 1 << 40,
    "deep": -(1 << 40),
    "epsilon": 0.5,
    "byte": np.uint8(200),
    "exact": np.float64(0.1),
    "texts": ("a", "", "ß"),
    "scores": np.array([0.5, -1.25], "float32"),
    "kinds": np.array([1, 3, 6], "int32"),
    "flags": np.array([True, False]),
    "none": np.zeros(0, "uint64"),
}


def blocks(name: str, *shape: int) -> GgufTensor:
    """A tensor of bytes that count up."""
    row = FORMATS[name].row_bytes(shape[-1])
    size = int(np.prod(shape[:-1])) * row
    return GgufTensor("", shape, name, (np.arange(size) % 251).astype("uint8").reshape(*shape[:-1], row))


def tensors() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "a.weight": rng.standard_normal((3, 5)).astype("float32"),
        "half": rng.standard_normal((2, 3, 4)).astype("float16"),
        "brain": rng.standard_normal(7).astype(ml_dtypes.bfloat16),
        "bytes": np.arange(5, dtype="int8"),
        "nothing": np.zeros((0, 4), "float32"),
        "scalar": np.float64(2.5).reshape(()),
        "blocks": blocks("q4_0", 3, 64),
        "large blocks": blocks("q6_k", 2, 2, 256),
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "m.gguf"
    write_gguf(file, METADATA, tensors())
    return file


def test_what_was_written_comes_back(path: Path) -> None:
    file = open_gguf(path)
    assert file.version == 3 and file.architecture == "llama"
    assert file.metadata.keys() == METADATA.keys()
    for key, value in METADATA.items():
        np.testing.assert_array_equal(file.metadata[key], value, strict=isinstance(value, np.ndarray))
    assert file.tensors.keys() == tensors().keys()
    for name, expected in tensors().items():
        tensor = file.tensors[name]
        stored = expected.data if isinstance(expected, GgufTensor) else expected
        assert tensor.shape == expected.shape and not tensor.data.flags.writeable
        np.testing.assert_array_equal(tensor.data, stored, strict=True)
    assert file.tensors["large blocks"].format == "q6_k" and file.tensors["large blocks"].data.shape == (2, 2, 210)


def test_nothing_is_copied(path: Path) -> None:
    data = open_gguf(path).tensors["a.weight"].data
    while isinstance(data, np.ndarray):
        data = data.base  # type: ignore[assignment]
    assert isinstance(data, memoryview) and data.nbytes > 0


def test_the_package_of_that_name_reads_and_writes_the_same(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("gguf.gguf_reader", reason="gguf is not installed")
    import gguf

    reader = gguf.GGUFReader(path)
    for tensor in reader.tensors:
        expected = open_gguf(path).tensors[tensor.name]
        assert tensor.data.tobytes() == expected.data.tobytes() and tuple(tensor.shape)[::-1] == expected.shape
    assert reader.fields["texts"].contents() == list(METADATA["texts"])
    sizes = {t.name.lower(): (t.value, *gguf.GGML_QUANT_SIZES[t]) for t in gguf.GGMLQuantizationType}
    assert all(sizes[n] == (f.code, f.elements, f.size) for n, f in FORMATS.items() if n in sizes and n != "q8_1")
    other = tmp_path / "other.gguf"
    writer = gguf.GGUFWriter(other, "llama")
    writer.add_array("texts", ["a", "ß"])
    writer.add_tensor("x", np.eye(4, dtype="float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert open_gguf(other).metadata["texts"] == ("a", "ß")
    np.testing.assert_array_equal(open_gguf(other).tensors["x"].data, np.eye(4))


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def tensor(name: str = "x", dims: tuple[int, ...] = (4,), code: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, code, offset)


def entry(key: str, code: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", code) + value


def file_of(
    entries: Sequence[bytes] = (), rows: Sequence[bytes] = (), data: bytes = bytes(64), version: int = 3, **counts: int
) -> bytes:
    """A file whose head may count more than there is (`tensors`, `keys`)."""
    head = b"GGUF" + struct.pack("<IQQ", version, counts.get("tensors", len(rows)), counts.get("keys", len(entries)))
    head += b"".join(entries) + b"".join(rows)
    return head + bytes(-len(head) % 32) + data


HUGE = (1 << 64) - 1
LIES = [
    (b"", "not a GGUF file"),
    (b"GGML" + bytes(40), "not a GGUF file"),
    (file_of(version=1), "has a version that is not read"),
    (file_of(version=3 << 24), "big endian"),
    (file_of(tensors=HUGE), "number of tensors is 18446744073709551615, more than"),
    (file_of(keys=1 << 40), "number of entries of metadata"),
    (file_of([text("k" * 70_000) + bytes(5)]), "a text that is too long: a key"),
    (file_of([entry("k", 8, struct.pack("<Q", HUGE))]), "a text that is too long: 'k'"),
    (file_of([entry("k", 8, struct.pack("<Q", 1 << 20))]), "'k' does not fit"),
    (file_of([entry("k", 8, text(b"\xff\xfe"))]), "'k' is not UTF-8 text"),
    (file_of([entry("k", 9, struct.pack("<IQ", 8, 2) + text(b"\xc3") + text(b"\x9f"))]), "of 'k' is not UTF-8 text"),
    (file_of([entry("k", 13, bytes(8))]), "of an unknown kind"),
    (file_of([entry("k", 7, b"\2")]), "'k' is no bool"),
    (file_of([entry("k", 9, struct.pack("<IQ", 7, 2) + b"\1\3")]), "an element of 'k' is no bool"),
    (file_of([entry("k", 9, struct.pack("<IQ", 9, 1))]), "an array of arrays"),
    (file_of([entry("k", 9, struct.pack("<IQ", 8, 1 << 60))]), "the length of 'k' is"),
    (file_of([entry("k", 9, struct.pack("<IQ", 6, 1 << 62))]), "the length of 'k' is"),
    (file_of([entry("k", 4, bytes(4)), entry("k", 4, bytes(4))]), "has a key twice: 'k'"),
    (file_of([entry("general.alignment", 4, struct.pack("<I", 0))]), "wrong general.alignment"),
    (file_of([entry("general.alignment", 4, struct.pack("<I", 48))]), "wrong general.alignment"),
    (file_of([entry("general.alignment", 8, text("32"))]), "wrong general.alignment"),
    (file_of(rows=[tensor(), tensor(offset=32)]), "has a tensor twice"),
    (file_of(rows=[tensor(dims=(1,) * 5)]), "too many dimensions"),
    (file_of(rows=[tensor(code=4)]), "unknown format"),
    (file_of(rows=[tensor(code=1000)]), "unknown format"),
    (file_of(rows=[tensor(dims=(33,), code=2)]), "rows are no whole blocks"),
    (file_of(rows=[tensor(dims=(), code=2)]), "rows are no whole blocks"),
    (file_of(rows=[tensor(dims=(1 << 40, 1 << 40))]), "too large"),
    (file_of(rows=[tensor(dims=(17,))]), "'x' needs the bytes 0 … 68 of 64"),
    (file_of(rows=[tensor(offset=HUGE - 31)]), "'x' needs the bytes"),
    (file_of(rows=[tensor(offset=16)]), "begins at 16, no multiple of 32"),
    (file_of(rows=[tensor("a", (12,)), tensor("b", (4,), offset=32)]), "'b' begins at 32, before 'a' ends at 48"),
    (file_of(rows=[tensor()], data=b""), "'x' needs the bytes 0 … 16 of 0"),
]  # fmt: skip


@pytest.mark.parametrize("data, message", LIES, ids=[message for _, message in LIES])
def test_files_that_lie_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(GgufError) as error:
        open_gguf(path)
    assert message in str(error.value)


def test_all_tensors_that_do_not_lie_in_the_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(file_of(rows=[tensor(f"t{i}", offset=i * 32) for i in range(30)], data=bytes(32)))
    with pytest.raises(GgufError) as error:
        open_gguf(path)
    assert len(error.value.notes) == 21 and error.value.notes[-1] == "and 9 more"


def test_a_file_of_version_2_and_other_alignment_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    alignment = entry("general.alignment", 4, struct.pack("<I", 64))
    head = file_of([alignment], [tensor(offset=64)], b"", version=2)
    path.write_bytes(head + bytes(-len(head) % 64) + bytes(64) + np.arange(4, dtype="f4").tobytes())
    np.testing.assert_array_equal(open_gguf(path).tensors["x"].data, range(4))


def test_a_file_that_ends_anywhere_is_refused(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    cut = tmp_path / "cut.gguf"
    for size in (*range(0, 700, 7), len(data) - 300):
        cut.write_bytes(data[:size])
        with pytest.raises(GgufError):
            open_gguf(cut)


def test_so_many_texts_are_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_STRINGS", 2)
    with pytest.raises(GgufError, match="too many texts: 'texts' has 3"):
        open_gguf(path)
