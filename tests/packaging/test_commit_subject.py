"""The check of commit messages."""

from __future__ import annotations

import pytest
from commit_subject import problem_of

GOOD = "schedule: refuse predicates that compute_at cannot move\n\nThey were lost.\n"


def test_a_subject_of_an_area_and_a_verb_with_a_body_is_good():
    assert problem_of(GOOD) is None
    assert problem_of(f"{GOOD}# Please enter the commit message\n") is None


@pytest.mark.parametrize(
    ("message", "part"),
    [
        ("", "form"),
        ("Fix things\n\nBecause.\n", "form"),
        ("schedule: Refuse\n\nBecause.\n", "form"),
        (f"schedule: {'x' * 80}\n\nBecause.\n", "at most 72"),
        ("schedule: refuse\nBecause.\n", "blank line"),
        ("schedule: refuse\n", "body"),
        ("schedule: refuse\n\n# a comment\n", "body"),
    ],
)
def test_others_are_not(message, part):
    assert part in (problem_of(message) or "")
