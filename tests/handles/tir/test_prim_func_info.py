"""What a caller knows of a tensor function."""

import pytest

import tirax.tvm_api as tvm
from tirax.handles.relax.names import FuncStructInfo, PrimStructInfo, TensorStructInfo, TupleStructInfo
from tirax.tvm_api.script import tir as T


@T.prim_func
def product(m: T.int32, n: T.int32) -> T.int32:
    T.ret(m * n)


@T.prim_func
def total(A: T.Buffer((16,), "float32")) -> T.float32:
    S = T.decl_buffer((), "float32")
    S[()] = 0.0
    for i in range(16):
        S[()] = S[()] + A[i]
    T.ret(S[()])


@T.prim_func
def copy(a: T.handle, B: T.Buffer((16,), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(16):
        B[i] = A[i]


INT, VECTOR = PrimStructInfo("int32"), TensorStructInfo((16,), "float32")


@pytest.mark.parametrize(
    ("func", "info"),
    [
        (product, FuncStructInfo([INT, INT], INT, purity=True)),
        (total, FuncStructInfo([VECTOR], PrimStructInfo("float32"), purity=True)),
        (copy, FuncStructInfo([TensorStructInfo(("n",), "float32"), VECTOR], TupleStructInfo(), purity=False)),
    ],
)
def test_struct_info(func, info):
    assert func.struct_info == info
    assert func.__name__ == func.name


def test_the_python_name_is_that_of_the_decorated_function():
    @T.prim_func
    def here(A: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "there"})
        A[0] = 1.0

    assert here.__name__ == "here"
    assert not hasattr(tvm.IRModule({"main": here})["main"], "__name__")
