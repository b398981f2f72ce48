"""Whatever a test of patterns matches, or does not, an explanation says the same."""

from __future__ import annotations

import pytest

from tirax.transforms.dpl.patterns import SEARCH


@pytest.fixture(autouse=True)
def explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each match of a pattern with an expression is explained, too."""
    match = SEARCH.in_expr

    def match_and_explain(pattern, expr, var2val):
        matches, mismatch = match(pattern, expr, var2val), pattern.explain(expr, var2val)
        assert (mismatch is None) is (matches is not None), (pattern, mismatch)
        assert mismatch is None or mismatch.expected != mismatch.found, mismatch
        return matches

    monkeypatch.setattr(SEARCH, "in_expr", match_and_explain)
