"""Passes in any order on any input: IR or a diagnostic, never another exception."""

import pytest
from pass_sequences import comparison, context, inputs, outcome, sequences
from strength import thinned

from tirax.diagnostics import UnsupportedError
from tirax.ir.passes.transform import new_context, run_pass
from tirax.lowering.host.convert import ConvertHostToFunc
from tirax.lowering.tir_to_scf import ConvertTirToScf
from tirax.script.mlir_text import parse_mlir

REGRESSIONS = [
    ("transforms/training/gradient.mlir", ["convert-host-to-func"]),
    ("transforms/legalize/legalize_dynamic.mlir", ["dead-code-elimination", "convert-host-to-func"]),
    ("transforms/layout/channels_last.mlir", ["convert-host-to-func"]),
    ("transforms/legalize/legalize_base.mlir", ["expand-matmul-of-sum", "convert-host-to-func"]),
]


@pytest.mark.parametrize(("file", "names"), REGRESSIONS)
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


COMPARED = [
    ("transforms/params/weights.mlir", ["lift-transform-params", "lazy-transform-params"], {"main", "plain"}),
    ("transforms/params/weights.mlir", ["bundle-model-params", "lazy-set-output"], {"plain"}),
    ("transforms/operators/attention.mlir", ["to-mixed-precision"], {"heads", "in_front", "columns"}),
    ("transforms/layout/convert_layout.mlir", ["to-mixed-precision", "convert-layout"], {"main"}),
    ("transforms/dpl/dpl_merge_composite.mlir", ["lazy-get-input", "expand-tuple-arguments"], set()),
    ("transforms/tir/narrow.mlir", ["default-schedule", "convert-for-loops-to-serial"], set()),
    ("lowering/host_entry.mlir", ["convert-tir-to-scf", "lambda-lift"], set()),
]


@pytest.mark.parametrize(("file", "names", "functions"), COMPARED)
def test_what_passes_change_is_compared_or_passed_over(file, names, functions):
    """Parameters of other types, fewer digits on purpose, loops without end, kernels without a caller."""
    compared = [set(comparison(text, names)) for text in inputs_of(file)]
    assert functions <= set().union(*compared)


def test_a_kernel_that_is_lowered_is_named():
    ctx = context()
    module = parse_mlir(inputs_of("lowering/host_entry.mlir")[0], ctx=ctx)
    run_pass(ConvertTirToScf(), ctx, module)
    with pytest.raises(UnsupportedError, match=r"(?s)is no tensor function.*convert-host-to-func goes before"):
        run_pass(ConvertHostToFunc(), ctx, module)


@thinned("seed", list(range(20)), 2)
def test_random_sequences(seed):
    wrong = [(file, names, actual) for file, text, names in sequences(10, seed) if (actual := outcome(text, names))]
    assert wrong == []
