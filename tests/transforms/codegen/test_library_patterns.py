"""Patterns of libraries: what they match, how their parts are called, and the table of them by name."""

import pytest

from tirax.diagnostics import TiraxError
from tirax.tvm_api.relax import backend
from tirax.tvm_api.relax.analysis import get_var2val
from tirax.tvm_api.relax.backend import patterns as P
from tirax.tvm_api.relax.backend.pattern_registry import remove_patterns
from tirax.tvm_api.relax.backend.utils import has_leaking_intermediate_variables
from tirax.tvm_api.relax.dpl import is_op, wildcard
from tirax.tvm_api.relax.transform import FuseOpsByPattern
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n"
X = 'x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32")'
CONV = 'x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((3, 3, 1, 1), "float32"), b: R.Tensor((3, 1, 1), "float32")'
QKV = "".join(f', {n}: R.Tensor((1, 4, 2, 8), "float32")' for n in "qkv")[2:]
STACKED = 'x: R.Tensor((1, 4, 48), "float32"), b: R.Tensor((1, 2, 4, 4), "float32")'
THIRDS = tuple(f"{n} = R.reshape(s[{i}], (1, 4, 2, 8))" for i, n in enumerate("qkv"))
SLICES = tuple(
    f"{n} = R.strided_slice(x, axes=[2], begin=[{16 * i}], end=[{16 * i + 16}])" for i, n in enumerate("qkv")
)


def function(params, *bindings):
    body = "\n".join(f"            {b}" for b in bindings)
    last = bindings[-1].split(" =")[0]
    text = (
        f"{HEAD}\n@I.ir_module\nclass Module:\n    @R.function\n    def main({params}):\n        with R.dataflow():\n"
        f"{body}\n            R.output({last})\n        return {last}\n"
    )
    return from_source(text)


def match_in(pattern, mod):
    func = mod["main"]
    return pattern.extract_matched_expr(func.body.blocks[-1].bindings[-1].value, get_var2val(func))


DENSE = ("m = R.matmul(x, w)", "s = R.add(m, b)", "r = R.nn.gelu(s)")
CASES = {
    "matmul": (P.make_matmul_pattern(), X, DENSE[:1], {"lhs": "x", "rhs": "w"}),
    "bias": (P.make_matmul_pattern(with_bias=True), X, DENSE[:2], {"lhs": "x", "rhs": "w", "bias": "b"}),
    "activation": (P.make_matmul_pattern(True, "relax.nn.gelu"), X, DENSE, {"lhs": "x", "rhs": "w", "bias": "b"}),
    "transposed": (
        P.make_matmul_pattern(transposed_rhs=True),
        X,
        ("t = R.permute_dims(w)", "m = R.matmul(x, t)"),
        {"lhs": "x", "rhs": "w"},
    ),
    "convolution": (
        P.make_conv2d_pattern(True, "relax.nn.relu"),
        CONV,
        ("c = R.nn.conv2d(x, w)", "s = R.add(c, b)", "r = R.nn.relu(s)"),
        {"input": "x", "weight": "w", "bias": "b"},
    ),
    "residual": (
        P.make_residual_block_pattern(P.make_conv2d_pattern(), activation="relax.nn.relu"),
        CONV,
        ("c = R.nn.conv2d(x, w)", "s = R.add(x, c)", "r = R.nn.relu(s)"),
        {"input": "x", "weight": "w", "residual": "x"},
    ),
    "residual of one pattern": (
        P.make_residual_block_pattern(is_op("relax.exp")(wildcard()), "relax.subtract"),
        X,
        ("e = R.exp(x)", "s = R.subtract(w, e)"),
        {"residual": "w"},
    ),
    "reshaped before the bias": (
        P.make_fused_bias_activation_pattern("relax.matmul", True, allow_reshape=True),
        X,
        ("m = R.matmul(x, w)", "r = R.reshape(m, (2, 2, 4))", "s = R.add(r, b)"),
        {"lhs": "x", "rhs": "w", "bias": "b"},
    ),
    "attention": (P.make_attention_pattern(), QKV, ("a = R.nn.attention(q, k, v)",), {"query": "q", "value": "v"}),
    "attention with bias": (
        P.make_attention_pattern(with_bias=True),
        QKV + ', b: R.Tensor((1, 2, 4, 4), "float32")',
        ("a = R.nn.attention(q, k, v, b)",),
        {"query": "q", "key": "k", "value": "v", "bias": "b"},
    ),
    "stacked": (
        P.make_stacked_attention_pattern("split"),
        STACKED,
        ("s = R.split(x, 3, axis=2)", *THIRDS, "a = R.nn.attention(q, k, v)"),
        {"stacked_qkv": "x", "query_reshape": "q"},
    ),
    "stacked, sliced, with bias": (
        P.make_stacked_attention_pattern("strided_slice", with_bias=True),
        STACKED,
        (
            *SLICES,
            *(f"{n}1 = R.reshape({n}, (1, 4, 2, 8))" for n in "qkv"),
            "a = R.nn.attention(q1, k1, v1, b)",
        ),
        {"stacked_qkv": "x", "strided_slice_key": "k", "value_reshape": "v1", "bias": "b"},
    ),
    "stacked and transposed": (
        P.make_stacked_attention_pattern("split", layout="SBN3H"),
        'x: R.Tensor((4, 1, 2, 24), "float32")',
        (
            "s = R.split(x, 3, axis=3)",
            *(f"{n} = R.permute_dims(s[{i}], [1, 0, 2, 3])" for i, n in enumerate("qkv")),
            "a = R.nn.attention(q, k, v)",
            "o = R.permute_dims(a, [1, 0, 2, 3])",
        ),
        {"stacked_qkv": "x", "key_transpose": "k"},
    ),
    "layer norm": (P.make_layer_norm_pattern(), X, ("n = R.nn.layer_norm(x, b, b, axes=[-1])",), {}),
    "dequantize": (
        P.make_matmul_dequantize_pattern(transposed_rhs=True),
        'x: R.Tensor((4, 4), "int8"), w: R.Tensor((4, 4), "int8")',
        (
            "t = R.permute_dims(w)",
            "m = R.matmul(x, t)",
            "d = R.dequantize(m, R.const(0.5, 'float32'), R.const(0, 'int8'), axis=-1)",
        ),
        {"lhs": "x", "rhs": "w"},
    ),
    "scales": (
        P.make_matmul_multiply_pattern(),
        X + "".join(f', {n}: R.Tensor((1,), "float32")' for n in "cd"),
        ("m = R.matmul(x, w)", "s = R.multiply(c, d)", "p = R.multiply(m, s)", "o = R.astype(p, 'float16')"),
        {"lhs": "x", "rhs": "w", "scaleA": "c", "scaleB": "d"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_pattern_matches(case):
    (pattern, parts), params, bindings, names = CASES[case]
    mod = function(params, *bindings)
    matches = match_in(pattern, mod)
    assert matches is not None
    bound = {b.value: b.var.name_hint for block in mod["main"].body.blocks for b in block.bindings}
    called = {n: bound.get(matches[parts[n]]) or matches[parts[n]].name_hint for n in names}
    assert called == names
    assert set(names) <= set(parts)


def test_what_patterns_do_not_match():
    assert match_in(P.make_matmul_pattern()[0], function(X, "m = R.add(x, w)")) is None
    assert match_in(P.make_matmul_pattern(transposed_rhs=True)[0], function(X, *DENSE[:1])) is None
    assert match_in(P.make_attention_pattern(True)[0], function(QKV, "a = R.nn.attention(q, k, v)")) is None
    sliced = function(STACKED, "s = R.split(x, 3, axis=2)", *THIRDS, "a = R.nn.attention(k, q, v)")
    assert match_in(P.make_stacked_attention_pattern("split")[0], sliced) is None


def test_rms_norm_is_a_call_of_a_tensor_function():
    mod = from_source(
        f"""{HEAD}
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def rms_norm(A: T.Buffer((4, 4), "float32"), W: T.Buffer((4,), "float32"), B: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * W[vj]

    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.rms_norm, (x, w), out_sinfo=R.Tensor((4, 4), "float32"))
            R.output(y)
        return y
"""
    )
    pattern, parts = P.make_rms_norm_pattern()
    matches = match_in(pattern, mod)
    assert matches[parts["gv"]].name_hint == "rms_norm"
    assert matches[parts["inp"]].name_hint == "x"


@pytest.mark.parametrize("args", [("slice",), ("split", False, "BSNH")])
def test_stacked_attention_that_there_is_not(args):
    with pytest.raises(ValueError, match="is '"):
        P.make_stacked_attention_pattern(*args)


@pytest.fixture
def registered():
    one, two = is_op("relax.exp")(wildcard()), is_op("relax.sin")(wildcard())
    backend.register_patterns([("acme.exp", one), ("acme.sin", two, {}, lambda context: True), ("acmes.exp", one)])
    yield one, two
    remove_patterns("acme")


def test_the_table(registered):
    assert [p.name for p in backend.get_patterns_with_prefix("acme.")] == ["acme.sin", "acme.exp"]
    assert [p.name for p in backend.get_patterns_with_prefix("acme")] == ["acmes.exp", "acme.sin", "acme.exp"]
    assert backend.get_pattern("acme.exp").pattern is registered[0]
    assert backend.get_pattern("acme.sin").check is not None
    assert backend.get_pattern("acme.cos") is None
    backend.register_patterns([("acme.exp", registered[1])])
    assert [p.name for p in backend.get_patterns_with_prefix("acme.")] == ["acme.exp", "acme.sin"]
    assert backend.get_pattern("acme.exp").pattern is registered[1]


def test_nothing_is_registered_where_something_is_no_pattern():
    with pytest.raises(TiraxError, match="not a fusion pattern"):
        backend.register_patterns([("acme.exp", is_op("relax.exp")(wildcard())), ("acme.bad", 3)])
    assert backend.get_patterns_with_prefix("acme") == []


def test_leaking_variables():
    reported = []

    def check(context):
        reported.append(has_leaking_intermediate_variables(context))
        return True

    pattern = P.make_matmul_pattern(True)
    for more in ((), ("o = R.multiply(s, s)",), ("o = R.multiply(s, m)",)):
        FuseOpsByPattern([("lib.dense", *pattern, check)])(function(X, *DENSE[:2], *more))
    assert reported == [False, False, True]
