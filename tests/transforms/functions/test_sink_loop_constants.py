"""Constants that loops pass on: where they go, what stays, and that programs mean the same."""

import numpy as np

from tirax.dialects import relax
from tirax.driver.build import build
from tirax.frontend.block_builder import BlockBuilder
from tirax.handles.relax import names as rx
from tirax.interpreter import interpret
from tirax.ir.functions.lookup import ops_of_type
from tirax.transforms.functions.sink_loop_constants import SinkLoopConstants
from tirax.tvm_api.script import relax as R

X, W, B = (np.random.default_rng(i).normal(size=s).astype("float32") for i, s in enumerate([(3, 4), (4, 4), (4,)]))


def nested():
    """A loop in a loop; both use weights that are parameters."""
    x, w, b = (rx.Var(n, rx.TensorStructInfo(a.shape, "float32")) for n, a in (("x", X), ("w", W), ("b", B)))
    bb = BlockBuilder()

    def outer(i, h):
        (h,) = bb.scan(lambda j, g: bb.emit(R.tanh(R.matmul(g, w))), [h], 2)
        return bb.emit(R.add(h, b))

    with bb.function("main", [x, w, b]):
        bb.emit_func_output(bb.scan(outer, [x], 3)[0])
    mod = bb.get()
    mod["main"] = mod["main"].bind_params({"w": W, "b": B})
    return mod


def reference(x):
    for _ in range(3):
        for _ in range(2):
            x = np.tanh(x @ W)
        x = x + B
    return x


def invariants(mod):
    return [len(loop.invariants) for loop in ops_of_type(mod.op, relax.WhileLoop)]


def test_constants_go_through_loops_in_loops():
    mod = nested()
    after = SinkLoopConstants()(mod)
    assert invariants(mod) == [1, 2] and invariants(after) == [0, 0]
    for results in (interpret(after, "main", [X]), build(mod)["main"](X)):
        np.testing.assert_allclose(results, reference(X), rtol=1e-5)


def test_functions_of_two_loops_stay():
    mod = nested()
    (loop,) = ops_of_type(mod["main"].op, relax.WhileLoop)
    loop.parent.insert_op_before(loop.clone(), loop)
    assert invariants(SinkLoopConstants()(mod)) == [1, 2, 2]
