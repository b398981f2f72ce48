"""What memory plans hold and refuse, natively too; analyses of memory."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import ShapeError, TiraxError, UnsupportedError
from tirax.dialects import relax
from tirax.dialects.relax.memory import AllocStorage, AllocTensor, KillObject, KillStorage, KillTensor, VMAllocStorage
from tirax.driver.build import build
from tirax.driver.pipelines import TVM_BUILD, TVM_ZERO, make_passes
from tirax.interpreter import assert_same_meaning
from tirax.ir.buffers.memory_usage import estimate_memory_usage, has_reshape_pattern, memory_usage, plan_problems
from tirax.ir.functions.lookup import functions, relax_functions
from tirax.script import parse_source
from tirax.transforms.bindings.eliminate_common_subexpr import EliminateCommonSubexpr
from tirax.tvm_api.passes.memory.allocate_workspace import AllocateWorkspace
from tirax.tvm_api.passes.memory.dataflow_use_inplace_calls import DataflowUseInplaceCalls
from tirax.tvm_api.passes.memory.lower_runtime_builtin import LowerRuntimeBuiltin
from tirax.tvm_api.passes.memory.remove_purity_checking import RemovePurityChecking
from tirax.tvm_api.passes.memory.static_plan_block_memory import StaticPlanBlockMemory

HEAD = "    @R.function(pure=False)\n    def main({params}):\n        n = T.int64()\n        cls = Module\n"
X = 'x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")'
F32 = 'R.Tensor((n, 4), "float32")'


def program(module, *lines, params=X, result="x"):
    return module(HEAD.format(params=params) + "".join(f"        {line}\n" for line in (*lines, f"return {result}")))


def call(name, out, *args):
    return f"{out} = R.call_tir(cls.{name}, ({', '.join(args)},), out_sinfo={F32})"


def count(module, kind):
    return sum(isinstance(op, kind) for op in module.walk())


def run_passes(module, names):
    for p in make_passes(names):
        module = p(module)
    return module


NETWORK = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32"), c: R.Tensor((), "bool")):
        n = T.int64()
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(a)
            d = R.reshape(b, (n * 2, 4))
            e = R.exp(d)
            f = R.reshape(e, (n, 8))
            g = R.add(f, a)
            h = R.nn.softmax(g)
            R.output(g, h)
        if c:
            i = R.matmul(h, w)
            j = R.add(i, g)
            r = R.tanh(j)
        else:
            r = R.exp(g)
        with R.dataflow():
            k = R.add(r, g)
            l = R.reshape(k, (n * 8,))
            m = R.exp(k)
            gv = (m, l)
            R.output(gv)
        return gv
"""


def test_default_build():
    """The passes of TVM's pipeline, their meaning, and the executable of what they make."""
    before = parse_source(NETWORK)
    after = tvm.relax.get_pipeline("default_build")(before)
    assert_same_meaning(before, after)
    (func,) = relax_functions(after)
    assert all(plan_problems(func, {"n": n}) == [] for n in (0, 1, 5))
    assert count(after, AllocTensor) == 0 and count(after, relax.CallTIROp) == 0 and count(after, KillObject) > 0
    native, planned = build(before)["main"], build(after)["main"]
    rng = np.random.default_rng(0)
    w = rng.random((8, 8), np.float32)
    for n in (0, 1, 3, 50):
        for c in (True, False):
            x = rng.random((n, 8), np.float32)
            for expected, actual in zip(native(x, w, np.array(c)), planned(x, w, np.array(c)), strict=True):
                np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_pipelines_by_name():
    def names(pipeline):
        return tuple(p.name for p in pipeline.passes)

    assert names(tvm.relax.get_pipeline("default_build")) == TVM_BUILD
    assert names(tvm.relax.get_pipeline("zero")) == names(tvm.relax.get_pipeline()) == TVM_ZERO


def test_storage_of_a_branch_stays_in_it(module):
    """The other branch and what follows cannot use it."""
    before = program(
        module,
        "if c:",
        *(f"    {line}" for line in (call("exp", "a", "x"), call("exp", "b", "a"), call("exp", "r", "b"))),
        "else:",
        *(f"    {line}" for line in (call("exp", "d", "x"), call("exp", "e", "d"), call("exp", "r", "e"))),
        call("exp", "z", "r"),
        call("exp", "y", "z"),
        result="y",
    )
    after = run_passes(before, ("call-tir-rewrite", "static-plan-block-memory"))
    assert count(after, AllocStorage) == 5
    assert_same_meaning(before, after)


KEPT = [
    (("a1 = R.add(a, a)",), "an operator uses it"),
    (("t = (a, x)", "u = cls.id(t)"), "a Relax function gets it"),
    (("if c:", "    r = R.call_packed('f', a, sinfo_args=(R.Object,))", "else:", "    r = R.null_value()"), "a branch"),
]


@pytest.mark.parametrize(("lines", "why"), KEPT, ids=[why for _, why in KEPT])
def test_kept(module, lines, why):
    text = HEAD.format(params=X) + "".join(
        f"        {line}\n"
        for line in ("a = R.builtin.alloc_tensor(R.shape([n, 4]), 'float32', 0)", *lines, "return x")
    )
    other = '    @R.function\n    def id(t: R.Tuple(R.Tensor(("n", 4), "float32"), R.Tensor(("n", 4), "float32"))):\n'
    after = StaticPlanBlockMemory()(module(other + "        return t\n\n" + text))
    assert count(after, AllocTensor) == 1 and count(after, AllocStorage) == 0


def test_bounds_are_numbers(module):
    line = "R.func_attr({'tir_var_upper_bound': {'n': -1}})"
    with pytest.raises(TiraxError, match="tir_var_upper_bound of 'main' is malformed") as caught:
        StaticPlanBlockMemory()(program(module, line))
    assert caught.value.location is not None


def test_bounds_hold_natively(module):
    """More than the bound does not fit, and is refused."""
    before = program(
        module,
        "R.func_attr({'tir_var_upper_bound': {'n': 3}})",
        call("exp", "a", "x"),
        call("exp", "b", "a"),
        call("exp", "d", "b"),
        call("exp", "y", "d"),
        result="y",
    )
    after = run_passes(before, ("call-tir-rewrite", "static-plan-block-memory"))
    (func,) = relax_functions(after)
    assert all(plan_problems(func, {"n": n}) == [] for n in (0, 1, 3))
    assert "takes the bytes 0 to 64 of 48" in plan_problems(func, {"n": 4})[0]
    run = build(after)["main"]
    for n in (0, 1, 3):
        np.testing.assert_allclose(
            run(np.zeros((n, 4), np.float32), np.array(True)), np.full((n, 4), np.exp(np.exp(np.exp(1)))), rtol=1e-5
        )
    with pytest.raises(ShapeError, match="out of its bounds"):
        run(np.zeros((4, 4), np.float32), np.array(True))


def test_plan_problems(module):
    """Overlaps are found through other names, tuples and reshapes, not between branches."""
    tensor = "{} = R.memory.alloc_tensor(s, {}, R.shape([4]), 'float32')"
    lines = (
        "s = R.memory.alloc_storage(R.shape([32]), 0, 'global', 'uint8')",
        tensor.format("a", 0),
        "a1 = R.reshape(a, (2, 2))",
        "t = (a1, x)",
        tensor.format("b", 12),
        "u = t[0]",
        tensor.format("d", 16),
        "v = R.call_packed('f', u, sinfo_args=(R.Object,))",
        tensor.format("e", 0),
        "w = R.call_packed('f', e, d, sinfo_args=(R.Object,))",
    )
    (func,) = relax_functions(program(module, *lines))
    assert plan_problems(func) == ["'b' shares bytes with 'a', which is still needed"]
    branches = (
        lines[0],
        "if c:",
        f"    {tensor.format('a', 0)}",
        "    r = a",
        "else:",
        f"    {tensor.format('b', 8)}",
        "    r = b",
    )
    (func,) = relax_functions(program(module, *branches, result="r"))
    assert plan_problems(func) == []


def test_kills_stand_after_the_last_use(module):
    before = program(
        module, call("exp", "a", "x"), "if c:", f"    {call('exp', 'r', 'a')}", "else:", "    r = a", result="r"
    )
    after = run_passes(before, ("call-tir-rewrite", "lower-alloc-tensor", "kill-after-last-use"))
    block = relax_functions(after)[0].body.block
    kinds = [type(op) for op in block.ops]
    assert KillTensor not in kinds[: kinds.index(relax.IfOp)] and KillTensor in kinds[kinds.index(relax.IfOp) :]
    assert count(after, KillStorage) == count(after, AllocStorage)
    assert_same_meaning(before, after)
    again = run_passes(after, ("kill-after-last-use",))
    assert str(again) == str(after)


def test_allocations_are_not_shared(module):
    """Two that are equal are two."""
    lines = [f"{name} = R.builtin.alloc_tensor(R.shape([n, 4]), 'float32', 0)" for name in "ab"]
    before = program(module, *lines, "cls.exp(x, a)", "cls.exp(a, b)", result="(a, b)")
    assert_same_meaning(before, EliminateCommonSubexpr()(before))


def test_runtime_builtins_are_for_plain_bindings(module):
    before = program(module, "with R.dataflow():", "    y = R.reshape(x, (n * 4,))", "    R.output(y)")
    with pytest.raises(TiraxError, match="relax.reshape would have effects in a dataflow block") as caught:
        LowerRuntimeBuiltin()(before)
    assert caught.value.location is not None
    with pytest.raises(TiraxError, match="not in storage yet"):
        LowerRuntimeBuiltin()(program(module, "a = R.builtin.alloc_tensor(R.shape([n, 4]), 'float32', 0)"))


def test_purity_is_for_plain_bindings(module):
    call_packed = "    y = R.call_pure_packed('f', x, sinfo_args=(R.Object,))"
    before = program(module, "with R.dataflow():", call_packed, "    R.output(y)")
    with pytest.raises(TiraxError, match="1 calls of dataflow blocks would have effects") as caught:
        RemovePurityChecking()(before)
    assert caught.value.hint == "run to-non-dataflow before" and caught.value.location is not None


IN_PLACE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), b: R.Tensor((3,), "float32")):
        n = T.int64()
        with R.dataflow():
            {}
            R.output({})
        return {}
"""
NOT_WRITTEN = {
    "a parameter": ("gv = R.nn.relu(x)", "gv"),
    "an output": ("y = R.exp(x)\n            gv = R.nn.relu(y)", "gv, y"),
    "needed later": ("y = R.exp(x)\n            z = R.nn.relu(y)\n            gv = R.maximum(x, y)", "gv, z"),
    "by another name": (
        "y = R.exp(x)\n            t = (y, x)\n            z = R.nn.relu(y)\n            gv = t[0]",
        "gv, z",
    ),
    "smaller": ("y = R.exp(b)\n            gv = R.add(x, y)", "gv"),
    "of another dtype": ("y = R.exp(x)\n            gv = R.nn.relu(R.astype(y, 'float16'))", "gv, y"),
    "twice": ("y = R.exp(x)\n            gv = R.add(y, y)", "gv"),
    "constant": ("y = R.zeros((3,), 'float32')\n            gv = R.nn.relu(y)", "gv"),
}


@pytest.mark.parametrize("case", NOT_WRITTEN)
def test_not_written_in_place(case):
    lines, out = NOT_WRITTEN[case]
    before = parse_source(IN_PLACE.format(lines, out, out.split(", ")[0]))
    after = DataflowUseInplaceCalls()(before)
    expected = 1 if case == "of another dtype" else 0
    assert count(after, relax.CallTIRInplaceOp) == expected
    assert_same_meaning(before, after)


def test_written_in_place_natively():
    """In place means in place: no more memory than for the first result, and inputs stay."""
    lines = "y = R.add(x, b)\n            z = R.nn.relu(y)\n            gv = R.multiply(z, x)"
    before = parse_source(IN_PLACE.format(lines, "gv", "gv"))
    after = run_passes(before, ("dataflow-use-inplace-calls", "legalize-ops", *TVM_BUILD[1:]))
    assert count(after, VMAllocStorage) == 1
    x, b = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3), np.ones(3, "float32")
    inputs = x.copy()
    np.testing.assert_allclose(build(after)["main"](inputs, b), np.maximum(x + b, 0) * x, rtol=1e-6)
    np.testing.assert_array_equal(inputs, x)


def test_workspaces_are_refused(module):
    sized = """    @R.function
    def f(x: R.Tensor((2,), "float32")):
        R.func_attr({"Codegen": "a", "WorkspaceSize": %s})
        return x

"""
    with pytest.raises(TiraxError, match="WorkspaceSize of 'f' is no size"):
        AllocateWorkspace()(module(sized % "'big'"))
    used = sized % "4" + "    @R.function\n    def main():\n        cls = Module\n        g = cls.f\n"
    with pytest.raises(UnsupportedError, match="used as a value"):
        AllocateWorkspace()(module(used + "        t = (g, g)\n        return t\n"))


def test_estimate(module):
    """As TVM words it."""
    lines = (call("exp", "a", "x"), "b = R.builtin.alloc_tensor(R.shape([1024, 1024]), 'float32', 0)")
    planned = program(
        module,
        *lines,
        "d = R.builtin.alloc_tensor(R.shape([1024, 512]), 'float32', 0)",
        "u = R.call_packed('f', b, sinfo_args=(R.Object,))",
        "v = R.call_packed('f', d, sinfo_args=(R.Object,))",
        "e = R.builtin.alloc_tensor(R.shape([1024, 512]), 'float32', 0)",
        "w = R.call_packed('f', e, sinfo_args=(R.Object,))",
    )
    after = run_passes(planned, ("call-tir-rewrite", "static-plan-block-memory"))
    assert estimate_memory_usage(after) == (
        "Memory usage estimation:\n- Function main:\n"
        " * Without memory planning, there are 3 constant-size memory allocation(s) with total size 0.007812 GB, "
        "and 1 dynamic-size allocation(s).\n"
        " * With memory planning, there are 2 constant-size memory allocation(s) with total size 0.005859 GB.\n"
        " * Memory planning reduces constant memory size to 75.0%.\n"
    )
    assert memory_usage(relax_functions(after)[0]).planned_bytes == 6 * 2**20
    assert estimate_memory_usage(tvm.IRModule(after)["main"]).startswith("Memory usage estimation:\n- Function foo:\n")
    with pytest.raises(TiraxError, match="of a module or a Relax function"):
        estimate_memory_usage("main")


COPY = """
@T.prim_func(private=True)
def f(A: T.Buffer({}, "float32"), B: T.Buffer({}, "{}")):
    for {} in T.grid({}):
        with T.block("copy"):
            {}
            B[{}] = {}
"""


def axes(*sizes):
    names = "ijk"[: len(sizes)]
    text = "; ".join(f"v{n} = T.axis.spatial({size}, {n})" for n, size in zip(names, sizes, strict=True))
    return ", ".join(names), ", ".join(map(str, sizes)), text.replace("; ", "\n            ")


def copies(source, target, sizes, written, value, dtype="float32"):
    loops, extents, binding = axes(*sizes)
    return parse_source(COPY.format(source, target, dtype, loops, extents, binding, written, value)).body.block.first_op


RESHAPES = [
    copies((2, 3), (6,), (6,), "vi", "A[vi // 3, vi % 3]"),
    copies((6,), (2, 3), (2, 3), "vi, vj", "A[vi * 3 + vj]"),
    copies((2, 3), (2, 1, 3), (2, 1, 3), "vi, vj, vk", "A[vi, vk]"),
    copies((4, 3), (2, 6), (2, 6), "vi, vj", "A[vi * 2 + vj // 3, vj % 3]"),
    copies((2, 3), (2, 3), (2, 3), "vi, vj", "A[vi, vj]"),
]
OTHERS = [
    copies((2, 3), (3, 2), (3, 2), "vi, vj", "A[vj, vi]"),
    copies((2, 3), (6,), (6,), "vi", "A[vi % 2, vi // 2]"),
    copies((6,), (6,), (5,), "vi", "A[vi]"),
    copies((6,), (6,), (6,), "vi", "A[5 - vi]"),
    copies((6,), (6,), (6,), "vi", "A[vi] + T.float32(1)"),
    copies((6,), (6,), (6,), "vi", 'T.Cast("float16", A[vi])', "float16"),
    copies((6,), (6,), (6,), "0", "A[vi]"),
]


@pytest.mark.parametrize("func", RESHAPES)
def test_reshapes(func):
    assert has_reshape_pattern(func)


def test_buffers_that_are_not_read_are_no_matter():
    text = """
@T.prim_func(private=True)
def f(A: T.Buffer((2, 3), "float32"), U: T.Buffer((2, 3), "float32"), B: T.buffer((6,), "float32")):
    for i in range(6):
        with T.block("copy"):
            vi = T.axis.spatial(6, i)
            B[vi] = A[vi // 3, vi % 3]
"""
    assert has_reshape_pattern(parse_source(text).body.block.first_op)
    other = text.replace("A[vi", "U[vi")
    assert not has_reshape_pattern(parse_source(other).body.block.first_op)


@pytest.mark.parametrize("func", OTHERS)
def test_no_reshapes(func):
    assert not has_reshape_pattern(func)


def test_loops_may_count_in_another_order():
    text = """
@T.prim_func(private=True)
def f(A: T.Buffer((4, 6), "float32"), B: T.buffer((4, 2, 3), "float32")):
    for inner, outer in T.grid(8, 3):
        with T.block("copy"):
            v0 = T.axis.spatial(4, (outer * 8 + inner) // 6)
            v1 = T.axis.spatial(2, (outer * 8 + inner) % 6 // 3)
            v2 = T.axis.spatial(3, (outer * 8 + inner) % 3)
            B[v0, v1, v2] = A[v0, v1 * 3 + v2]
"""
    assert has_reshape_pattern(parse_source(text).body.block.first_op)
    overlapping = text.replace("outer * 8 + inner", "outer * 4 + inner")
    assert not has_reshape_pattern(parse_source(overlapping).body.block.first_op)


def test_the_first_elements_are_no_reshape():
    """They have the pattern, as in TVM; a call of such a function stays."""
    text = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def first(A: T.Buffer((1, 6), "float32"), B: T.Buffer((1, 3), "float32")):
        for i, j in T.grid(1, 3):
            with T.block("first"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]

    @R.function
    def main(x: R.Tensor((1, 6), "float32")) -> R.Tensor((1, 3), "float32"):
        with R.dataflow():
            y = R.call_tir(Module.first, (x,), out_sinfo=R.Tensor((1, 3), "float32"))
            z = R.exp(y)
            R.output(z)
        return z
"""
    module = parse_source(text)
    assert has_reshape_pattern(functions(module)["first"])
    (rewrite,) = make_passes(("rewrite-dataflow-reshape",))
    assert str(rewrite(module)) == str(module)


def test_what_dataflow_gives_is_reshaped_but_not_by_tvms_pass():
    text = """
@R.function
def main(x: R.Tensor(("n", 6), "float32")):
    with R.dataflow():
        y = R.reshape(R.exp(x), (-1, 2, 3))
        R.output(y)
    return y
"""
    legal = tvm.relax.transform.LegalizeOps()(parse_source(text))
    (rewrite,) = make_passes(("rewrite-dataflow-reshape",))
    assert "relax.reshape" in str(rewrite(legal)) and "relax.reshape" not in str(legal)
    assert str(tvm.relax.transform.RewriteDataflowReshape()(legal)) == str(legal)


def test_reshape_pattern_of_handles(module):
    handle = tvm.IRModule(module("    pass\n"))["exp"]
    assert not tvm.relax.analysis.has_reshape_pattern(handle)
    with pytest.raises(TiraxError, match="a tensor function is expected"):
        has_reshape_pattern("exp")


def test_values_are_computed_by_one_function(module):
    """Equal expressions of other variables share it; natively too."""
    lines = ("m = T.int64()", "a = R.prim_value(n * m + 1)", "b = R.prim_value(m * n + 1)", "d = R.prim_value(n // 2)")
    params = 'x: R.Tensor(("n", "m"), "float32")'
    before = program(module, *lines, params=params, result="(a, b, d)")
    after = run_passes(before, ("compute-prim-value",))
    assert sum(name.startswith("compute_symbolic_expr") for name in functions(after)) == 2
    assert_same_meaning(before, after)
    assert tuple(build(after)["main"](np.zeros((5, 3), np.float32))) == (16, 16, 2)
