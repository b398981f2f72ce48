"""Small programs for the tests of fusion."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tirax.dialects import relax
from tirax.ir.passes.transform import new_context
from tirax.transforms.fusion.pattern import AnnotateTIROpPattern
from tirax.transforms.legalize import LegalizeOps

_SHORT = re.compile(r"(?<![%\w@])(f32|i64|bool)(\[[^\]]*\])")


def expand(text: str) -> str:
    """`f32[n, 8]` is short for `!relax.tensor<[n, 8], f32>`."""
    return _SHORT.sub(lambda m: f"!relax.tensor<{m[2]}, {'i1' if m[1] == 'bool' else m[1]}>", text)


def parse(text: str) -> ModuleOp:
    """A verified module from text with short types."""
    module = Parser(new_context(), expand(text)).parse_module()
    module.verify()
    return module


def main_text(params: str, body: str, outputs: str) -> str:
    """`@main` with one dataflow block; `outputs` are like `a: f32[4], b: f32[8]`, several give a tuple.

    An output leaves the block under its own name.
    """
    pairs = [o.rsplit(":", 1) for o in re.split(r";\s*", outputs)]
    names, types = [n.strip() for n, _ in pairs], [t.strip() for _, t in pairs]
    result = types[0] if len(types) == 1 else f"tuple<{', '.join(types)}>"
    value = f"%{names[0]}"
    after = f"relax.return {value} : {result}"
    if len(names) > 1:
        after = f"%result = relax.tuple({', '.join('%' + n for n in names)})\n  relax.return %result : {result}"
    listed = ", ".join("%" + p.strip() for p in params.split(";"))
    return f"""
relax.func @main({listed}) -> {result} {{
  {", ".join("%" + n for n in names)} = relax.dataflow {{
    {body}
    relax.output {", ".join("%" + n for n in names)} : {", ".join(types)}
  }}
  {after}
}}"""


@pytest.fixture(name="parse")
def parse_fixture() -> Callable[[str], ModuleOp]:
    return parse


@pytest.fixture
def program() -> Callable[[str, str, str], ModuleOp]:
    """`program(params, body, outputs)`: the module of `main_text`, legalized and annotated."""

    def build(params: str, body: str, outputs: str) -> ModuleOp:
        return AnnotateTIROpPattern()(LegalizeOps()(parse(main_text(params, body, outputs))))

    return build


@pytest.fixture
def shape_of_fusion() -> Callable[[ModuleOp], dict[str, list[str]]]:
    """`of(module)`: the callees of each Relax function, in order; other bindings by the name of their op."""

    def describe(module: ModuleOp) -> dict[str, list[str]]:
        by_name: dict[str, list[str]] = {}
        for func in module.body.block.ops:
            if isinstance(func, relax.FuncOp):
                ops = [op for d in func.walk() if isinstance(d, relax.DataflowOp) for op in d.body.block.ops]
                by_name[func.sym_name.data] = [_what(op) for op in ops if not isinstance(op, _SILENT)]
        return by_name

    return describe


_SILENT = (relax.OutputOp, *relax.LEAVES)


def _what(op: object) -> str:
    if isinstance(op, relax.CallTIROp | relax.CallTIRInplaceOp | relax.CallOp):
        return op.callee_name
    return getattr(op, "name", "").removeprefix("relax.")
