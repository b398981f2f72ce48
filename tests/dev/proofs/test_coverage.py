"""Narrow models are proved from the graph down to kernels of scf and vector, pass by pass."""

from __future__ import annotations

import pytest
from strength import only_full, thinned

from tirax.dev.proofs.coverage import findings_of
from tirax.dev.proofs.models import MODELS, PROGRAMS
from tirax.proof import Verdict


def require_proofs(name, least):
    found = findings_of(MODELS[name](name))
    open_ = [f"{what}: {finding}" for what, finding in found if finding.verdict is not Verdict.PROVED]
    assert all(finding.verdict is not Verdict.WRONG for _, finding in found), open_
    assert len(open_) <= (1 - least) * len(found), open_


@thinned("name", sorted(set(PROGRAMS) - {"integers"}, key=lambda name: (name != "embedding", name)), 1)
def test_programs_are_proved(name):
    require_proofs(name, 1)


@only_full
def test_bytes_that_are_read_as_words_are_not_covered_but_never_wrong():
    require_proofs("integers", 0.5)


@only_full
@pytest.mark.parametrize("name", ["bert", "resnet", "vit", "gpt2", "llama"])
def test_models_of_the_benchmarks_are_proved(name, torch):
    require_proofs(name, 0.95)
