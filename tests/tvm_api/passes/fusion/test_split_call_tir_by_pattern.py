"""The beginning of tensor functions computed by a library."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.interpreter import interpret, random_inputs, symbolic_sizes
from tirax.ir.functions.lookup import functions
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import AnnotateTIROpPattern, FuseOps, FuseTIR, LegalizeOps, SplitCallTIRByPattern
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n\n@I.ir_module\nclass Module:\n"
PATTERNS = from_source(
    HEAD
    + """
    @T.prim_func(private=True)
    def matmul(var_A: T.handle, var_B: T.handle, var_C: T.handle):
        m, n, k = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(var_A, (m, k), "float32")
        B = T.match_buffer(var_B, (k, n), "float32")
        C = T.match_buffer(var_C, (m, n), "float32")
        for i, j, l in T.grid(m, n, k):
            with T.block("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, l])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func(private=True)
    def bias(var_C: T.handle, var_b: T.handle, var_D: T.handle):
        m, n = T.int64(), T.int64()
        C = T.match_buffer(var_C, (m, n), "float32")
        b = T.match_buffer(var_b, (n,), "float32")
        D = T.match_buffer(var_D, (m, n), "float32")
        for i, j in T.grid(m, n):
            with T.block("bias"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + b[vj]

    @T.prim_func(private=True)
    def square(var_A: T.handle, var_B: T.handle, var_C: T.handle):
        m = T.int64()
        A = T.match_buffer(var_A, (m, m), "float32")
        B = T.match_buffer(var_B, (m, m), "float32")
        C = T.match_buffer(var_C, (m, m), "float32")
        for i, j, l in T.grid(m, m, m):
            with T.block("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, l])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
)
MATMUL, BIAS, SQUARE = (PATTERNS[n] for n in ("matmul", "bias", "square"))
PROGRAM = f"""{HEAD}
    @R.function
    def main(
        x: R.Tensor(("n", 16), "float32"), w: R.Tensor((16, 4), "float32"),
        b: R.Tensor((4,), "float32"), v: R.Tensor((4, 4), "float32")
    ):
        n = T.int64()
        with R.dataflow():
            p = R.matmul(x, w)
            q = R.add(p, b)
            r = R.nn.relu(q)
            s = R.matmul(r, v)
            e = R.exp(x)
            R.output(s, e)
        return (s, e)
"""
BY_HAND = f"""{HEAD}
    @T.prim_func(private=True)
    def both(var_A: T.handle, var_B: T.handle, var_D: T.handle):
        m, n, k = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(var_A, (m, k), "float32")
        B = T.match_buffer(var_B, (k, n), "float32")
        D = T.match_buffer(var_D, (m, n), "float32")
        C = T.alloc_buffer((m, n), "float32")
        for i, j, l in T.grid(m, n, k):
            with T.block("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, l])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(m, n):
            with T.block("rest"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + REST

    @R.function
    def main(x: R.Tensor(("n", "k"), "float32"), w: R.Tensor(("k", 4), "float32")):
        n = T.int64()
        k = T.int64()
        y = R.call_tir(Module.both, (x, w), R.Tensor((n, 4), "float32"))
        return (y, x)
"""


def program(text=PROGRAM):
    mod = from_source(text)
    for one in (LegalizeOps, AnnotateTIROpPattern, FuseOps, FuseTIR):
        mod = one()(mod)
    return mod


def multiply(a, b, out):
    np.matmul(np.asarray(a), np.asarray(b), out=np.asarray(out))


def multiply_add(a, b, c, out):
    np.asarray(out)[...] = np.asarray(a) @ np.asarray(b) + np.asarray(c)


def check_meaning(before, after):
    vm = relax.VirtualMachine(relax.build(after, target="llvm"), tvm.cpu())
    func = functions(before.op)["main"]
    for sizes in symbolic_sizes(func):
        inputs = random_inputs(func, sizes)
        expected = interpret(before.op, "main", inputs)
        for actual in (
            interpret(after.op, "main", inputs),
            [o.numpy() for o in vm["main"](*map(tvm.nd.array, inputs))],
        ):
            for one, other in zip(actual, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def calls(mod):
    text = mod["main"].script(show_meta=False)
    return [line.split(" = ")[1].split(", out_sinfo")[0] for line in text.splitlines() if " = R.call" in line]


def test_split():
    before, seen = program(), []

    def codegen(matches):
        seen.append(
            [(m.pattern, [str(v) for v in m.symbol_values], [b.name for b in m.matched_buffers]) for m in matches]
        )
        return multiply, 1

    after = SplitCallTIRByPattern([MATMUL], codegen)(before)
    assert calls(after) == [
        'R.call_dps_packed("fused_matmul_add_relu", (x, w)',
        "R.call_tir(unfused_epilogue, (b, lv1)",
        'R.call_dps_packed("matmul1", (lv, v)',
        "R.call_tir(tir_exp, (x,)",
    ]
    assert [one[0][1:] for one in seen] == [
        (["n", "16", "4"], ["x", "w", "matmul_intermediate"]), (["n", "4", "4"], ["r", "v", "matmul"]),
    ]  # fmt: skip
    assert all(one[0][0] is MATMUL for one in seen)
    assert "T_add" in after["unfused_epilogue"].script()
    assert "reduce" not in str(after["unfused_epilogue"].op)
    assert set(functions(after.op)) == {"main", "unfused_epilogue", "tir_exp"}
    check_meaning(before, after)


def test_several_patterns():
    before = program()
    numbers = []

    def codegen(matches):
        numbers.append(len(matches))
        return (multiply_add, 2) if len(matches) > 1 else (None, 0)

    after = SplitCallTIRByPattern([BIAS, MATMUL], codegen)(before)
    assert numbers == [2, 1]
    assert 'R.call_dps_packed("fused_matmul_add_relu", (x, w, b)' in after.script()
    assert "R.call_tir(cls.matmul1" in after.script()
    check_meaning(before, after)


@pytest.mark.parametrize("patterns", [[], [BIAS], [SQUARE]])
def test_nothing_matches(patterns):
    before = program()

    def codegen(matches):
        raise AssertionError(matches)

    assert SplitCallTIRByPattern(patterns, codegen)(before).script() == before.script()


def test_what_is_used_again_stays():
    text = PROGRAM.replace("            R.output(s, e)", "            z = R.multiply(r, q)\n            R.output(s, z)")
    before = program(text.replace("return (s, e)", "return (s, z)"))
    after = SplitCallTIRByPattern([MATMUL], lambda matches: (multiply, 1))(before)
    check_meaning(before, after)


@pytest.mark.parametrize(("rest", "split"), [("T.float32(1)", True), ('T.Cast("float32", k)', False)])
def test_sizes_that_the_rest_needs(rest, split):
    before = from_source(BY_HAND.replace("REST", rest))
    after = SplitCallTIRByPattern([MATMUL], lambda matches: (multiply, 1))(before)
    assert ("unfused_epilogue" in after.script()) is split
    check_meaning(before, after)


def test_errors():
    with pytest.raises(TiraxError, match="a pattern is a tensor function"):
        SplitCallTIRByPattern(["matmul"], lambda matches: (multiply, 1))(program())
    for wrong in (("// text", 1), (multiply, 2)):
        with pytest.raises(TiraxError, match="is not what a library computes"):
            SplitCallTIRByPattern([MATMUL], lambda matches, w=wrong: w)(program())
