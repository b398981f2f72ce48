"""The passes on random programs: each gives a verified program of the same meaning."""

import pytest
from hypothesis import given
from random_programs import Program, tensor_programs
from strength import drawn

from tirax.dev.fuzz import checks

LOWER = (
    "plan-and-update-buffer-allocation-location", "convert-blocks-to-opaque", "compact-buffer-allocation",
    "lower-match-buffer", "lower-opaque-block", "simplify", "flatten-buffer", "vectorize-loop", "loop-partition",
    "storage-rewrite", "hoist-if-then-else", "unroll-loop", "simplify", "remove-no-op", "common-subexpr-elim-tir",
    "narrow-data-type", "bf16-compute-legalize",
)  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@drawn(3, quick=1)
@given(tensor_programs(most=3, dims=("n", "m", "4", "3", "n + 1", "n * 2")))
def test_lowering_keeps_the_meaning(program: Program) -> None:
    checks.passes_keep_meaning(program.module, ["lower-init-block", *LOWER])
