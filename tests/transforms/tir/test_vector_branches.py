"""`vectorize-loop`: lengths that the machine sets, branches that vary, lane by lane or under a mask."""

import numpy as np
import pytest

from tirax.diagnostics import UnsupportedError
from tirax.dialects import tir
from tirax.driver.build import build
from tirax.interpreter.compare import observe, same_values
from tirax.ir.equality import structural_equal
from tirax.ir.passes.transform import PassContext
from tirax.target import Target
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import transform as T

HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
BUFFERS = 'A: T.Buffer((19,), "float32"), D: T.Buffer((19,), "float32"), n: T.int32'
SVE = "llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+sve"
PREDICATES = {"tir.enable_buffer_level_predication": True}


def module(body):
    lines = "\n".join(f"        {line}" for line in body.strip("\n").splitlines())
    return from_source(f"{HEAD}    def main({BUFFERS}):\n{lines}\n")


def ops(mod, kind):
    return [op for op in mod.op.walk() if isinstance(op, kind)]


BRANCHES = {
    "an inner condition": (
        "for i in T.vectorized(16):\n    if n > 3:\n        D[i] = A[i] + T.float32(1)\n    else:\n"
        "        if i < n:\n            D[i] = T.float32(2)"
    ),
    "a condition of what is loaded": (
        "for i in T.vectorized(16):\n    D[i] = A[i] * T.float32(2)\n    if A[i] > T.float32(0):\n"
        "        D[i] = A[i + 1]"
    ),
    "a lazy choice for all lanes": (
        "for j in range(4):\n    for i in T.vectorized(4):\n"
        "        D[j * 4 + i] = T.if_then_else(j > n, A[j * 4 + i], T.float32(0))"
    ),
    "a name": "for i in T.vectorized(16):\n    v: T.float32 = A[i] + T.float32(1)\n    D[i] = v * v",
    "lanes below a limit": (
        "for j in range(4):\n    for i in T.vectorized(4):\n        if j * 4 + i < n:\n"
        "            D[j * 4 + i] = A[j * 4 + i] + T.float32(1)\n            A[j * 4 + i] = T.float32(7)"
    ),
    "other places": (
        "for j in range(4):\n    for i in T.vectorized(4):\n        if j * 4 + i < n:\n"
        "            D[j * 4 + i] = A[j * 4 + i + 1]"
    ),
}


@pytest.mark.parametrize("predicates", [False, True])
@pytest.mark.parametrize("name", list(BRANCHES))
def test_the_meaning_stays(name, predicates):
    mod = module(BRANCHES[name])
    with PassContext(config=PREDICATES if predicates else {}):
        changed = T.VectorizeLoop()(mod)
    rng = np.random.default_rng(0)
    for n in (-1, 0, 1, 5, 16):
        first, second = ([*(rng.normal(size=19).astype("float32") for _ in range(2)), n] for _ in range(2))
        results = [observe(m.op, "main", first, None) for m in (mod, changed)]
        assert same_values(*results) and same_values(*(observe(m.op, "main", second, None) for m in (mod, changed)))
    loops = [op for op in ops(changed, tir.ForOp) if op.loop_var.name_hint == "i_s"]
    masked = ops(changed, tir.MaskedLoadOp | tir.MaskedStoreOp)
    assert bool(masked) == (predicates and name in ("lanes below a limit", "an inner condition"))
    serial = {"an inner condition": 1, "a condition of what is loaded": 1, "other places": 1, "lanes below a limit": 1}
    assert len(loops) == (0 if masked else serial.get(name, 0))


def test_masks_are_compiled_and_printed():
    with PassContext(config=PREDICATES):
        changed = T.VectorizeLoop()(module(BRANCHES["lanes below a limit"]))
    text = changed.script()
    assert 'predicate=T.get_active_lane_mask("uint1x4", j * 4, n)' in text
    assert structural_equal(from_source(text).op, changed.op)
    run = build(changed, target="llvm")["main"]
    for n in (-2, 0, 3, 16):
        a, d = np.arange(19, dtype="float32"), np.full(19, -1, "float32")
        run(a, d, n)
        assert d[: max(n, 0)].tolist() == [float(i + 1) for i in range(max(n, 0))] and (d[max(n, 0) :] == -1).all()
        assert a.tolist() == [7.0 if i < n else float(i) for i in range(19)]


def test_the_length_of_vectors_is_set_by_machines_that_have_such():
    mod = module("for i in T.vectorized(4 * T.vscale()):\n    D[i] = A[i] + T.float32(1)")
    with Target(SVE):
        changed = T.VectorizeLoop()(mod)
    (store,) = ops(changed, tir.StoreOp)
    assert str(store.value.type) == "vector<[4]xf32>" and not ops(changed, tir.ForOp)
    assert "D[0:T.vscale() * 4] = A[0:T.vscale() * 4]" in changed.script()
    assert structural_equal(from_source(changed.script()).op, changed.op)
    with pytest.raises(UnsupportedError, match=r"extent T\.vscale\(\) \* 4 for target \(nullptr\)"):
        T.VectorizeLoop()(mod)
    with pytest.raises(UnsupportedError, match="a vector whose length the machine sets"):
        build(changed, target="llvm")


def test_a_function_may_say_its_target():
    body = f'T.func_attr({{"target": "{SVE}"}})\nfor i in T.vectorized(T.vscale() * 2):\n    D[i] = A[i]'
    assert not ops(T.VectorizeLoop()(module(body)), tir.ForOp)
    around = f'with T.attr("{SVE}", "target", 0):\n    for i in T.vectorized(T.vscale() * 2):\n        D[i] = A[i]'
    assert not ops(T.VectorizeLoop()(module(around)), tir.ForOp)


def test_vectors_do_not_contain_vectors_of_unknown_length():
    mod = module("for i in T.vectorized(T.vscale() * 4):\n    D[i * 4:i * 4 + 4] = T.Broadcast(T.float32(1), 4)")
    with Target(SVE), pytest.raises(UnsupportedError, match="Creating scalable vectors from existing vectors"):
        T.VectorizeLoop()(mod)


@pytest.mark.parametrize("value", ["T.Broadcast(1, 4)", "T.Broadcast(T.Cast('int32', n), 4)"])
def test_a_stored_broadcast_is_converted_once(value):
    mod = module(f"D[0:4] = {value}")
    (broadcast,) = ops(mod, tir.BroadcastOp)
    assert str(broadcast.value.type) == "f32"


def test_masks_that_do_not_fit_are_refused():
    for bad in ("T.Broadcast(T.bool(True), 3)", "T.Broadcast(1, 4)", "1"):
        with pytest.raises(Exception, match="as many booleans"):
            module(f"A.vstore([T.Ramp(0, 1, 4)], T.Broadcast(T.float32(1), 4), predicate={bad})")
