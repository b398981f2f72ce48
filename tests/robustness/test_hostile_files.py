"""Every reader of files gets the same absurd values, paths and damages: it refuses them in little time and memory.

`hostile_files.py` has the rows, and limits its process.
"""

import subprocess
import sys

import hostile_files
import numpy as np
import pytest
from strength import is_full, only_full, thinned

from tirax.runtime.safetensors import read_weights, write_weights

FLIPS, QUICK = 1000, 100


def findings(reader: str) -> list[str]:
    """What was neither read nor refused; fails where no row was tried."""
    command = [sys.executable, hostile_files.__file__, reader, str(FLIPS if is_full() else QUICK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    *actual, rows = done.stdout.splitlines()
    assert int(rows) > 100
    return actual


ALIKE = {"state", "measurements"}
"""What reads as others do: JSON, an archive of arrays."""
WITH_PACKAGES = {"onnx", "pt2", "tokenizer", "template"}


@pytest.mark.thinned
@thinned("reader", sorted(set(hostile_files.READERS) - WITH_PACKAGES - ALIKE), 5)
def test_what_files_say_is_refused(reader):
    assert findings(reader) == []


@only_full
@pytest.mark.parametrize("reader", sorted(ALIKE))
def test_what_files_of_cost_models_say_is_refused(reader):
    assert findings(reader) == []


@pytest.mark.thinned
def test_what_models_of_onnx_say_is_refused():
    pytest.importorskip("onnx")
    assert findings("onnx") == []


@pytest.mark.thinned
def test_what_exported_programs_say_is_refused(torch):
    assert findings("pt2") == []


@pytest.mark.thinned
def test_what_tokenizers_say_is_refused(tokenizers):
    assert findings("tokenizer") == []


@only_full
def test_what_templates_say_is_refused():
    pytest.importorskip("jinja2")
    assert findings("template") == []


SHAPES = [(), (0,), (0, 2**40), (3, 0, 2), (1,) * 64]


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_odd_and_legal_is_read(tmp_path, shape):
    path = tmp_path / "odd.safetensors"
    write_weights(path, {"x": np.zeros(shape, "int8"), "y": np.ones(3, "int8")})
    assert read_weights(path)["x"].shape == shape


def test_a_large_file_is_mapped_and_not_read(tmp_path):
    path = tmp_path / "large.safetensors"
    count = 1 << 33
    header = b'{"__metadata__": {"any": "text"}, "x": {"dtype": "I8", "shape": [%d], "data_offsets": [0, %d]}}'
    text = header % (count, count)
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    with path.open("r+b") as file:
        file.truncate(8 + len(text) + count)
    assert read_weights(path)["x"][-1] == 0
