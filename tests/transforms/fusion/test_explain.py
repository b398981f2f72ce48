"""Why bindings are not fused: the first condition that does not hold, and where."""

from __future__ import annotations

import logging

import pytest

from tirax.driver.pipelines import make_passes
from tirax.ir.passes.transform import PassContext, Sequential
from tirax.script import parse_source
from tirax.transforms.fusion.fuse_ops import FuseOps

HEAD = """
@R.function
def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32"), v: R.Tensor((8,), "float32")):
    with R.dataflow():
"""


def remarks(caplog: pytest.LogCaptureFixture, body: str, depth: int = 256) -> list[str]:
    lines = [f"        {line}\n" for line in body.strip().split("\n")]
    module = parse_source(HEAD + "".join(lines) + f"    return {lines[-1].split('(')[1].split(')')[0]}\n")
    ready = Sequential(make_passes(["normalize", "legalize-ops", "annotate-tir-op-pattern"]))(module)
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "tirax.fusion"):
        FuseOps(max_depth=depth)(ready)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("body", "depth", "subject", "reason"),
    [
        ("a = R.add(x, v)\nb = R.nn.relu(a)\nR.output(b)", 256, "", ""),
        ("a = R.matmul(x, w)\nb = R.permute_dims(a)\nR.output(b)", 256, "'a' (matmul)",
         "a kernel like that of matmul is fused into what is element-wise or a broadcast; "
         "'b' (transpose) is a rearrangement of elements"),
        ("a = R.sum(x, axis=[1])\nb = R.exp(a)\nR.output(b)", 256, "'a' (sum)",
         "a reduction is never fused into what uses it"),
        ("a = R.exp(x)\nb = R.matmul(a, w)\nR.output(b)", 256, "'a' (tir_exp)",
         "it is fused into what is at most a reduction; 'b' (matmul) is a kernel like that of matmul"),
        ("a = R.exp(x)\nb = R.tanh(a)\nR.output(a, b)", 256, "'a' (tir_exp)",
         "its value leaves the dataflow block, too"),
        ("a = R.exp(x)\nb = R.tanh(a)\nc = R.negative(a)\nR.output(b, c)", 256, "'a' (tir_exp)",
         "it is used on several ways that do not meet before values leave the dataflow block"),
        ("a = R.exp(x)\nb = R.tanh(a)\nR.output(b)", 1, "'a' (tir_exp)",
         "together with 'b' (tir_tanh) it would be more than max_depth=1 bindings"),
        ('a = R.exp(x)\nb = R.call_pure_packed("f", a, sinfo_args=R.Tensor(("n", 8), "float32"))\nR.output(b)',
         256, "'a' (tir_exp)", "what uses it is opaque: no call of a tensor function of a known kind"),
        ("a = R.matmul(x, w)\nb = R.matmul(x, x)\nc = R.add(a, b)\nR.output(c)".replace("x, x", "x, w"), 256,
         "'b' (matmul)", "'c' (add) is element-wise, its group a kernel like that of matmul"),
        ("a = R.matmul(x, w)\nb = R.sum(a, axis=[1])\nc = R.add(a, R.expand_dims(b, 1))\nR.output(c)", 256,
         "'a' (matmul)", "'b' (sum) on the way to 'c' (add) is a reduction"),
    ],
)  # fmt: skip
def test_the_first_condition_that_fails_is_reported(caplog, body, depth, subject, reason):
    messages = remarks(caplog, body, depth)
    if not reason:
        assert messages == []
    assert any(m.startswith(subject) and " at <string>:" in m and m.endswith(reason) for m in messages) == bool(reason)


def test_nothing_is_looked_for_where_nobody_listens(caplog):
    with caplog.at_level(logging.WARNING, "tirax.fusion"):
        assert remarks(caplog, "a = R.exp(x)\nR.output(a)") == []


def test_too_many_elementary_functions_are_reported(caplog):
    with PassContext(config={"tirax.limit.fuse.functions": 1}):
        messages = remarks(caplog, "a = R.exp(x)\nb = R.tanh(a)\nR.output(b)")
    reason = "together with 'b' (tir_tanh) it would be more than fuse.functions=1 elementary functions"
    assert any(m.endswith(reason) for m in messages)
