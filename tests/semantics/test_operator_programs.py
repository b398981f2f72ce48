"""Programs over all operators: no pass changes what they mean, and machine code computes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from random_programs import Program, operator_programs
from strength import drawn

from tirax.dev.fuzz import checks
from tirax.dialects.attributes import to_attr

PASSES = (
    "normalize", "canonicalize-bindings", "eliminate-common-subexpr", "dead-code-elimination", "fold-constant",
    "to-non-dataflow", "convert-to-dataflow", "topological-sort", "inline-private-functions", "expand-matmul-of-sum",
    "remove-redundant-reshape", "reorder-permute-dims-after-concat", "reorder-take-after-matmul",
    "decompose-ops-for-inference", "decompose-ops-for-training", "lambda-lift", "normalize-global-var",
    "attach-global-symbol", "combine-parallel-matmul", "adjust-matmul-order", "fuse-transpose-matmul",
    "fold-batchnorm-to-conv2d", "optimize-layout-transform", "rewrite-dataflow-reshape", "remove-purity-checking",
    "legalize-ops",
)  # fmt: skip
"""Each alone, on the program as it is."""

TRAINING = {"decompose-ops-for-inference": to_attr(False), "decompose-ops-for-training": to_attr(True)}
"""What these take every batch norm for, whatever it says."""

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@drawn(12, 5)
@given(operator_programs())
def test_texts(program: Program) -> None:
    checks.texts(program.module)


@drawn(8, 3)
@given(operator_programs())
def test_passes(program: Program) -> None:
    for name in PASSES:
        module = program.module.clone()
        for op in module.walk():
            if op.name == "relax.nn.batch_norm" and name in TRAINING:
                op.properties["training"] = TRAINING[name]
        checks.passes_keep_meaning(module, [name])


@drawn(8, quick=1)
@given(operator_programs())
def test_optimize(program: Program) -> None:
    checks.optimize(program.module)


@drawn(10, quick=2)
@given(operator_programs())
def test_native(program: Program) -> None:
    checks.native(program.module)
