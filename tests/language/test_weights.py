"""Weights that no kernel computes with are all named before anything is computed."""

import ml_dtypes
import numpy as np
import pytest
from tiny_language_models import TINY

from tirax.diagnostics import UnsupportedError
from tirax.frontend.language import Weight
from tirax.frontend.nn.llm.decoder import Formats
from tirax.language.weights import formats_of, prepared
from tirax.target import Target


def test_all_weights_of_other_formats_are_named():
    weights = {f"layers.{i}.mlp.up.weight": Weight((2, 32), "q5_0", np.zeros((2, 22), "uint8")) for i in range(25)}
    weights["layers.25.mlp.up.weight"] = Weight((2, 32), "q4_0", np.zeros((2, 18), "uint8"))
    with pytest.raises(UnsupportedError, match="weights of other formats") as error:
        prepared(TINY, weights, Formats())
    assert error.value.notes[0] == "'layers.0.mlp.up.weight' is stored as q5_0"
    assert len(error.value.notes) == 21 and error.value.notes[-1] == "and 5 more"


def test_matrices_of_halves_stay_what_they_are():
    half = np.arange(64, dtype="float16").reshape(2, 32)
    weights = {
        "output.weight": Weight((2, 32), "f16", half),
        "embedding.weight": Weight((2, 32), "bf16", half.astype(ml_dtypes.bfloat16)),
        "norm.weight": Weight((32,), "f16", half[0]),
    }
    formats = formats_of(weights, "float32", Target.host())
    ready = prepared(TINY, weights, formats)
    assert {name: str(data.dtype) for name, data in ready.items()} == {
        "output.weight": "float16", "embedding.weight": "bfloat16", "norm.weight": "float32",
    }  # fmt: skip
    for name, data in ready.items():
        np.testing.assert_array_equal(data.astype("float32"), weights[name].data.astype("float32"))
    assert {str(data.dtype) for data in prepared(TINY, weights, Formats()).values()} == {"float32"}
