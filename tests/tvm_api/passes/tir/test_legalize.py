"""Narrow types: computed in wider ones, stored as integers; functions put where they are called."""

import ml_dtypes
import numpy as np
import pytest

from tirax.diagnostics import UnsupportedError
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.passes.transform import Sequential
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import transform as T

HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"


def module(dtype, body):
    params = ", ".join(f'{n}: T.Buffer((16,), "{dtype}")' for n in "ABD")
    return from_source(HEAD + f"    def main({params}):\n{body}")


BODY = """
        C = T.alloc_buffer((16,), "DTYPE")
        for i in range(16):
            C[i] = A[i] + B[i]
        for i in range(16):
            D[i] = T.if_then_else(i < 4, C[i], C[i] * A[i])
"""
VECTORS = """
        for i in range(2):
            D[T.Ramp(i * 8, 1, 8)] = A[T.Ramp(i * 8, 1, 8)] * B[T.Ramp(8 - i * 8, 1, 8)]
"""
PASSES = {
    "bfloat16": (T.BF16ComputeLegalize(), T.BF16StorageLegalize()),
    "float8_e4m3fn": (T.FP8ComputeLegalize("float32"), T.FP8StorageLegalize()),
    "float8_e5m2": (T.FP8ComputeLegalize("float32"), T.FP8StorageLegalize()),
}


def values(dtype):
    kind = np.dtype(getattr(ml_dtypes, dtype))
    actual = (np.random.default_rng(0).random((2, 16), dtype="float32") * 4 - 2).astype(kind)
    actual[0, :4] = [np.nan, 0.0, -0.0, np.inf]
    return [*actual, np.zeros(16, kind)]


def as_bits(array):
    return array.view(f"uint{8 * array.dtype.itemsize}")


@pytest.mark.parametrize("body", [BODY, VECTORS], ids=["scalars", "vectors"])
@pytest.mark.parametrize("dtype", PASSES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nothing_is_left_of_the_type_but_its_bits(dtype, body):
    computed = PASSES[dtype][0](module(dtype, body.replace("DTYPE", dtype)))
    stored = PASSES[dtype][1](computed)
    assert dtype in computed.script() and dtype not in stored.script()
    arrays, bits = values(dtype), [as_bits(a) for a in values(dtype)]
    interpret(computed.op, "main", arrays)
    interpret(stored.op, "main", bits)
    actual = bits[2].view(arrays[2].dtype).astype("float32")
    np.testing.assert_array_equal(actual, arrays[2].astype("float32"))


def test_stored_bits_run_natively():
    mod = Sequential(PASSES["bfloat16"])(module("bfloat16", BODY.replace("DTYPE", "bfloat16")))
    a, b, d = values("bfloat16")
    build(mod.op)["main"](as_bits(a), as_bits(b), as_bits(d))
    wide = a.astype("float32") + b.astype("float32")
    expected = np.concatenate([wide[:4], wide[4:] * a[4:].astype("float32")]).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(d.astype("float32"), expected.astype("float32"))


@pytest.mark.parametrize("dtype", PASSES)
def test_storage_comes_after_computing(dtype):
    with pytest.raises(UnsupportedError, match=f"nothing is computed with {dtype}") as info:
        PASSES[dtype][1](module(dtype, BODY.replace("DTYPE", dtype)))
    assert "compute-legalize before" in str(info.value)


def test_other_types_stay():
    mod = module("float16", BODY.replace("DTYPE", "float16"))
    for each in (p for passes in PASSES.values() for p in passes):
        assert str(each(mod).op) == str(mod.op)


CALLS = """
    def main(a: T.handle, b: T.handle, n: T.int32):
        m = T.int32()
        A = T.match_buffer(a, (n, m))
        B = T.match_buffer(b, (n, m))
        for i in range(n):
            with T.block("x"):
                vi = T.axis.spatial(n, i)
                Module.copy(A.data, B.data, n, vi)
        Module.PRIVATE(B.data, n)

    @T.prim_func(private=True)
    def copy(a: T.handle, b: T.handle, m: T.int32, k: T.int32):
        n = T.int32()
        A = T.match_buffer(a, (m, n))
        B = T.match_buffer(b, (m, n))
        for j in range(n):
            with T.block("y"):
                vj = T.axis.spatial(n, j)
                B[k, vj] = A[k, n - 1 - vj]

    @T.prim_func(private=True)
    def last(b: T.handle, k: T.int32):
        n = T.int32()
        B = T.match_buffer(b, (k, n))
        for i, j in T.grid(k, n):
            B[i, j] = B[i, j] * T.float32(2)

    @T.prim_func
    def public(b: T.handle, k: T.int32):
        n = T.int32()
        B = T.match_buffer(b, (k, n))
        for i, j in T.grid(k, n):
            B[i, j] = B[i, j] * T.float32(3)
"""


def test_callees_sizes_become_the_callers():
    mod = from_source(HEAD + CALLS.replace("PRIVATE", "last"))
    changed = T.InlinePrivateFunctions()(mod)
    assert sorted(gv.name_hint for gv in changed.get_global_vars()) == ["main", "public"]
    assert "B[vi, vj] = A[vi, m - 1 - vj]" in changed.script()
    assert_same_meaning(mod.op, changed.op)


def test_public_functions_are_called_still():
    mod = from_source(HEAD + CALLS.replace("PRIVATE", "public"))
    changed = T.InlinePrivateFunctions()(mod)
    assert "Module.public(B.data, n)" in changed.script()
    assert sorted(gv.name_hint for gv in changed.get_global_vars()) == ["last", "main", "public"]


@pytest.mark.parametrize("attrs", ['T.func_attr({"target": "cuda"})', "Module.g(A.data)"])
def test_what_is_not_inlined(attrs):
    mod = from_source(HEAD + f"""
    def main(A: T.Buffer((4,), "float32")):
        Module.f(A.data)

    @T.prim_func(private=True)
    def f(A: T.Buffer((4,), "float32")):
        {attrs}
        A[0] = T.float32(1)

    @T.prim_func
    def g(A: T.Buffer((4,), "float32")):
        A[1] = T.float32(1)
""")  # fmt: skip
    changed = T.InlinePrivateFunctions()(mod)
    assert ("Module.f(A.data)" in changed.script()) == ("target" in attrs)
    assert "Module.g(A.data)" in changed.script() or "target" in attrs


def test_a_function_with_statements_is_not_part_of_an_expression():
    mod = from_source(HEAD + """
    def main(A: T.Buffer((4,), "float32")):
        A[0] = Module.f(A.data) + T.float32(1)

    @T.prim_func(private=True)
    def f(A: T.Buffer((4,), "float32")) -> T.float32:
        A[1] = T.float32(1)
        return A[2]
""")  # fmt: skip
    assert T.InlinePrivateFunctions()(mod).script() == mod.script()


def test_what_the_target_computes_in_stays():
    before = T.BindTarget("cuda -arch=sm_86")(module("bfloat16", BODY.replace("DTYPE", "bfloat16")))
    for p in PASSES["bfloat16"]:
        assert str(p(before).op) == str(before.op)
    older = T.BindTarget("cuda -arch=sm_75")(module("bfloat16", BODY.replace("DTYPE", "bfloat16")))
    assert "float32" in T.BF16ComputeLegalize()(older).script()


def test_reductions_over_threads_are_wide():
    program = from_source(
        HEAD
        + """    def main(A: T.Buffer((4,), "bfloat16")):
        x = T.launch_thread("threadIdx.x", 32)
        S = T.decl_buffer((1,), "bfloat16", scope="local")
        combined = T.comm_reducer(lambda a, b: a + b, [T.bfloat16(0)])
        with T.attr(combined, "reduce_scope", T.reinterpret("handle", T.uint64(0))):
            T.tvm_thread_allreduce(T.uint32(1), A[0], T.bool(True), S[0], x)
"""
    )
    script = T.BF16ComputeLegalize()(program).script()
    assert "x0 + x1, [T.float32(0.0)])" in script.replace("x + y", "x0 + x1")
    assert 'T.tvm_thread_allreduce(T.uint32(1), T.Cast("float32", A[0]), T.bool(True), S[0], x)' in script


def test_a_buffer_at_a_computed_address_has_a_name_for_it():
    mod = from_source(HEAD + """
    def main(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 8))
        for i in range(n):
            Module.f(T.address_of(A[i, 2]))

    @T.prim_func(private=True)
    def f(x: T.handle("float32")):
        Row = T.decl_buffer((4,), data=x)
        for j in range(4):
            Row[j] = Row[j] + T.float32(1)
""")  # fmt: skip
    changed = T.InlinePrivateFunctions()(mod)
    assert 'Row_view_data: T.handle("float32", "global") = T.address_of(A[i, 2])' in changed.script()
    assert_same_meaning(mod.op, changed.op)
