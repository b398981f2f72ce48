"""Tensor functions that return a number, called directly."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source

NUMBERS = {
    "int8": (100, 100, -56),
    "uint8": (200, 100, 44),
    "int16": (1, 2, 3),
    "int32": (2**31 - 1, 1, -(2**31)),
    "uint32": (2**32 - 1, 2, 1),
    "int64": (2**40, 1, 2**40 + 1),
    "uint64": (2**63, 5, 2**63 + 5),
    "float32": (1.5, 2.0, 3.5),
    "float64": (1.5, 1e300, 1e300),
    "bool": (True, False, True),
}


@pytest.mark.parametrize("dtype", NUMBERS)
def test_the_result_is_a_number_of_python(dtype):
    a, b, expected = NUMBERS[dtype]
    value = "T.bitwise_or(a, b)" if dtype == "bool" else "a + b"
    func = from_source(f"@T.prim_func\ndef f(a: T.{dtype}, b: T.{dtype}) -> T.{dtype}:\n    return {value}\n")
    found = tvm.compile(func, target="llvm")(a, b)
    assert found == expected and type(found) is type(expected)


def test_a_result_beside_buffers():
    func = from_source(
        """
@T.prim_func
def f(a: T.handle, n: T.int32) -> T.int32:
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        with T.block("A"):
            vi = T.axis.spatial(n, i)
            A[vi] = A[vi] + T.float32(1)
    return n * 2
"""
    )
    data = tvm.nd.array(np.zeros(3, "float32"))
    assert tvm.compile(func, target="llvm")(data, 3) == 6
    np.testing.assert_array_equal(data.numpy(), np.ones(3))


def test_functions_built_of_nodes_return():
    x = tir.Var("x", "float32")
    func = tir.PrimFunc([x], tir.Evaluate(tir.ret(x * x))).with_attr("global_symbol", "main")
    assert func.ret_type == "float32" and tvm.compile(tvm.IRModule({"main": func}))(3.0) == 9.0
