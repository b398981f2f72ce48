"""suggest_layout_transforms: layouts of blocks and inputs that go with layouts of outputs. TVM suggests the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tirax.diagnostics import TiraxError
from tirax.dialects import tir
from tirax.script import parse_source
from tirax.tvm_api.passes.layout.suggest import suggest_layout_transforms
from tirax.tvm_api.relax import analysis
from tirax.tvm_api.tir import IndexMap


def function(params: str, loops: str, extents: str, iters: str, body: str) -> tir.FuncOp:
    names = ", ".join(iters.partition('"')[0].split())
    kinds = iters.partition('"')[2].rstrip('"')
    lines = "\n".join(f"            {line}" for line in body.splitlines())
    text = f"""
@T.prim_func(private=True)
def f({params}):
    for {loops} in T.grid({extents}):
        with T.block("b"):
            {names} = T.axis.remap("{kinds}", [{loops}])
{lines}
"""
    op = parse_source(text)
    return next(o for o in op.walk() if isinstance(o, tir.FuncOp))


def buffers(**shapes: tuple[int, ...]) -> str:
    return ", ".join(f'{name}: T.Buffer({shape}, "float32")' for name, shape in shapes.items())


def suggested(func: tir.FuncOp, *maps: Callable[..., Any]) -> dict[str, dict[str, str]]:
    out: dict[str, dict[str, str]] = {}
    for block, actual in suggest_layout_transforms(func, maps).items():
        names = {
            getattr(k, "name", "block"): str(v).removeprefix("T.index_map(lambda ")[:-1] for k, v in actual.items()
        }
        out[block.op.block_name.data] = names
    return out


INIT = "with T.init():\n    o[a, b] = T.float32(0)\n"
ROWS: dict[str, tuple[tir.FuncOp, Callable[..., Any], dict[str, str]]] = {
    "element-wise": (
        function(buffers(x=(8, 4, 6), o=(8, 4, 6)), "i, j, k", "8, 4, 6", 'a b c "SSS"', "o[a, b, c] = x[a, b, c]"),
        lambda a, b, c: (a, b // 2, c, b % 2),
        dict.fromkeys(("block", "o", "x"), "a, b, c: (a, b // 2, c, b % 2)"),
    ),
    "broadcast": (
        function(buffers(x=(8, 4), y=(4,), o=(8, 4)), "i, j", "8, 4", 'a b "SS"', "o[a, b] = x[a, b] + y[b]"),
        lambda a, b: (b // 2, a, b % 2),
        {**dict.fromkeys(("block", "o", "x"), "a, b: (b // 2, a, b % 2)"), "y": "b: (b // 2, b % 2)"},
    ),
    "transposed input": (
        function(buffers(x=(4, 8), o=(8, 4)), "i, j", "8, 4", 'a b "SS"', "o[a, b] = x[b, a]"),
        lambda a, b: (a, b // 2, b % 2),
        dict.fromkeys(("block", "o"), "a, b: (a, b // 2, b % 2)"),
    ),
    "transposed output": (
        function(buffers(x=(8, 4), o=(4, 8)), "i, j", "8, 4", 'a b "SS"', "o[b, a] = x[a, b]"),
        lambda a, b: (b, a),
        {},
    ),
    "reduction": (
        function(
            buffers(x=(8, 4, 2), o=(8, 4)), "i, j, k", "8, 4, 2", 'a b r "SSR"', INIT + "o[a, b] = o[a, b] + x[a, b, r]"
        ),
        lambda a, b: (b, a),
        {"block": "a, b, d: (b, a, d)", "o": "a, b: (b, a)", "x": "a, b, d: (b, a, d)"},
    ),
    "reduction in between": (
        function(
            buffers(x=(8, 2, 4), o=(8, 4)), "i, j, k", "8, 4, 2", 'a b r "SSR"', INIT + "o[a, b] = o[a, b] + x[a, r, b]"
        ),
        lambda a, b: (b // 2, a, b % 2),
        {
            "block": "a, b, d: (b // 2, a, d, b % 2)",
            "o": "a, b: (b // 2, a, b % 2)",
            "x": "a, d, b: (b // 2, d, a, b % 2)",
        },
    ),
    "reversed and shifted": (
        function(buffers(x=(9, 4), o=(8, 4)), "i, j", "8, 4", 'a b "SS"', "o[a, b] = x[a + 1, 3 - b]"),
        lambda a, b: (b, a),
        dict.fromkeys(("block", "o", "x"), "a, b: (b, a)"),
    ),
    "several iterators in an index": (
        function(buffers(x=(8, 4), o=(32,)), "i", "32", 'a "S"', "o[a] = x[a // 4, a % 4]").clone(),
        lambda a: (a // 8, a % 8),
        dict.fromkeys(("block", "o"), "a: (a // 8, a % 8)"),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_one_block(name: str) -> None:
    func, output, expected = ROWS[name]
    assert suggested(func, output) == ({"b": expected} if expected else {})


def test_buffers_between_blocks_follow() -> None:
    text = """
@T.prim_func(private=True)
def f(x: T.Buffer((8, 4), "float32"), o: T.Buffer((8, 4), "float32")):
    m = T.alloc_buffer((8, 4))
    for i, j in T.grid(8, 4):
        with T.block("first"):
            a, b = T.axis.remap("SS", [i, j])
            m[a, b] = x[a, b] * T.float32(2)
    for i, j in T.grid(8, 4):
        with T.block("second"):
            a, b = T.axis.remap("SS", [i, j])
            o[a, b] = m[a, b] + T.float32(1)
"""
    func = next(o for o in parse_source(text).walk() if isinstance(o, tir.FuncOp))
    actual = suggested(func, lambda a, b: (b, a))
    turned = "a, b: (b, a)"
    assert actual == {
        "first": {"block": turned, "m": turned, "x": turned},
        "second": {"block": turned, "o": turned, "m": turned},
    }
    assert analysis.suggest_layout_transforms is suggest_layout_transforms


def test_refuses() -> None:
    func = ROWS["element-wise"][0]
    with pytest.raises(TiraxError, match="more layouts than buffers"):
        suggest_layout_transforms(func, [lambda a: (a,)] * 3)
    for wrong in (lambda a: (a,), IndexMap.from_func(lambda a, b: (b, a))):
        with pytest.raises(TiraxError, match="does not fit the output"):
            suggest_layout_transforms(func, [wrong])
