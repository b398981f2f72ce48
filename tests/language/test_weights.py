"""Weights that no kernel computes with are all named before anything is computed."""

import numpy as np
import pytest
from tiny_language_models import TINY

from tirax.diagnostics import UnsupportedError
from tirax.frontend.language import Weight
from tirax.frontend.nn.llm.decoder import Formats
from tirax.language.weights import prepared


def test_all_weights_of_other_formats_are_named():
    weights = {f"layers.{i}.mlp.up.weight": Weight((2, 32), "q5_0", np.zeros((2, 22), "uint8")) for i in range(25)}
    weights["layers.25.mlp.up.weight"] = Weight((2, 32), "q4_0", np.zeros((2, 18), "uint8"))
    with pytest.raises(UnsupportedError, match="weights of other formats") as error:
        prepared(TINY, weights, Formats())
    assert error.value.notes[0] == "'layers.0.mlp.up.weight' is stored as q5_0"
    assert len(error.value.notes) == 21 and error.value.notes[-1] == "and 5 more"
