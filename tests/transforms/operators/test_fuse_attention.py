"""Attention that is written out: what becomes the operator, what stays, that the meaning is the same."""

import re
from functools import partial

import numpy as np
import pytest
from relax_programs import dataflow_program, tensor

import tirax.tvm_api as tvm
from tirax.driver.pipelines import make_passes
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.passes.transform import Sequential
from tirax.tvm_api import relax
from tirax.tvm_api.relax.frontend import nn

op = relax.op
N, M = '"n"', '"m"'
program = partial(dataflow_program, sizes="nm")


def fused(mod):
    return Sequential(make_passes(["fuse-attention"]))(mod)


OPERANDS = [tensor("q", 2, N, 3, 8), *(tensor(name, 2, M, 3, 8) for name in "kv")]
IN_FRONT = [tensor("q", 2, 3, N, 8), tensor("k", 2, 3, M, 8), tensor("v", 2, 3, M, 5)]
BATCHES = [tensor("q", 2, N, 8), tensor("k", 2, M, 8), tensor("v", 2, M, 5)]
MATRICES = [tensor("q", N, 8), tensor("k", M, 8), tensor("v", M, 5)]
SPLIT = [f"{name}1 = R.permute_dims({name}, axes=[0, 2, 1, 3])" for name in "qkv"]
TURNED = "kt = R.permute_dims(k, axes=[0, 1, 3, 2])"
SCORES = ["k2 = R.permute_dims(k1, axes=[0, 1, 3, 2])", "s = R.matmul(q1, k2)"]
BACK = ["z = R.permute_dims(y, axes=[0, 2, 1, 3])", "o = R.reshape(z, (2, n, 24))", "o"]

MERGED = [f"{x}3 = R.reshape({x}1, (6, {n}, 8))" for x, n in (("q", "n"), ("k", "m"), ("v", "m"))]


def repeated(x):
    """Three heads of keys or values for six of queries, as importers write it."""
    return [
        f"{x}4 = R.expand_dims({x}1, axis=[2])",
        f"{x}5 = R.broadcast_to({x}4, (2, 3, 2, m, 8))",
        f"{x}3 = R.reshape({x}5, (2, 6, m, 8))",
    ]


WRITTEN_OUT = {
    "heads": (OPERANDS, *SPLIT, *SCORES, "w = R.nn.softmax(s)", "y = R.matmul(w, v1)", *BACK),
    "scale and mask": (
        [*OPERANDS, tensor("b", N, M)],
        *SPLIT, *SCORES, "t = R.multiply(R.const(0.3), s)", "u = R.add(b, t)", "w = R.nn.softmax(u, axis=3)",
        "y = R.matmul(w, v1)", *BACK,
    ),
    "keys turned at once": (
        OPERANDS,
        SPLIT[0], "k2 = R.permute_dims(k, axes=[0, 2, 3, 1])", SPLIT[2], "s = R.matmul(q1, k2)",
        "t = R.divide(s, R.const([2.0]))", "w = R.nn.softmax(t)", "y = R.matmul(w, v1)", *BACK,
    ),
    "heads in front": (IN_FRONT, TURNED, "s = R.matmul(q, kt)", "w = R.nn.softmax(s)", "y = R.matmul(w, v)", "y"),
    "a mask for heads": (
        [*IN_FRONT, tensor("b", 1, 3, N, M)],
        TURNED, "s = R.matmul(q, kt)", "u = R.add(s, b)", "w = R.nn.softmax(u)", "y = R.matmul(w, v)", "y",
    ),
    "heads in front, then behind": (
        IN_FRONT,
        TURNED, "s = R.matmul(q, kt)", "w = R.nn.softmax(s)", "y = R.matmul(w, v)",
        "z = R.permute_dims(y, axes=[0, 2, 1, 3])", "z",
    ),
    "batches": (
        [*BATCHES, tensor("b", 2, N, M)],
        "kt = R.permute_dims(k, axes=[0, 2, 1])", "s = R.matmul(q, kt)", "u = R.add(s, b)", "w = R.nn.softmax(u)",
        "y = R.matmul(w, v)", "y",
    ),
    "matrices": (
        [*MATRICES, tensor("b", M)],
        "kt = R.permute_dims(k)", "s = R.matmul(q, kt)", "u = R.add(s, b)", "w = R.nn.softmax(u)",
        "y = R.matmul(w, v)", "y",
    ),
    "queries divided": (
        OPERANDS, *SPLIT, "q2 = R.divide(q1, R.const(4.0))", "k2 = R.permute_dims(k1, axes=[0, 1, 3, 2])",
        "s = R.matmul(q2, k2)", "w = R.nn.softmax(s)", "y = R.matmul(w, v1)", *BACK,
    ),
    "queries and turned keys scaled": (
        [*OPERANDS, tensor("b", 2, 1, 1, M)],
        *SPLIT, "q2 = R.multiply(q1, R.const(0.5))", "k2 = R.permute_dims(k1, axes=[0, 1, 3, 2])",
        "k3 = R.multiply(k2, R.const(0.5))", "s = R.matmul(q2, k3)", "u = R.add(s, b)", "w = R.nn.softmax(u)",
        "y = R.matmul(w, v1)", *BACK,
    ),
    "keys scaled, then turned": (
        OPERANDS, *SPLIT, "k3 = R.multiply(R.const(0.5), k1)", "k2 = R.permute_dims(k3, axes=[0, 1, 3, 2])",
        "s = R.matmul(q1, k2)", "w = R.nn.softmax(s)", "y = R.matmul(w, v1)", *BACK,
    ),
    "batches of heads": (
        [*OPERANDS, tensor("b", 6, N, M)],
        *SPLIT, *MERGED, "kt = R.permute_dims(k3, axes=[0, 2, 1])", "s = R.matmul(q3, kt)",
        "t = R.multiply(s, R.const(0.5))", "u = R.add(t, b)", "w = R.nn.softmax(u)", "y = R.matmul(w, v3)",
        "y1 = R.reshape(y, (2, 3, n, 8))", "z = R.permute_dims(y1, axes=[0, 2, 1, 3])",
        "o = R.reshape(z, (2, n, 24))", "o",
    ),
    "batches of heads that stay so": (
        OPERANDS, *SPLIT, *MERGED, "kt = R.permute_dims(k3, axes=[0, 2, 1])", "s = R.matmul(q3, kt)",
        "w = R.nn.softmax(s)", "y = R.matmul(w, v3)", "y",
    ),
    "groups of heads": (
        [tensor("q", 2, N, 6, 8), *(tensor(name, 2, M, 3, 8) for name in "kv")],
        *SPLIT, *(line for x in "kv" for line in repeated(x)), "k2 = R.permute_dims(k3, axes=[0, 1, 3, 2])",
        "s = R.matmul(q1, k2)", "w = R.nn.softmax(s)", "y = R.matmul(w, v3)",
        "z = R.permute_dims(y, axes=[0, 2, 1, 3])", "z",
    ),
    "keys turned while heads are batches": (
        OPERANDS, *SPLIT, MERGED[1], "k4 = R.permute_dims(k3, axes=[0, 2, 1])", "kt = R.reshape(k4, (2, 3, 8, m))",
        "k5 = R.multiply(kt, R.const(0.5))", "s = R.matmul(q1, k5)", "w = R.nn.softmax(s)", "y = R.matmul(w, v1)",
        *BACK,
    ),
    "what is no number is zero": (
        [*OPERANDS, tensor("b", 2, 1, 1, M)],
        *SPLIT, *SCORES, "u = R.add(s, b)", "w = R.nn.softmax(u)", "c = R.isnan(w)",
        "w2 = R.where(c, R.const(0.0), w)", "y = R.matmul(w2, v1)", *BACK,
    ),
    "used twice": (
        OPERANDS, *SPLIT, *SCORES, "w = R.nn.softmax(s)", "y = R.matmul(w, v1)",
        "z = R.permute_dims(y, axes=[0, 2, 1, 3])", "z, y",
    ),
}  # fmt: skip
ALLOWED = np.tri(5, 7) > 0
MASKED = {
    "added": lambda s, mask: op.add(s, relax.const(np.where(mask, np.float32(-np.inf), np.float32(0)))),
    "chosen": lambda s, mask: op.where(relax.const(mask), s, relax.const(-1e30, "float32")),
    "left out": lambda s, mask: op.where(relax.const(mask), relax.const(-np.inf, "float32"), s),
}
"""How a constant mask is put on scores."""
LEFT = {
    "the weights are a result": (
        IN_FRONT, TURNED, "s = R.matmul(q, kt)", "w = R.nn.softmax(s)", "y = R.matmul(w, v)", "w, y",
    ),
    "another axis": (
        MATRICES, "kt = R.permute_dims(k)", "s = R.matmul(q, kt)", "w = R.nn.softmax(s, axis=0)",
        "y = R.matmul(w, v)", "y",
    ),
    "keys for all batches": (
        [BATCHES[0], tensor("k", 1, M, 8), BATCHES[2]],
        "kt = R.permute_dims(k, axes=[0, 2, 1])", "s = R.matmul(q, kt)", "w = R.nn.softmax(s)", "y = R.matmul(w, v)",
        "y",
    ),
    "a mask that adds batches": (
        [*MATRICES, tensor("b", 1, N, M)],
        "kt = R.permute_dims(k)", "s = R.matmul(q, kt)", "u = R.add(s, b)", "w = R.nn.softmax(u)",
        "y = R.matmul(w, v)", "y",
    ),
    "no transposition": (
        [MATRICES[0], tensor("k", 8, M), MATRICES[2]],
        "s = R.matmul(q, k)", "w = R.nn.softmax(s)", "y = R.matmul(w, v)", "y",
    ),
    "what is no number is one": (
        MATRICES, "kt = R.permute_dims(k)", "s = R.matmul(q, kt)", "w = R.nn.softmax(s)", "c = R.isnan(w)",
        "w2 = R.where(c, R.const(1.0), w)", "y = R.matmul(w2, v)", "y",
    ),
    "numbers chosen by others": (
        MATRICES, "kt = R.permute_dims(k)", "s = R.matmul(q, kt)", "w = R.nn.softmax(s)", "c = R.isnan(s)",
        "w2 = R.where(c, R.const(0.0), w)", "y = R.matmul(w2, v)", "y",
    ),
    "keys turned otherwise while heads are batches": (
        IN_FRONT, "k3 = R.reshape(k, (6, m, 8))", "kt = R.reshape(k3, (2, 3, 8, m))", "s = R.matmul(q, kt)",
        "w = R.nn.softmax(s)", "y = R.matmul(w, v)", "y",
    ),
    "a scale by rows": (
        [*MATRICES, tensor("b", N, 1)],
        "kt = R.permute_dims(k)", "s = R.matmul(q, kt)", "u = R.multiply(s, b)", "w = R.nn.softmax(u)",
        "y = R.matmul(w, v)", "y",
    ),
    "queries for rows": (
        [*MATRICES, tensor("b", N, 1)],
        "q2 = R.divide(q, R.const(0.0))", "kt = R.permute_dims(k)", "s = R.matmul(q2, kt)",
        "u = R.multiply(s, b)", "w = R.nn.softmax(u)", "y = R.matmul(w, v)", "y",
    ),
    "half the numbers in another dtype": (
        MATRICES,
        "kt = R.permute_dims(k)", "s = R.matmul(q, kt)", "u = R.astype(s, \"float64\")", "w = R.nn.softmax(u)",
        "w1 = R.astype(w, \"float32\")", "y = R.matmul(w1, v)", "y",
    ),
    "divided by zero": (
        MATRICES, "kt = R.permute_dims(k)", "s = R.matmul(q, kt)", "u = R.divide(s, R.const(0.0))",
        "w = R.nn.softmax(u)", "y = R.matmul(w, v)", "y",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITTEN_OUT)
def test_written_out(case):
    before = program(*WRITTEN_OUT[case])
    after = fused(before)
    assert "R.nn.attention" in after.script() and "softmax" not in after.script()
    assert_same_meaning(before.op, after.op)


@pytest.mark.parametrize(
    "case",
    [
        *("heads", "scale and mask", "keys turned at once", "heads in front", "queries divided", "batches of heads"),
        *("queries and turned keys scaled", "keys scaled, then turned"),
    ],
)
def test_nothing_is_moved(case):
    assert "permute_dims" not in fused(program(*WRITTEN_OUT[case])).script()


def masked(name, mask):
    """Attention of matrices with a constant mask."""
    x = [relax.Var(n, relax.TensorStructInfo(d, "float32")) for n, d in (("q", (5, 8)), ("k", (7, 8)), ("v", (7, 4)))]
    builder = relax.BlockBuilder()
    with builder.function("main", x):
        with builder.dataflow():
            s = builder.emit(op.matmul(x[0], op.permute_dims(x[1])))
            y = builder.emit_output(op.matmul(op.nn.softmax(MASKED[name](s, mask)), x[2]))
        builder.emit_func_output(y)
    return builder.get()


@pytest.mark.parametrize("name", MASKED)
def test_causal(name):
    mask = ALLOWED if name == "chosen" else ~ALLOWED
    before = masked(name, mask)
    after = fused(before)
    assert 'causal_mask="TopLeft"' in after.script() and "where" not in after.script()
    assert_same_meaning(before.op, after.op)


@pytest.mark.parametrize("name", MASKED)
def test_masks_of_another_form(name):
    """A key more is allowed: no triangle."""
    mask = np.array(ALLOWED if name == "chosen" else ~ALLOWED)
    mask[1, 3] ^= True
    after = fused(masked(name, mask))
    assert "TopLeft" not in after.script()
    assert ("R.nn.attention_bias" in after.script()) is (name == "added")
    assert_same_meaning(masked(name, mask).op, after.op)


def with_bias(bias, **attrs):
    """The operator with a constant bias."""
    dims = (("q", (2, 5, 3, 8)), ("k", (2, 7, 3, 8)), ("v", (2, 7, 3, 4)))
    x = [relax.Var(n, relax.TensorStructInfo(d, "float32")) for n, d in dims]
    builder = relax.BlockBuilder()
    with builder.function("main", x):
        with builder.dataflow():
            y = builder.emit_output(op.nn.attention(*x, relax.const(bias.astype("float32")), **attrs))
        builder.emit_func_output(y)
    return builder.get()


@pytest.mark.parametrize("lead", [(1, 1), (2, 1), (2, 3)])
@pytest.mark.parametrize("nothing", [-np.inf, np.finfo("float32").min])
@pytest.mark.parametrize("attrs", [{"scale": 0.3}, {"window_size": 2}])
def test_causal_bias_of_the_operator(lead, nothing, attrs):
    before = with_bias(np.broadcast_to(np.where(ALLOWED, 0.0, nothing), (*lead, 5, 7)), **attrs)
    after = fused(before)
    assert 'causal_mask="TopLeft"' in after.script() and "attention_bias" not in after.script()
    assert_same_meaning(before.op, after.op)


KEY_MORE = np.where(ALLOWED | (np.arange(7) == 6), 0.0, -np.inf)
SMALL = np.where(ALLOWED, 0.0, -5.0)


@pytest.mark.parametrize(
    "bias, attrs",
    [(KEY_MORE, {}), (SMALL, {}), (np.where(ALLOWED, 0.5, -np.inf), {}), (SMALL, {"causal_mask": "BottomRight"})],
)
def test_other_biases_of_the_operator_stay(bias, attrs):
    before = with_bias(bias[None, None], **attrs)
    assert fused(before).script() == before.script()


@pytest.mark.parametrize("case", LEFT)
def test_left(case):
    before = program(*LEFT[case])
    assert fused(before).script() == before.script()


class Layer(nn.Module):
    """Attention of grouped heads as a user writes it."""

    def forward(self, x):
        heads = nn.op.permute_dims(nn.op.reshape(x, (1, x.shape[1], 4, 16)), [0, 2, 1, 3])
        few = nn.op.reshape(x, (1, x.shape[1], 4, 16))
        few = nn.op.repeat(nn.op.split(few, 2, axis=2)[0], 2, axis=2)
        few = nn.op.permute_dims(few, [0, 2, 1, 3])
        scores = nn.op.matmul(heads, nn.op.permute_dims(few, [0, 1, 3, 2])) / 4.0
        mixed = nn.op.matmul(nn.op.softmax(scores, -1), few)
        return nn.op.reshape(nn.op.permute_dims(mixed, [0, 2, 1, 3]), (1, x.shape[1], 64))


def test_native():
    """What the front end of modules gives runs, as one function with a tile of scores."""
    mod, _ = Layer().export_tvm({"forward": {"x": nn.spec.Tensor((1, "n", 64), "float32")}})
    assert len(re.findall(r"R\.nn\.attention\(", fused(mod).script())) == 1
    function = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())["forward"]
    for n in (0, 1, 70):
        x = np.random.default_rng(n).standard_normal((1, n, 64)).astype("float32")
        result = function(tvm.nd.array(x)).numpy()
        np.testing.assert_allclose(result, interpret(mod.op, "forward", [x]), rtol=1e-4, atol=1e-5)
