"""The text of what memory passes make: as TVM prints it, but for the names of variables in branches."""

import pytest

from tirax.driver.pipelines import make_passes
from tirax.interpreter import assert_same_meaning
from tirax.script import print_script

LOWER = ("to-non-dataflow", "remove-purity-checking", "call-tir-rewrite")

CALLS = """    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tuple(R.Tensor(("n", 4), "float32"), R.Tensor(("n", 4), "float32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.exp, (x,), out_sinfo=R.Tensor((n, 4), "float32"))
            lv1 = R.call_tir(cls.two, (lv,), out_sinfo=[R.Tensor((n, 4), "float32"), R.Tensor((n, 4), "float32")])
            lv2 = lv1[0]
            lv3 = R.call_tir_inplace(cls.double, (lv2,), inplace_indices=[0], out_sinfo=R.Tensor((n, 4), "float32"))
            lv4 = R.call_tir(cls.plus, (lv3,), out_sinfo=R.Tensor((n, 4), "float32"), tir_vars=R.shape([n]))
            lv5 = R.call_dps_packed("test.memory.copy", (lv4,), out_sinfo=R.Tensor((n, 4), "float32"))
            gv = R.call_tir(cls.add, (lv5, x), out_sinfo=R.Tensor((n, 4), "float32"))
            gv1 = lv
            R.output(gv, gv1)
        out = (gv, gv1)
        return out
"""
BOUNDED = """    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        R.func_attr({"tir_var_upper_bound": {"n": 32}, "relax.memory_plan_dynamic_func_output": True})
        cls = Module
        lv = R.call_tir(cls.exp, (x,), out_sinfo=R.Tensor((n, 4), "float32"))
        lv1 = R.call_tir(cls.exp, (lv,), out_sinfo=R.Tensor((n, 4), "float32"))
        lv2 = R.call_tir(cls.exp, (lv1,), out_sinfo=R.Tensor((n, 4), "float32"))
        lv3 = R.call_tir(cls.exp, (lv2,), out_sinfo=R.Tensor((n, 4), "float32"))
        return lv3
"""
SIZES = """    @R.function(pure=False)
    def main(x: R.Tensor(("n", "m"), "float32"), s: R.Shape(["k"])) -> R.Tensor(("n", "m"), "float32"):
        R.func_attr({"tir_var_upper_bound": {"n": 32, "k": 7}})
        n = T.int64()
        m = T.int64()
        k = T.int64()
        a = R.builtin.alloc_tensor(R.shape([n * 2 + 1, 4]), "float32", 0)
        _ = R.call_packed("f", x, a, sinfo_args=(R.Object,))
        b = R.builtin.alloc_tensor(R.shape([n * n, k]), "float32", 0)
        _ = R.call_packed("f", x, b, sinfo_args=(R.Object,))
        c = R.builtin.alloc_tensor(R.shape([n - k]), "float32", 0)
        _ = R.call_packed("f", x, c, sinfo_args=(R.Object,))
        d = R.builtin.alloc_tensor(R.shape([n, m]), "float32", 0)
        _ = R.call_packed("f", x, d, sinfo_args=(R.Object,))
        e = R.builtin.alloc_tensor(R.shape([m, n]), "float32", 0)
        _ = R.call_packed("f", x, e, sinfo_args=(R.Object,))
        g = R.builtin.alloc_tensor(R.shape([n % 5]), "float32", 0)
        _ = R.call_packed("f", x, g, sinfo_args=(R.Object,))
        h = R.builtin.alloc_tensor(R.shape([100]), "float16", 0)
        _ = R.call_packed("f", x, h, sinfo_args=(R.Object,))
        i = R.builtin.alloc_tensor(R.shape([100]), "float32", 1, "local")
        _ = R.call_packed("f", x, i, sinfo_args=(R.Object,))
        j = R.builtin.alloc_tensor(R.shape([65]), "float32", 0)
        j1 = R.reshape(j, R.shape([5, 13]))
        _ = R.call_packed("f", x, j, sinfo_args=(R.Object,))
        l = R.builtin.alloc_tensor(R.shape([65]), "float32", 0)
        _ = R.call_packed("f", j1, l, sinfo_args=(R.Object,))
        o = R.builtin.alloc_tensor(R.shape([7168 * 16 + 1]), "float32", 0)
        _ = R.call_packed("f", x, o, o, sinfo_args=(R.Object,))
        p = R.builtin.alloc_tensor(R.shape([7168 * 16]), "float32", 0)
        p1 = (p, (x, p))
        _ = R.call_packed("f", p1, sinfo_args=(R.Object,))
        q = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
        return x
"""
BRANCHES = """    @R.function
    def main(x: R.Tensor((2, 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((2, 4), "float32"):
        cls = Module
        lv = R.call_tir(cls.exp, (x,), out_sinfo=R.Tensor((2, 4), "float32"))
        lv1 = R.call_tir(cls.exp, (lv,), out_sinfo=R.Tensor((2, 4), "float32"))
        lv2 = R.call_tir(cls.exp, (lv,), out_sinfo=R.Tensor((2, 4), "float32"))
        if c:
            a = R.call_tir(cls.exp, (lv2,), out_sinfo=R.Tensor((2, 4), "float32"))
            a1 = R.call_tir(cls.exp, (a,), out_sinfo=R.Tensor((2, 4), "float32"))
            a2 = R.call_tir(cls.add, (a, a1), out_sinfo=R.Tensor((2, 4), "float32"))
            r = R.call_tir(cls.exp, (a2,), out_sinfo=R.Tensor((2, 4), "float32"))
        else:
            r = R.call_tir(cls.add, (lv2, x), out_sinfo=R.Tensor((2, 4), "float32"))
        z = R.call_tir(cls.exp, (r,), out_sinfo=R.Tensor((2, 4), "float32"))
        z1 = R.call_tir(cls.exp, (z,), out_sinfo=R.Tensor((2, 4), "float32"))
        z2 = R.call_tir(cls.add, (z, z1), out_sinfo=R.Tensor((2, 4), "float32"))
        return z2
"""
KILLS = """    @R.function(pure=False)
    def main(x: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 4), "float32"):
        o: R.Object = R.call_packed("test.mk", x, sinfo_args=(R.Object,))
        o1: R.Object = R.call_packed("test.mk", o, sinfo_args=(R.Object,))
        t: R.Tuple(R.Tensor((2, 4), "float32"), R.Object) = R.call_packed(
            "test.mk", o1, sinfo_args=(R.Tuple(R.Tensor((2, 4), "float32"), R.Object),))
        s = R.shape_of(x)
        o2: R.Object = R.call_packed("test.mk2", t, s, sinfo_args=(R.Object,))
        t1 = (x, o1)
        t2 = (x, x)
        y: R.Tensor((2, 4), "float32") = R.call_packed("f", o2, t1, t2, sinfo_args=(R.Tensor((2, 4), "float32"),))
        y1 = y
        y2: R.Tensor((2, 4), "float32") = R.call_packed("f", y, y1, (y,), sinfo_args=(R.Tensor((2, 4), "float32"),))
        return y2
"""
PURITY = """    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        @R.function
        def inner(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            b = R.call_pure_packed("f", a, sinfo_args=(R.Tensor((4,), "float32"),))
            return b
        y = R.call_inplace_packed("f", x, inplace_indices=[0], sinfo_args=(R.Tensor((4,), "float32"),))
        z = inner(y)
        return z

    @R.function(pure=False)
    def impure(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.print(x, format="")
        y = R.call_pure_packed("f", x, sinfo_args=(R.Tensor((4,), "float32"),))
        return y
"""
RESHAPES = """    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((2, 3, 4), "float32"), z: R.Tensor((1, 5), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.reshape(x, (n * 4,))
            b = R.flatten(y)
            c = R.expand_dims(y, 1)
            d = R.squeeze(z, 0)
            e = R.permute_dims(z)
            f = R.permute_dims(y)
            g = R.reshape(b, (3, 8))
            h = R.strided_slice(z, axes=[1], begin=[0], end=[5])
            i = R.astype(z, "float16")
            j = R.add(a, a)
            k = R.reshape(j, (n, 2, 2))
            gv = (c, d, e, f, g, h, i, k)
            R.output(gv)
        w = R.flatten(y)
        return gv
"""
VALUES = """    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), p: R.Prim(value="q")) -> R.Tuple(R.Prim("int64"), R.Prim("int64")):
        n = T.int64()
        m = T.int64()
        q = T.int64()
        a = R.prim_value(n * m + 1)
        b = R.prim_value(m * q + 1)
        c = R.prim_value(n)
        d = R.prim_value(q // 2)
        t = (a, b)
        return t
"""
IN_PLACE = """    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), b: R.Tensor((3,), "float32")) -> R.Tensor(("n", 3), "float32"):
        n = T.int64()
        with R.dataflow():
            z = R.add(x, b)
            p = R.add(b, z)
            q = R.multiply(p, x)
            r = R.nn.relu(q)
            s = R.exp(r)
            t = R.subtract(s, r)
            u = R.nn.silu(t)
            v = R.add(u, u)
            w = R.divide(v, R.const(2, "float32"))
            gv = R.add(x, w)
            R.output(gv)
        return gv
"""
WORKSPACE = """    @R.function
    def ext(q: R.Tensor((2, 3), "float32"), k: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        R.func_attr({"Codegen": "lib", "WorkspaceSize": 65536})
        @R.function
        def gv(q_1: R.Tensor((2, 3), "float32"), k_1: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            R.func_attr({"Composite": "lib.add", "Primitive": True, "WorkspaceSize": 65536})
            gv_2 = R.add(q_1, k_1)
            return gv_2
        gv1 = gv(q, k)
        return gv1

    @R.function
    def other(q: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        R.func_attr({"Codegen": "lib", "WorkspaceSize": 1000})
        gv = R.exp(q)
        return gv

    @R.function
    def main(q: R.Tensor((2, 3), "float32"), k: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        with R.dataflow():
            lv = cls.ext(q, k)
            lv1 = cls.ext(lv, k)
            gv = cls.other(lv1)
            R.output(gv)
        gv1 = cls.other(gv)
        return gv1
"""

CASES = {
    "calls": (CALLS, LOWER),
    "planned": (CALLS, (*LOWER, "static-plan-block-memory")),
    "lowered": (CALLS, (*LOWER, "static-plan-block-memory", "lower-alloc-tensor", "kill-after-last-use")),
    "runtime": (
        CALLS,
        (*LOWER, "static-plan-block-memory", "lower-alloc-tensor", "kill-after-last-use", "lower-runtime-builtin"),
    ),
    "bounded": (BOUNDED, (*LOWER, "static-plan-block-memory")),
    "sizes": (SIZES, ("static-plan-block-memory",)),
    "branches": (BRANCHES, (*LOWER, "static-plan-block-memory", "lower-alloc-tensor", "kill-after-last-use")),
    "kills": (KILLS, ("kill-after-last-use",)),
    "purity": (PURITY, ("remove-purity-checking",)),
    "reshapes": (RESHAPES, ("legalize-ops", "rewrite-dataflow-reshape")),
    "values": (VALUES, ("compute-prim-value",)),
    "in_place": (IN_PLACE, ("dataflow-use-inplace-calls",)),
    "workspace": (WORKSPACE, ("allocate-workspace",)),
}
RUNS = [name for name, (text, _) in CASES.items() if "call_packed" not in text and "_packed(" not in text]


def through(module, passes):
    for p in make_passes(passes):
        module = p(module)
    return module


@pytest.mark.parametrize("case", CASES)
def test_text(module, golden, case):
    text, passes = CASES[case]
    golden(f"tvm_api/memory/{case}.txt", print_script(through(module(text), passes)))


@pytest.mark.parametrize("case", RUNS)
def test_meaning(module, case):
    text, passes = CASES[case]
    before = module(text)
    assert_same_meaning(before, through(before, passes), functions=["main"])


def test_meaning_of_packed_calls(module):
    before = module(CALLS)
    copy = {"test.memory.copy": lambda a, out: out.__setitem__(..., a + 1)}
    for name in ("calls", "planned", "lowered", "runtime"):
        assert_same_meaning(before, through(before, CASES[name][1]), packed=copy)
