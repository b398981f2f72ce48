"""`tvm.script.ir_builder`: functions built by calls that read like TVMScript."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, TiraxError
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script.ir_builder import IRBuilder
from tirax.tvm_api.script.ir_builder import ir as I
from tirax.tvm_api.script.ir_builder import tir as T

EXPECTED = """# from tvm.script import tir as T

@T.prim_func
def main(n: T.int32, A: T.Buffer((16, 24), "float32"), B: T.Buffer((16,), "float32")):
    T.func_attr({"tir.noalias": T.bool(True)})
    # with T.block("root"):
    C = T.alloc_buffer((16,))
    for i, k in T.grid(16, 24):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(k < 20)
            T.reads(A[vi, vk])
            T.writes(C[vi])
            T.block_attr({"note": 1})
            with T.init():
                C[vi] = T.float32(0.0)
            C[vi] = C[vi] + A[vi, vk]
    for v in T.parallel(16, annotations={"k": "x"}):
        if v < n:
            v_1: T.float32 = C[v] * T.float32(2.0)
            B[v] = v_1
        else:
            B[v] = T.exp(C[v])"""


def built():
    with IRBuilder() as ib, T.prim_func():
        T.func_name("main")
        T.func_attr({"tir.noalias": True})
        n = T.arg("n", T.int32())
        A = T.arg("A", T.Buffer((16, 24), "float32"))
        b = T.arg("b", T.handle())
        B = IRBuilder.name("B", T.match_buffer(b, (16,)))
        C = IRBuilder.name("C", T.alloc_buffer((16,)))
        with T.grid(16, 24) as (i, k):
            IRBuilder.name("i", i), IRBuilder.name("k", k)
            with T.block("sum"):
                vi = IRBuilder.name("vi", T.axis.spatial(16, i))
                vk = IRBuilder.name("vk", T.axis.reduce(24, k))
                T.where(k < 20)
                T.block_attr({"note": 1})
                with T.init():
                    T.buffer_store(C, 0.0, [vi])
                T.buffer_store(C, C[vi] + A[vi, vk], [vi])
        with T.parallel(16, annotations={"k": "x"}) as j, T.If(j < n):
            with T.Then(), T.LetStmt(C[j] * 2.0) as x:
                T.buffer_store(B, x, j)
            with T.Else():
                T.buffer_store(B, T.exp(C[j]), j)
    return ib.get()


def test_text_and_meaning():
    func = built()
    assert func.script() == EXPECTED and from_source(EXPECTED).script() == EXPECTED
    data = np.random.default_rng(0).standard_normal((16, 24)).astype("float32") / 4
    out = tvm.nd.array(np.zeros(16, "float32"))
    tvm.build(func, target="llvm")["main"](5, tvm.nd.array(data), out)
    sums = data[:, :20].sum(1)
    np.testing.assert_allclose(out.numpy(), np.where(np.arange(16) < 5, 2 * sums, np.exp(sums)), rtol=1e-4)


def test_other_statements():
    with IRBuilder() as ib, T.prim_func(is_private=True):
        A = T.arg("A", T.Buffer((8,), "int32"))
        with T.allocate([8], "int32", "global") as data, T.decl_buffer((8,), "int32", data=data) as local:
            with T.attr(0, "key", 1), T.vectorized(8) as i:
                T.buffer_store(local, A[i] * 2, i)
            with T.Assert(local[0] < 100, "large"), T.unroll(2, 4) as i:
                T.buffer_store(A, local[i], [i])
            with T.block("copy"):
                T.reads(local[0:2])
                T.writes(A[0])
                T.buffer_store(A, local[1], [0])
            with T.While(A[7] < 10):
                T.buffer_store(A, A[7] + 3, [7])
            T.evaluate(T.call_extern("void", "nothing"))
    text = ib.get().script()
    assert "@T.prim_func(private=True)" in text and from_source(text).script() == text
    parts = ["assert buffer[0] < 100", "T.reads(buffer[0:2])", "T.writes(A[0])", "while A[7] < 10:"]
    assert all(part in text for part in ['T.attr(0, "key", 1)', *parts])
    assert 'T.call_extern("void", "nothing")' in text


def test_refusals():
    with pytest.raises(TiraxError, match="no IRBuilder is entered"):
        T.evaluate(0)
    with pytest.raises(TiraxError, match="nothing was built"):
        IRBuilder().get()
    with IRBuilder(), T.prim_func(), pytest.raises(TiraxError, match="T.init does not stand here"):
        T.init()
    with IRBuilder(), pytest.raises(TiraxError, match="no function is being built"):
        T.func_name("f")
    assert not IRBuilder.is_in_scope()


def test_names_that_only_the_builder_has():
    with IRBuilder() as ib, T.prim_func():
        T.func_name("main")
        A = T.arg("A", T.Buffer((4, 8), "int32"))
        with T.grid(4, 8) as (i, j), T.block("B"):
            vi, vj = IRBuilder.name_many(["vi", "vj"], T.axis.remap("SR", [i, j]))
            T.buffer_store(A, T.max(vi, T.min(vj, 3)), [vi, vj])
        with T.LetStmt(3, var=T.var("int32", "three")) as x:
            T.evaluate(x)
    assert body_of(ib.get().script()) == body_of(
        """
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            T.reads()
            T.writes(A[vi, vj])
            A[vi, vj] = T.max(vi, T.min(vj, 3))
    three: T.int32 = 3
    T.evaluate(three)
"""
    )


def body_of(script):
    """Return the lines from the first statement on, without the names of loops."""
    lines = script.split("\n")
    first = next(k for k, line in enumerate(lines) if line.lstrip().startswith(("for", "three")))
    return "\n".join(lines[first:]).strip().replace("v, v_1 in", "i, j in").replace('"SR", [v, v_1]', '"SR", [i, j]')


def test_a_module_with_attributes():
    with IRBuilder() as ib, I.ir_module():
        I.module_attrs({"a": 1})
        I.module_set_attr("b", 2)
        I.module_global_infos({"vdevice": [I.vdevice("llvm")]})
        assert I.module_get_attrs() == {"a": 1, "b": 2} and I.module_get_attr("c") is None
        assert I.lookup_vdevice("llvm").target == "llvm"
        assert I.decl_function("g", None).name_hint == "g"
        I.def_function("g", from_source("@T.prim_func\ndef g():\n    T.evaluate(0)\n"))
        assert list(I.ir.current_ir_module().names) == ["g"]
        with pytest.raises(TiraxError, match="is set already"):
            I.module_set_attr("a", 2)
        with pytest.raises(TiraxError, match="has attributes already"):
            I.module_attrs({})
        with pytest.raises(NameLookupError, match="no such virtual device"):
            I.lookup_vdevice("cuda")
    module = ib.get()
    assert module.attrs["b"] == 2 and list(module.names) == ["g"] and "vdevice" in module.global_infos
    with IRBuilder(), pytest.raises(TiraxError, match="no module is being built"):
        I.module_get_attrs()
