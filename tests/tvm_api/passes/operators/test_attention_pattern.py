"""Attention that is written out becomes the operator, where it is attention, and means the same."""

import itertools

import pytest

from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.relax.backend.patterns import make_attention_rewrite_pattern
from tirax.tvm_api.relax.dpl import PatternMatchingRewriter
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n"


def module(params, *bindings):
    body = "\n".join(f"            {b}" for b in bindings)
    last = bindings[-1].split(" =")[0]
    return from_source(
        f"{HEAD}\n@I.ir_module\nclass Module:\n    @R.function\n    def main({params}):\n        b = T.int64()\n"
        "        n = T.int64()\n        m = T.int64()\n        with R.dataflow():\n"
        f"{body}\n            R.output({last})\n        return {last}\n"
    )


def written_out(heads, out_heads, bias, cast, repeat, changes=()):
    """Attention as programs write it, with 4 heads of size 6 (values of 10), in which `changes` are replaced."""
    lines, (q, k, v) = inputs(heads, repeat)
    lines += [f"kt = R.permute_dims({k}, [0, 2, 1])", f"s0 = R.matmul({q}, kt)"]
    lines += ["c = R.astype(R.const(0.5, 'float32'), 'float16')"] if cast else []
    lines += ["s1 = R.multiply(s0, c)" if cast else "s1 = R.multiply(s0, R.const(0.5, 'float32'))"]
    lines += ["s2 = R.add(s1, bias)"] if bias else []
    scores = "s2" if bias else "s1"
    if cast:
        lines += [f"s3 = R.astype({scores}, 'float32')", "w = R.nn.softmax(s3, axis=-1)", "w1 = R.astype(w, 'float16')"]
    else:
        lines += [f"w1 = R.nn.softmax({scores}, axis=-1)"]
    lines += [f"o = R.matmul(w1, {v})"]
    lines += ["o1 = R.reshape(o, (b, 4, n, 10))", "o2 = R.permute_dims(o1, [0, 2, 1, 3])"] if out_heads else []
    params = parameters(heads, bias, "float16" if cast else "float32", repeat)
    for old, new in changes:
        assert any(old in line for line in (*lines, params))
        params, lines = params.replace(old, new), [line.replace(old, new) for line in lines]
    return module(params, *lines)


def inputs(heads, repeat):
    """Bindings that bring q, k and v to matrices, and the names of these."""
    lines, matrices = [], []
    for x, s, h in (("q", "n", 6), ("k", "m", 6), ("v", "m", 10)):
        name = x
        if repeat and x != "q":
            lines.append(f"{x}r = R.repeat({x}, 2, axis=2)")
            name = f"{x}r"
        if heads:
            lines.append(f"{x}p = R.permute_dims({name}, [0, 2, 1, 3])")
            lines.append(f"{x}m = R.reshape({x}p, (b * 4, {s}, {h}))")
            name = f"{x}m"
        matrices.append(name)
    return lines, matrices


def parameters(heads, bias, dtype, repeat):
    kv, half = (2, 2) if repeat else (4, 1)
    if heads:
        shapes = {"q": '("b", "n", 4, 6)', "k": f'("b", "m", {kv}, 6)', "v": f'("b", "m", {kv}, 10)'}
    else:
        shapes = {"q": '("b * 4", "n", 6)', "k": f'("b * 4", "m", {6 // half})', "v": f'("b * 4", "m", {10 // half})'}
    shapes |= {"bias": '("b * 4", "n", "m")'} if bias else {}
    return 'z: R.Tensor(("b",), "float32"), ' + ", ".join(f'{x}: R.Tensor({s}, "{dtype}")' for x, s in shapes.items())


def rewritten(mod, *options):
    layouts = ["BSNH" if heads else "BSH" for heads in options[:2]]
    return PatternMatchingRewriter.from_pattern(*make_attention_rewrite_pattern(*layouts, *options[2:]))(mod)


@pytest.mark.parametrize("options", list(itertools.product((True, False), repeat=5)))
def test_what_is_attention(options):
    before = written_out(*options)
    after = rewritten(before, *options)
    assert "R.nn.attention" in after.script()
    assert "R.nn.softmax" not in after.script()
    after.op.verify()
    assert_same_meaning(before.op, after.op)


PLAIN = (True, True, False, False, False)


def test_the_text():
    text = rewritten(written_out(*PLAIN), *PLAIN).script()
    assert "R.nn.attention(q, k, v, scale=T.float32(0.5), causal_mask=None, window_size=None)" in text
    assert text.count(" = R.") == 1


@pytest.mark.parametrize(
    "options, change",
    [
        (PLAIN, ("axis=-1", "axis=1")),
        (PLAIN, ("qp = R.permute_dims(q, [0, 2, 1, 3])", "qp = R.reshape(q, (b, 4, n, 6))")),
        (PLAIN, ("R.const(0.5, 'float32')", "R.const([0.5, 1.0, 2.0, 3.0], 'float32')")),
        ((False, False, False, False, False), ('v: R.Tensor(("b * 4", "m", 10)', 'v: R.Tensor((1, "m", 10)')),
    ],
)
def test_what_only_looks_like_attention(options, change):
    changes = [change]
    if "R.const([" in change[1]:
        changes += [('k: R.Tensor(("b", "m", 4, 6)', 'k: R.Tensor(("b", 4, 4, 6)'), ("(b * 4, m,", "(b * 4, 4,")]
        changes.append(('v: R.Tensor(("b", "m", 4, 10)', 'v: R.Tensor(("b", 4, 4, 10)'))
    before = written_out(*options, changes)
    after = rewritten(before, *options)
    assert "R.nn.attention" not in after.script()
    assert_same_meaning(before.op, after.op)


def test_a_bias_for_all_heads():
    options = (True, True, True, False, False)
    change = ('bias: R.Tensor(("b * 4", "n", "m")', 'bias: R.Tensor((1, "n", "m")')
    before = written_out(*options, [change])
    after = rewritten(before, *options)
    assert "R.nn.attention_bias" in after.script()
    assert_same_meaning(before.op, after.op)


def test_a_result_in_another_order_stays_in_it():
    before = written_out(*PLAIN, [("o2 = R.permute_dims(o1, [0, 2, 1, 3])", "o2 = R.permute_dims(o1, [1, 0, 2, 3])")])
    after = rewritten(before, *PLAIN)
    assert "R.nn.attention" in after.script()
    assert_same_meaning(before.op, after.op)


def test_layouts_that_there_are_not():
    with pytest.raises(ValueError, match="not 'BHSD'"):
        make_attention_rewrite_pattern("BSNH", "BHSD", False, False)
