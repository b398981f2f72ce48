"""Passes on loops and arithmetic: options, refusals, and what is left alone."""

import numpy as np
import pytest

from tirax.diagnostics import NameLookupError, TiraxError, UnsupportedError, VerifyError
from tirax.dialects import tir
from tirax.driver.build import build
from tirax.driver.pipelines import make_passes
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.passes.transform import PassContext, Sequential, new_context
from tirax.ir.verification.verify import verify_module
from tirax.tvm_api import IRModule
from tirax.tvm_api import tir as tvm_tir
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import transform as T

HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
TWO = 'A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")'


def module(body, params=TWO, attrs=""):
    return from_source(HEAD + f"    def main({params}):\n        T.func_attr({{{attrs}}})\n" + body)


def loops(mod):
    return [op for op in mod.op.walk() if isinstance(op, tir.ForOp)]


NEST = """
        for i in range(4):
            for j in range(16):
                D[i * 16 + j] = A[i * 16 + j]
"""


@pytest.mark.parametrize(("options", "left"), [({}, 2), ({"auto_max_step": 16}, 1), ({"auto_max_step": 64}, 0),
                                               ({"auto_max_extent": 4}, 2), ({"auto_max_extent": 16}, 0)])  # fmt: skip
def test_how_much_is_unrolled(options, left):
    mod = module(NEST)
    changed = T.UnrollLoop(**options)(mod)
    assert len(loops(changed)) == left
    assert_same_meaning(mod.op, changed.op)
    with PassContext(config={"tir.UnrollLoop": options}):
        assert T.UnrollLoop()(mod).script() == changed.script()


def test_without_explicit_unrolling_loops_are_marked():
    changed = T.UnrollLoop(auto_max_step=16, explicit_unroll=False)(module(NEST))
    assert [loop.kind for loop in loops(changed)] == [tir.ForKind.SERIAL, tir.ForKind.UNROLLED]


def test_unknown_and_wrong_options():
    with pytest.raises(TiraxError, match="auto_max_step"):
        PassContext(config={"tir.UnrollLoop": {"max_step": 1}})
    with pytest.raises(TiraxError, match="mapping"):
        PassContext(config={"tir.UnrollLoop": 3})


def test_symbolic_loops_are_neither_unrolled_nor_vectorized():
    for kind, refused in (("unroll", T.UnrollLoop()), ("vectorized", T.VectorizeLoop())):
        mod = module(f"        for i in T.{kind}(n):\n            D[i] = A[i]\n", f"{TWO}, n: T.int32")
        with pytest.raises(UnsupportedError, match="constant"):
            refused(mod)


SCALAR_BODIES = {
    "lanes store to one place": "D[0] = A[i]",
    "a branch of some lanes": "if i < 3:\n                D[i] = A[i]",
    "a lazy expression of some lanes": "D[i] = T.if_then_else(i < 3, A[i], T.float32(0))",
    "a loop of other lengths": "for j in range(i):\n                D[j] = A[i]",
}


@pytest.mark.parametrize("name", SCALAR_BODIES)
def test_loops_that_are_no_vectors_become_serial(name):
    mod = module(f"        for i in T.vectorized(8):\n            {SCALAR_BODIES[name]}\n")
    changed = T.VectorizeLoop()(mod)
    assert loops(changed)[0].kind is tir.ForKind.SERIAL
    assert_same_meaning(mod.op, changed.op)


def test_vectors_run_natively():
    mod = module(
        """
        for i in range(4):
            for j in T.vectorized(16):
                D[i * 16 + j] = T.Select(j < 7, A[i * 16 + j] * T.float32(2), A[j * 2] + T.Cast("float32", j))
""",
        attrs='"tir.is_scheduled": True',
    )
    changed = T.VectorizeLoop()(mod)
    assert len(loops(changed)) == 1
    a, d = np.random.default_rng(0).random(64, dtype="float32"), np.zeros(64, "float32")
    build(changed.op)["main"](a, d)
    j = np.arange(16)
    rows = [np.where(j < 7, a[i * 16 : i * 16 + 16] * 2, a[j * 2] + j) for i in range(4)]
    np.testing.assert_allclose(d, np.concatenate(rows), rtol=1e-6)


def test_a_condition_on_what_the_loop_writes_stays_inside():
    mod = module("""
        for i in range(8):
            if D[0] < T.float32(2):
                D[0] = D[0] + T.float32(1)
""")
    assert T.HoistIfThenElse()(mod).script() == mod.script()


def test_data_is_not_simplified_as_if_it_never_wrapped():
    mod = module(
        """
        for i in range(64):
            if I[i] + T.int8(100) > I[i]:
                D[i] = A[i]
""",
        f'{TWO}, I: T.Buffer((64,), "int8")',
    )
    changed = T.Simplify()(mod)
    assert any(isinstance(op, tir.IfOp) for op in changed.op.walk())
    assert_same_meaning(mod.op, changed.op)


def test_branches_teach_ranges():
    mod = module("""
        for i in range(64):
            if i < 8:
                D[i // 8 * 8 + i % 8] = A[T.min(i, 7)]
            else:
                D[T.max(i, 8)] = A[i]
            if i >= 32 and i < 40:
                if i < 41:
                    D[i] = A[i // 8]
""")
    text = T.Simplify()(mod).script()
    assert "D[i] = A[i]" in text and "min" not in text and "max" not in text and "41" not in text
    assert_same_meaning(mod.op, T.Simplify()(mod).op)


def test_data_of_int64_is_not_narrowed_by_force():
    mod = module("        for i in range(4):\n            D[i] = A[i]\n", f'{TWO}, I: T.Buffer((4,), "int64")')
    with pytest.raises(UnsupportedError, match="holds int64"):
        T.ForceNarrowIndexToInt32()(mod)


SHIFTED = """
        for i in range(T.int64(4)):
            D[i] = T.Select(T.int64(1) <= i, A[T.min(i + n, T.int64(63))], T.Cast("float32", i))
"""


def test_a_scalar_that_is_passed_is_narrowed_by_force():
    mod = module(SHIFTED, f"{TWO}, n: T.int64")
    changed = T.ForceNarrowIndexToInt32()(mod)
    assert "n: T.int32" in changed.script() and "int64" not in changed.script()
    for n in (0, 1, 40):
        results = [np.zeros(64, "float32") for _ in range(2)]
        for m, result in zip((mod, changed), results, strict=True):
            interpret(m.op, "main", [np.arange(64, dtype="float32"), result, n])
        np.testing.assert_array_equal(*results)


def test_a_scalar_of_a_called_function_is_not_narrowed_by_force():
    mod = module(
        "        Module.f(A.data, T.int64(1))\n"
        "    @T.prim_func(private=True)\n"
        '    def f(A: T.Buffer((64,), "float32"), n: T.int64):\n'
        "        A[n] = T.float32(1)\n"
    )
    with pytest.raises(UnsupportedError, match="'n' of @f holds int64"):
        T.ForceNarrowIndexToInt32()(mod)


def test_a_result_of_int64_is_not_narrowed_by_force():
    mod = from_source(HEAD + "    def main(n: T.int64) -> T.int64:\n        return n + T.int64(1)\n")
    with pytest.raises(UnsupportedError, match="what @main gives is int64"):
        T.ForceNarrowIndexToInt32()(mod)


def test_leading_zeros_of_a_narrowed_index():
    mod = module(
        "        for i in range(T.int64(4)):\n            C[i] = T.clz(i + T.int64(1))\n", 'C: T.Buffer((4,), "int32")'
    )
    for narrowed in (T.ForceNarrowIndexToInt32()(mod), T.NarrowDataType(32)(mod)):
        assert_same_meaning(mod.op, narrowed.op)
    assert "T.clz(i + 1) - 32 + 64" in T.ForceNarrowIndexToInt32()(mod).script()


@pytest.mark.parametrize("body", [
    "for i in range(T.int64(3000000000)):\n            D[i // T.int64(3000000000)] = A[0]",
    "for i in range(T.int64(4)):\n            I[I[0] + i] = I[0]",
])  # fmt: skip
def test_what_may_not_fit_stays_wide(body):
    mod = module(f"        {body}\n", f'{TWO}, I: T.Buffer((4,), "int64")')
    assert T.NarrowDataType(32)(mod).script() == mod.script()


def test_widths_that_do_not_exist():
    with pytest.raises(UnsupportedError, match="32 or 64"):
        T.NarrowDataType(16)(module(NEST))


def test_narrow_floats_are_computed_in_wider_ones():
    params = ", ".join(f'{n}: T.Buffer((16,), "float8_e4m3fn")' for n in "ABD")
    mod = module("        for i in range(16):\n            D[i] = A[i] + B[i]\n", params)
    changed = T.FP8ComputeLegalize()(mod)
    assert 'T.Cast("float8_e4m3fn", T.Cast("float32", A[i]) + T.Cast("float32", B[i]))' in changed.script()
    assert_same_meaning(mod.op, changed.op)


def test_memory_of_a_device_is_for_its_threads():
    outside = module(NEST, attrs='"target": "cuda"')
    with pytest.raises(TiraxError, match="outside of its threads"):
        T.VerifyMemory()(outside)
    bound = NEST.replace("range(16)", 'T.thread_binding(16, thread="threadIdx.x")')
    T.VerifyMemory()(module(bound, attrs='"target": "cuda"'))
    T.VerifyMemory()(module(NEST))


def test_attributes_of_functions():
    mod = Sequential([T.AnnotateEntryFunc(), T.BindTarget("llvm -mcpu=x86-64")])(module(NEST))
    attrs = mod["main"].attrs
    assert attrs["tir.is_entry_func"] is True and str(attrs["target"]) == "llvm -mcpu=x86-64"
    assert str(T.BindTarget("llvm")(mod)["main"].attrs["target"]) == "llvm -mcpu=x86-64"
    assert not list(T.Filter(lambda f: f.name != "main")(mod).functions_items())


CLEAN = Sequential([T.Simplify(), T.RemoveNoOp()])
"""Resolves the conditions that are known in the parts of a loop, and removes the parts that do nothing."""


def test_constant_loops_are_partitioned_on_request():
    mod = module("        for i in range(64):\n            if T.likely(i < 60):\n                D[i] = A[i]\n")
    assert len(loops(T.LoopPartition()(mod))) == 1
    with PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}}):
        changed = CLEAN(T.LoopPartition()(mod))
    assert [loop.extent.constant for loop in loops(changed)] == [60]
    assert_same_meaning(mod.op, changed.op)
    for body, bounds in (("i < I[0]", []), ("i < 63", [63]), ("i > 0 and i < n", [])):
        text = f"        for i in range(64):\n            if T.likely({body}):\n                D[i] = A[i]\n"
        mod = module(text, f'{TWO}, n: T.int32, I: T.Buffer((1,), "int32")')
        changed = CLEAN(T.LoopPartition(partition_const_loop=True)(mod))
        assert_same_meaning(mod.op, changed.op)
        assert "likely" not in changed.script()
        assert not bounds or [loop.extent.constant for loop in loops(changed)] == bounds
    kept = T.LoopPartition(partition_const_loop=True, no_unroll_loop_with_extent_one=True)(module("""
        for i in range(64):
            if T.likely(i < 63):
                D[i] = A[i]
            A[i] = T.float32(0)
"""))  # fmt: skip
    assert [loop.extent.constant for loop in loops(kept)] == [63, 1]


def test_the_hint_may_be_a_pragma_around_the_loop():
    mod = module("""
        for i in T.serial(64, annotations={"pragma_loop_partition_hint": 1}):
            with T.block("D"):
                v = T.axis.spatial(64, i)
                D[v] = T.if_then_else(v < 2, T.float32(0), A[v - 2])
        for i in T.serial(64, annotations={"pragma_loop_partition_hint": 1}):
            with T.block("A"):
                v = T.axis.spatial(64, i)
                if D[v] < T.float32(1):
                    A[v] = D[v]
""")
    flat = Sequential([T.ConvertBlocksToOpaque(), T.LowerOpaqueBlock()])(mod)
    assert "pragma_loop_partition_hint" in flat.script()
    changed = CLEAN(T.LoopPartition(unroll_loop_with_partition_hint_no_interval=True)(flat))
    assert_same_meaning(flat.op, changed.op)
    assert [loop.extent.constant for loop in loops(changed)] == [2, 62, 64]
    assert all(loop.kind is tir.ForKind.SERIAL for loop in loops(changed))
    assert "if_then_else" not in changed.script() and "pragma" not in changed.script()


def test_buffers_that_live_together_are_disjoint():
    mod = module("""
        B = T.decl_buffer((64,))
        C = T.decl_buffer((64,))
        for i in range(64):
            B[i] = A[i]
        for i in range(64):
            C[i] = B[63 - i]
        for i in range(64):
            D[i] = C[i] + B[i]
""")
    changed = T.StorageRewrite()(mod)
    assert sum(isinstance(op, tir.AllocBufferOp | tir.AllocateOp) for op in changed.op.walk()) == 2


def test_in_place_only_where_each_element_is_written_once():
    mod = module("""
        B = T.decl_buffer((64,))
        C = T.decl_buffer((64,))
        for i in range(64):
            B[i] = A[i]
        for i, j in T.grid(8, 16):
            C[i * 8 + j] = B[i * 8 + j] + T.float32(1)
        for i in range(64):
            D[i] = C[i]
""", 'A: T.Buffer((72,), "float32"), D: T.Buffer((64,), "float32")')  # fmt: skip
    changed = T.StorageRewrite()(mod)
    assert sum(isinstance(op, tir.AllocBufferOp | tir.AllocateOp) for op in changed.op.walk()) == 2


HOIST = """
        for i in range(64):
            for j in T.vectorized(4):
                if i < n and j < 2:
                    D[j] = T.if_then_else(n < 3, A[i], A[j])
                else:
                    D[j + 4] = A[i]
"""


@pytest.mark.parametrize(("flags", "branches"), [(0, 1), (1, 1), (2, 3), (3, 3), (7, 5)])
def test_which_conditions_are_hoisted(flags, branches):
    mod = module(HOIST, f"{TWO}, n: T.int32")
    with PassContext(config={"tir.HoistExpression": {"hoisted_conditionals": flags}}):
        changed = T.HoistExpression()(mod)
    assert_same_meaning(mod.op, changed.op)
    assert sum(isinstance(op, tir.IfOp) for op in changed.op.walk()) == branches


def test_names_stay_where_they_are_not_needed():
    mod = module("""
        for i in range(64):
            with T.LetStmt(n * 2) as z:
                D[i] = A[i] * T.Cast("float32", z)
""", f"{TWO}, n: T.int32")  # fmt: skip
    assert T.HoistExpression(hoisted_let_bindings=0)(mod).script() == mod.script()
    hoisted = T.HoistExpression(hoisted_let_bindings=2)(mod)
    assert isinstance(next(iter(loops(hoisted))).prev_op, tir.LetOp)
    assert_same_meaning(mod.op, hoisted.op)


def test_a_variant_that_is_not_there():
    with pytest.raises(NameLookupError, match="basic"):
        T.HoistIfThenElse("basics")(module(NEST))
    assert T.HoistIfThenElse("basic")(module(NEST)).script() == module(NEST).script()


def test_names_of_repeated_expressions_come_after_the_head_of_a_block():
    mod = module("""
        for i in range(8):
            with T.block("outer"):
                vi = T.axis.spatial(8, i)
                for j, k in T.grid(4, 2):
                    with T.block("D"):
                        vj = T.axis.spatial(4, j)
                        vk = T.axis.reduce(2, k)
                        with T.init():
                            D[vi * 8 + vj] = T.float32(0)
                        D[vi * 8 + vj] = D[vi * 8 + vj] + A[vi * 8 + vj * 2 + vk]
""")
    changed = T.CommonSubexprElimTIR()(mod)
    assert "cse_var_1" in changed.script()
    assert from_source(changed.script()).script() == changed.script()
    assert_same_meaning(mod.op, changed.op)


def test_equivalent_expressions_share_a_name_on_request():
    mod = module(
        """
        for i, j in T.grid(3, 4):
            D[i * (j + 3)] = A[i * j + i * 3]
"""
    )
    changed = T.CommonSubexprElimTIR(identify_equiv_terms=True)(mod)
    assert changed.script().count("cse_var_1") == 3
    assert_same_meaning(mod.op, changed.op)
    assert "cse_var" not in T.CommonSubexprElimTIR()(mod).script()


def test_free_variables_of_functions():
    """A buffer and a variable that nothing defines: printed with their declarations, rewritten, and not built."""
    i, n = tvm_tir.Var("i", "int32"), tvm_tir.Var("n", "int32")
    buffer = tvm_tir.decl_buffer((8,), "int32", name="kept")
    func = tvm_tir.PrimFunc([i], tvm_tir.BufferStore(buffer, (i + 1) * 2 + n * (i + 1), [i])).with_attr(
        "global_symbol", "main"
    )
    mod = IRModule({"main": func})
    text = mod.script()
    assert 'kept = T.Buffer((8,), "int32")' in text
    changed = T.CommonSubexprElimTIR()(mod)
    assert "cse_var_1" in changed.script()
    with pytest.raises(VerifyError, match="uses n where it is not defined"):
        build(mod)


def test_a_parameter_is_the_extent_of_its_name():
    mod = module(
        """
        assert n <= 16, 'n'
        for i in range(n):
            if i < 16:
                D[i] = A[i]
""",
        f"{TWO}, n: T.int32",
    )
    assert "if " not in T.Simplify()(mod).script()


def test_what_is_known_of_a_parameter():
    mod = module(
        """
        if n < 64:
            D[0] = A[0]
        assert n < 60, 'n'
        for i in range(64):
            if n < 64:
                D[i] = T.if_then_else(n < 61, A[i], A[0])
            if n < 50:
                D[i] = T.float32(2)
""",
        f"{TWO}, n: T.int32",
    )
    changed = T.Simplify()(mod)
    text = changed.script()
    assert text.count("n < 64") == 1 and "n < 61" not in text and "n < 50" in text
    assert_same_meaning(mod.op, changed.op)


def test_truncated_divisions_of_what_is_not_negative():
    mod = module(
        """
        for i in range(64):
            D[T.truncdiv(i, 4) * 4 + T.truncmod(i, 4)] = A[i]
            D[T.max(T.truncdiv(i - 32, 4) * 4 + T.truncmod(i - 32, 4), 0)] = T.Cast("float32", T.truncdiv(n, 4))
""",
        f"{TWO}, n: T.int32",
    )
    changed = T.Simplify()(mod)
    assert "D[i] = A[i]" in changed.script() and "D[T.max(i - 32, 0)]" in changed.script()
    assert_same_meaning(mod.op, changed.op)


@pytest.mark.parametrize("body", [*SCALAR_BODIES.values(), "D[i] = A[i * 2] + A[63 - i]", "D[i] = A[i // 3 * 3]"])
@pytest.mark.parametrize("count", [3, 16, 21])
def test_vectors_of_the_targets_width_mean_the_same(body, count):
    """Also with masks, with gathers and with shorter vectors, before and after unrolling."""
    mod = module(f"        for i in T.vectorized({count}):\n            {body}\n")
    changed = mod.op.clone()
    for name in ("vectorize-for-target", "unroll-marked-loops"):
        make_passes([name], "llvm -mcpu=haswell")[0].apply(new_context(), changed)
        verify_module(changed)
        assert_same_meaning(mod.op, changed)


def test_conditions_in_normal_form():
    mod = module(
        """
        for i in range(64):
            near = i < 3
            if i >= 4 or n - 1 >= m:
                D[i] = A[i]
            if near or i >= 3:
                D[i] = D[i] + 1.0
            other = i
            D[other] = D[i]
""",
        f"{TWO}, n: T.int32, m: T.int32",
    )
    changed = T.Simplify()(mod)
    text = changed.script()
    assert "if 4 <= i or m < n:" in text and "near or" not in text and "= D[i]\n" not in text
    assert_same_meaning(mod.op, changed.op)


@pytest.mark.parametrize(
    ("condition", "option", "simplified"),
    [
        ("n < 5 and n < 10", "apply_constraints_to_boolean_branches", "if n < 5:"),
        ("n < 5 or n < 10", "apply_constraints_to_boolean_branches", "if n < 10:"),
        ("n < m + 10 and n < m + 5", "apply_constraints_to_boolean_branches", "if n < m + 5:"),
    ],
)
def test_extensions(condition, option, simplified):
    mod = module(f"\n        if {condition}:\n            D[0] = A[0]\n", f"{TWO}, n: T.int32, m: T.int32")
    assert f"if {condition}:" in T.Simplify()(mod).script()
    with PassContext(config={"tir.Simplify": {option: True}}):
        changed = T.Simplify()(mod)
    assert simplified in changed.script()
    assert_same_meaning(mod.op, changed.op)
    with pytest.raises(NameLookupError), PassContext(config={"tir.Simplify": {"fast": True}}):
        T.Simplify()(mod)


def test_a_vector_of_an_intrinsic_keeps_the_count_of_its_signature():
    """What the text says of an LLVM intrinsic's signature it says of the intrinsic on vectors, too."""
    mod = module("""
        for i in T.vectorized(4):
            D[i] = T.call_llvm_pure_intrin("float32", "llvm.fabs", T.uint32(1), A[i])
""")
    changed = T.VectorizeLoop()(mod)
    assert 'T.call_llvm_pure_intrin("float32x4", "llvm.fabs", T.uint32(1), A[0:4])' in changed.script()
    assert_same_meaning(mod.op, changed.op)
