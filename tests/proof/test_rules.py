"""Rules of graphs, proved: each applies to a program, and the result is the same for all numbers."""

from __future__ import annotations

import re

from strength import thinned

from tirax.driver.pipelines import make_passes
from tirax.ir.passes.transform import module_op
from tirax.proof import Level, Verdict, validate_step
from tirax.script import parse_source
from tirax.tvm_api import relax

PROGRAM = """
@I.ir_module
class M:
    @R.function
    def main({parameters}):
        with R.dataflow():
{body}
            R.output(y)
        return y
"""
BITS, REASSOCIATED, REAL = Level


def tensor(name, *dims, dtype="float32"):
    return f'{name}: R.Tensor({dims}, "{dtype}")'


X4, X3, X2 = tensor("x", 1, 2, 4, 4), tensor("x", 2, 3, 4), tensor("x", 3, 4)
IMAGE = f"{X4}, {tensor('w', 3, 2, 3, 3)}"
NORM = ", ".join(tensor(n, 2) for n in "gbmv")
RULES = {
    "gelu": ("fuse-layers", X2, "y = x * 0.5f * (1f + R.erf(x * 0.70710677f))", REAL),
    "layer norm": (
        "fuse-layers",
        f"{X3}, {tensor('g', 4)}, {tensor('b', 4)}",
        "m = R.mean(x, axis=[-1], keepdims=True); d = x - m; v = R.mean(d * d, axis=[-1], keepdims=True);"
        " y = d / R.sqrt(v + 1e-05f) * g + b",
        REAL,
    ),
    "rms norm": (
        "fuse-layers",
        f"{X3}, {tensor('g', 4)}",
        "v = R.mean(x * x, axis=[-1], keepdims=True); y = x * R.rsqrt(v + 1e-05f) * g",
        REAL,
    ),
    "attention": (
        "fuse-attention",
        ", ".join(tensor(n, 1, 2, 3, 4) for n in "qkv"),
        "s = R.matmul(q, R.permute_dims(k, axes=[0, 1, 3, 2])) * 0.5f; y = R.matmul(R.nn.softmax(s, axis=-1), v)",
        REAL,
    ),
    "attention of heads": (
        "fuse-transpose-attention",
        ", ".join(tensor(n, 1, 2, 3, 4) for n in "qkv"),
        "; ".join(f"{n}t = R.permute_dims({n}, axes=[0, 2, 1, 3])" for n in "qkv") + "; y = R.nn.attention(qt, kt, vt)",
        REAL,
    ),
    "transposed product": (
        "fuse-transpose-matmul",
        f"{X2}, {tensor('w', 5, 4)}",
        "y = R.matmul(x, R.permute_dims(w, axes=[1, 0]))",
        REASSOCIATED,
    ),
    "batch norm": (
        "decompose-ops-for-inference",
        f"{X4}, {NORM}",
        "n = R.nn.batch_norm(x, g, b, m, v, axis=1, training=False); y = n[0]",
        REAL,
    ),
    "reshapes": (
        "remove-redundant-reshape",
        X4,
        "a = R.reshape(x, R.shape([2, 4, 4])); y = R.reshape(a, R.shape([8, 4]))",
        BITS,
    ),
    "duplicates": ("eliminate-common-subexpr", X3, "a = R.exp(x); b = R.exp(x); y = a + b", BITS),
    "shared products": (
        "combine-parallel-matmul",
        f"{X2}, {tensor('w', 4, 5)}, {tensor('v', 4, 5)}",
        "a = R.matmul(x, w); b = R.matmul(x, v); y = a * b",
        REASSOCIATED,
    ),
    "order of products": (
        "adjust-matmul-order",
        f"{X2}, {tensor('w', 4, 5)}, {tensor('v', 5, 2)}",
        "a = R.matmul(x, w); y = R.matmul(a, v)",
        REAL,
    ),
    "product of a sum": (
        "expand-matmul-of-sum",
        f"{X2}, {tensor('w', 4, 5)}, {tensor('v', 4, 5)}",
        "y = R.matmul(x, w + v)",
        REAL,
    ),
}  # fmt: skip


def program(parameters, bindings):
    text = re.sub(r"([0-9.e-]+)f\b", r'R.const(\1, "float32")', bindings)
    body = "\n".join(f"            {line.strip()}" for line in text.split(";"))
    return module_op(parse_source(PROGRAM.format(parameters=parameters, body=body)))


@thinned("name", list(RULES), 6)
def test_rules_are_proved(name):
    spec, parameters, bindings, level = RULES[name]
    before = program(parameters, bindings)
    after = before
    for each in make_passes([spec]):
        after = each(after)
    assert not before.is_structurally_equivalent(after), f"{spec} does not apply"
    result = validate_step(before, after)
    assert result.verdict is Verdict.PROVED, str(result)
    levels = list(Level)
    assert max(levels.index(f.level) for f in result.findings) <= levels.index(level), str(result)


def test_a_layout_of_convolutions_is_proved():
    before = program(IMAGE, "a = R.nn.conv2d(x, w); y = R.nn.relu(a)")
    after = relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(before)
    assert any("permute_dims" in op.name for op in after.walk())
    assert validate_step(before, after).verdict is Verdict.PROVED


def test_a_wrong_result_is_found():
    _, parameters, bindings, _ = RULES["rms norm"]
    wrong = bindings.replace("1e-05f", "1e-04f")
    assert validate_step(program(parameters, bindings), program(parameters, wrong)).verdict is not Verdict.PROVED
