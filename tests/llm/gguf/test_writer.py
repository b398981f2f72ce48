"""What has no form in a file is refused before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tirax.llm.gguf import GgufError, GgufTensor, write_gguf

REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"general.alignment": 64}, {}, "the writer's own"),
    ({"k": None}, {}, "'k' has a value without a form"),
    ({"k": 1 << 64}, {}, "'k' has a value without a form"),
    ({"k": [1, 2]}, {}, "a sequence of what are no texts"),
    ({"k": np.zeros(3, "complex64")}, {}, "'k' has a dtype without a form"),
    ({"k": np.zeros((2, 2), "float32")}, {}, "'k' has more than one dimension"),
    ({}, {"x": np.zeros(3, "uint8")}, "tensor 'x' has a dtype without a form"),
    ({}, {"x": np.zeros((1,) * 5, "float32")}, "tensor 'x' has too many dimensions"),
    ({}, {"x": GgufTensor("x", (2, 32), "q4_0", np.zeros((2, 17), "uint8"))}, "does not fill its shape"),
    ({}, {"x": GgufTensor("x", (33,), "q4_0", np.zeros(18, "uint8"))}, "does not fill its shape"),
    ({}, {"x": GgufTensor("x", (32,), "q9", np.zeros(18, "uint8"))}, "unknown format of tensors 'q9'"),
]


@pytest.mark.parametrize("metadata, tensors, message", REFUSED, ids=[row[2] for row in REFUSED])
def test_what_has_no_form(tmp_path: Path, metadata: Any, tensors: Any, message: str) -> None:
    with pytest.raises((GgufError, KeyError)) as error:
        write_gguf(tmp_path / "m.gguf", metadata, tensors)
    assert message in str(error.value) and not list(tmp_path.iterdir())
