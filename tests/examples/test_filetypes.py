"""The pieces of the example that classifies files, without its model."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).resolve().parents[2] / "examples" / "filetypes" / "classify.py"
spec = importlib.util.spec_from_file_location("classify", PATH)
assert spec is not None and spec.loader is not None
classify = importlib.util.module_from_spec(spec)
sys.modules["classify"] = classify
spec.loader.exec_module(classify)

SETTINGS = classify.Settings(4, 3, 10, 256, 2, ("zeros", "text"))


def test_settings_are_read(tmp_path):
    values = {
        "beg_size": 4, "end_size": 3, "block_size": 10, "padding_token": 256, "min_file_size_for_dl": 2,
        "target_labels_space": ["zeros", "text"], "mid_size": 0,
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values))
    settings = classify.Settings.read(path)
    assert settings == classify.Settings(4, 3, 10, 256, 2, ["zeros", "text"])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"  abcdefgh\n", b"abcdfgh"),
        (b"ab", [97, 98, 256, 256, 256, 97, 98]),
        (b"   ", [256] * 7),
        (b"", [256] * 7),
        (b" " * 10 + b"abc", [256, 256, 256, 256, 97, 98, 99]),  # the first block is white space
    ],
)
def test_both_ends_of_a_file(content, expected):
    np.testing.assert_array_equal(classify.features(content, SETTINGS), list(expected))


def test_files_in_batches(tmp_path):
    for i in range(20):
        (tmp_path / f"{i:02}").write_bytes(b"\0" * 9 if i % 2 else b"text text")
    (tmp_path / "99").write_bytes(b"a")
    sizes = []

    def model(rows):
        sizes.append(len(rows))
        zeros = (rows[:, :1] == 0).astype(np.float32)
        return np.concatenate([zeros, 1 - zeros], axis=1)

    results = classify.classified(sorted(tmp_path.iterdir()), SETTINGS, model)
    assert sizes == [16, 4]
    assert [label for _, label, _ in results] == ["text", "zeros"] * 10 + ["tiny"]


def test_files_of_a_folder(tmp_path):
    (tmp_path / "build").mkdir()
    for name in ("a", "b", "build/c"):
        (tmp_path / name).write_text("x")
    (tmp_path / "empty").touch()
    assert classify.own_files(tmp_path) == [tmp_path / "a", tmp_path / "b"]
