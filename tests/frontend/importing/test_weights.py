"""Weights bound by name."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.frontend.importing.errors import InputError
from tirax.frontend.importing.weights import bind_weights
from tirax.runtime.safetensors import write_weights
from tirax.tvm_api.script import from_source

SOURCE = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((2, 3), "float32"),
        p_fc_weight: R.Tensor((3,), "float32"),
        b_fc_bias: R.Tensor((3,), "float32"),
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv = R.multiply(x, p_fc_weight)
            gv = R.add(lv, b_fc_bias)
            R.output(gv)
        return gv
"""
WEIGHTS = {"fc.weight": np.full(3, 2.0, "float32"), "fc.bias": np.arange(3, dtype="float32")}


@pytest.fixture
def mod():
    return from_source(SOURCE)


def test_arrays_by_the_names_of_the_model(mod) -> None:
    bound = bind_weights(mod, WEIGHTS)
    assert [p.name_hint for p in bound["main"].params] == ["x"]
    assert len(mod["main"].params) == 3
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(build(bound).jit()["main"](x), x * 2 + np.arange(3))


def test_a_file_is_mapped(mod, tmp_path) -> None:
    write_weights(tmp_path / "w.safetensors", WEIGHTS)
    bound = bind_weights(mod, tmp_path / "w.safetensors")
    np.testing.assert_array_equal(build(bound).jit()["main"](np.zeros((1, 3), "float32").repeat(2, 0))[0], np.arange(3))


def test_all_that_does_not_fit_is_reported(mod) -> None:
    with pytest.raises(InputError) as caught:
        bind_weights(mod, {"fc.weight": np.zeros(4, "float32"), "other": np.zeros(3)})
    assert caught.value.notes == (
        "weight 'other' belongs to no parameter",
        "parameter 'b_fc_bias' has no weight",
        "parameter 'p_fc_weight' is float32 [3], its weight float32 [4]",
    )
