"""What tirax prints below relax and tir, read by MLIR itself: `python -m tirax.dev.upstream` tries many programs."""

from __future__ import annotations

from pathlib import Path

import pytest

import tirax
from tirax.dev.fuzz.workloads import WORKLOADS
from tirax.dev.upstream.judges import iree_opt, judged_by_iree, judged_by_jaxlib
from tirax.dev.upstream.operations import REASONS, is_read, names, page
from tirax.dev.upstream.stages import UPSTREAM, stages
from tirax.lowering.host.convert import host_data
from tirax.script import parse_mlir, parse_source

MODEL = """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float16"), i: R.Tensor((3,), "int64")):
        with R.dataflow():
            a = R.nn.softmax(R.matmul(x, R.const([[0.5], [1], [2], [3]], "float16")))
            b = R.take(R.exp(x), i, axis=1)
            c = R.argmax(R.where(R.greater(b, a), b, a), axis=1)
            R.output(c)
        return c
"""
PROGRAMS = {"model": MODEL, **{name: WORKLOADS[name] for name in ("matmul", "gather")}}


def test_texts_are_read_back() -> None:
    """Constants of a module are strings there."""
    texts = dict(stages(parse_source(MODEL)))
    assert tuple(texts) == UPSTREAM and not any("_extras." in text for text in texts.values())
    module = parse_mlir(texts["convert-to-llvm"])
    assert [c.dtype.name for c in host_data(module).constants] == ["float16"]


@pytest.mark.parametrize("generic", [False, True], ids=["pretty", "generic"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_mlir_reads_it(jaxlib: object, name: str, generic: bool) -> None:
    for stage, text in stages(parse_source(PROGRAMS[name]), generic=generic):
        assert judged_by_jaxlib(text) is None, stage
        assert iree_opt() is None or judged_by_iree(text) is None, stage


def test_each_operation_of_mlir_is_read_or_refused_for_a_reason() -> None:
    for name in names():
        assert is_read(name) != (name in REASONS), name
    assert set(REASONS) <= set(names())
    assert (Path(tirax.__file__).parent / "docs" / "mlir_operations.md").read_text() == page()
