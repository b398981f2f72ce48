"""Proofs that transformations keep what programs compute, for all values of their inputs."""

from __future__ import annotations

from .algebra import Level
from .counterexample import Counterexample
from .steps import Proofs, validate_step
from .terms import NotCoveredError
from .validation import Finding, Validation, Verdict, assert_proved, validate

__all__ = [
    "Counterexample",
    "Finding",
    "Level",
    "NotCoveredError",
    "Proofs",
    "Validation",
    "Verdict",
    "assert_proved",
    "validate",
    "validate_step",
]
