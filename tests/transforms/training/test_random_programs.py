"""Gradients of random programs: their numbers are those of differences, and checkpoints do not change them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strength import drawn

from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.verification.verify import verify_module
from tirax.tvm_api.relax.transform import FoldConstant, Gradient, LegalizeOps
from tirax.tvm_api.script import from_source

UNARY = (
    "R.tanh({0})",
    "R.sin({0})",
    "R.nn.softmax({0}, axis=1)",
    "R.subtract({0}, R.mean({0}, axis=[0], keepdims=True))",
    "R.flip({0}, axis=1)",
    "R.reshape(R.permute_dims({0}), (n, 3))",
    "R.concat(R.split({0}, [1], axis=1), axis=1)",
    "R.nn.layer_norm({0}, w, w, axes=[-1])",
    "R.cumsum({0}, axis=1)",
    "R.grad.no_grad({0})",
)
BINARY = ("R.add({0}, {1})", "R.multiply({0}, {1})", "R.multiply({0}, w)", "R.where(R.greater({0}, {1}), {0}, {1})")
STEP = 1e-5


@st.composite
def programs(draw: st.DrawFn) -> list[str]:
    """Bindings of `v0`, `v1`, …, each of shape (n, 3), of `x` and of those before."""
    lines: list[str] = []
    for i in range(draw(st.integers(2, 7))):
        known = ["x", *(f"v{k}" for k in range(i))]
        near = st.sampled_from(known[-3:])
        text = draw(st.sampled_from(UNARY + BINARY))
        lines.append(f"v{i} = " + text.format(draw(near), draw(near)))
    return lines


def with_checkpoints(lines: list[str], first: int, last: int) -> list[str]:
    """The bindings from `first` to `last` between marks: what they use from before is marked where it is used."""
    out = list(lines)
    inside = {f"v{k}" for k in range(first, last + 1)}
    for k in range(first, last + 1):
        name, _, text = lines[k].partition(" = ")
        used = {v for v in re.findall(r"\b(?:x|v\d+)\b", text) if v not in inside}
        for v in used:
            text = re.sub(rf"\b{v}\b", f"R.grad.start_checkpoint({v})", text)
        out[k] = f"{name} = {text}"
    for k in range(last + 1, len(lines)):
        name, _, text = out[k].partition(" = ")
        out[k] = f"{name} = " + re.sub(
            r"\bv\d+\b", lambda v: f"R.grad.end_checkpoint({v[0]})" if v[0] in inside else v[0], text
        )
    return out


def module_of(lines: list[str]) -> Any:
    body = "\n".join(f"            {line}" for line in lines)
    return from_source(
        f"""from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3), "float64"), w: R.Tensor((3,), "float64")):
        n = T.int64()
        with R.dataflow():
{body}
            gv = R.sum(R.sin(v{len(lines) - 1}))
            R.output(gv)
        return gv
"""
    )


@drawn(25)
@given(programs(), st.data())
def test_gradients_of_random_programs(lines: list[str], data: st.DataObject) -> None:
    module = module_of(lines)
    result = Gradient("main")(module)
    verify_module(result.op)
    last = data.draw(st.integers(0, len(lines) - 1))
    marked = Gradient("main")(module_of(with_checkpoints(lines, data.draw(st.integers(0, last)), last)))
    rng = np.random.default_rng(0)
    for n in (3, 1):
        args = [rng.standard_normal((n, 3)), rng.standard_normal(3)]
        _, gradients = interpret(result.op, "main_adjoint", args)
        _, again = interpret(marked.op, "main_adjoint", args)
        for a, b in zip(gradients, again, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        if not any("no_grad" in line for line in lines):
            _check_along_a_line(module, args, gradients, rng)
    assert_same_meaning(result.op, LegalizeOps()(FoldConstant()(result)).op, sizes=(2, 1))


def _check_along_a_line(module: Any, args: list[Any], gradients: Any, rng: np.random.Generator) -> None:
    """The derivative in a random direction, by central differences."""
    way = [rng.standard_normal(a.shape) for a in args]
    ends = [
        float(interpret(module.op, "main", [a + s * STEP * d for a, d in zip(args, way, strict=True)])) for s in (1, -1)
    ]
    expected = sum(float((g * d).sum()) for g, d in zip(gradients, way, strict=True))
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * STEP), expected, rtol=1e-4, atol=1e-5)
