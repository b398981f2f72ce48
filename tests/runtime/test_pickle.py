"""Programs are copied and pickled as their text; native code says how it is saved."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.tvm_api import relax

WEIGHT = np.arange(4, dtype="float32")


@pytest.fixture(scope="module")
def module() -> tvm.IRModule:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(relax.op.exp(x), relax.const(WEIGHT))))
    return builder.get()


def test_modules(module: tvm.IRModule) -> None:
    pickled = pickle.loads(pickle.dumps(module))  # noqa: S301
    for copied in (copy.copy(module), copy.deepcopy(module), pickled):
        assert tvm.ir.structural_equal(copied, module) and copied.script() == module.script()
    changed = copy.deepcopy(module)
    del changed["main"]
    assert "main" in [v.name_hint for v in module.functions]


def test_native_code(module: tvm.IRModule) -> None:
    executable = relax.build(module, "llvm")
    for native in (executable, relax.VirtualMachine(executable, tvm.cpu()), executable.jit()):
        again = copy.copy(native)
        x = np.zeros(4, "float32")
        np.testing.assert_array_equal(again["main"](tvm.nd.array(x)).numpy(), WEIGHT + 1)
        for attempt in (copy.deepcopy, pickle.dumps):
            with pytest.raises(UnsupportedError, match=r"neither pickled nor copied deeply.*\n.*export_library"):
                attempt(native)
