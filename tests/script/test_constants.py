"""Constants that scripts write by calls of numpy and of TVM."""

import numpy as np
import pytest

from tirax import tvm_api as tvm
from tirax.script.parser.source import ScriptError
from tirax.tvm_api import relax
from tirax.tvm_api.script import relax as R

TABLE = {
    "array": (lambda: np.array([1, 2], "int8"), np.array([1, 2], "int8")),
    "cast": (lambda: np.array([1, 2]).astype("float32"), np.array([1, 2], "float32")),
    "reshape": (lambda: np.arange(4).reshape((2, 2)), np.arange(4).reshape((2, 2))),
    "full": (lambda: np.full((2,), 3, dtype="float16"), np.full((2,), 3, "float16")),
    "limit": (lambda: np.int64(np.iinfo(np.int32).max), np.iinfo(np.int32).max),
    "epsilon": (lambda: np.float32(np.finfo("float32").eps), np.finfo("float32").eps),
}


@pytest.mark.parametrize("name", TABLE)
def test_constants(name):
    make, expected = TABLE[name]

    @R.function
    def f():
        return R.const(make())

    assert np.array_equal(f.body.body.data.numpy(), expected)


def test_only_constructors_of_constants_run():
    with pytest.raises(ScriptError, match="cannot be called in a script"):

        @R.function
        def f():
            return R.const(np.sin(1.0))

    with pytest.raises(ScriptError, match="is no constant"):

        @R.function
        def g(x: R.Tensor):
            return R.const(np.array(x))

    with pytest.raises(ScriptError, match="may not be used in a script"):

        @R.function
        def h():
            return R.const(np.arange(4).tofile("x"))


def test_devices_and_operators():
    @R.function
    def f(x: R.Tensor((2,), "float32")):
        y = R.hint_on_device(x, tvm.cpu())
        z = relax.Call(tvm.ir.Op.get("relax.exp"), [y])
        w = relax.Call(tvm.ir.Op.get("relax.call_dps_packed"), ["test.copy", (z,)], sinfo_args=[x.struct_info])
        return w

    text = f.script()
    assert "R.exp(y)" in text and "R.device(device_type=1" in text
    assert 'R.call_dps_packed("test.copy", (z,), out_sinfo=R.Tensor((2,), dtype="float32"))' in text
