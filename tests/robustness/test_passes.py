"""Passes in any order on any input: IR or a diagnostic, never another exception."""

import pytest
from pass_sequences import inputs, outcome, sequences
from strength import thinned

from tirax.diagnostics import UnsupportedError
from tirax.ir.passes.transform import new_context
from tirax.lowering.host.convert import ConvertHostToFunc
from tirax.script.mlir_text import parse_mlir

FOUND = [
    ("transforms/training/gradient.mlir", ["convert-host-to-func"]),
    ("transforms/legalize/legalize_dynamic.mlir", ["dead-code-elimination", "convert-host-to-func"]),
    ("transforms/layout/channels_last.mlir", ["convert-host-to-func"]),
    ("transforms/legalize/legalize_base.mlir", ["expand-matmul-of-sum", "convert-host-to-func"]),
]


@pytest.mark.parametrize(("file", "names"), FOUND)
def test_sequences_that_ended_in_an_internal_error(file, names):
    assert [outcome(text, names) for name, text in inputs() if name == file] == [None] * len(inputs_of(file))


def inputs_of(file: str) -> list[str]:
    return [text for name, text in inputs() if name == file]


def test_an_operator_that_was_not_lowered_is_named():
    text = """relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
  %y = relax.exp %x : !relax.tensor<[4], f32>
  relax.return %y : !relax.tensor<[4], f32>
}"""
    context = new_context()
    with pytest.raises(UnsupportedError, match="'relax.exp' is not in destination passing form"):
        ConvertHostToFunc().apply(context, parse_mlir(text, ctx=context))


@thinned("seed", list(range(20)), 2)
def test_random_sequences(seed):
    wrong = [(file, names, found) for file, text, names in sequences(10, seed) if (found := outcome(text, names))]
    assert wrong == []
