"""Proofs that transformations keep what programs compute, for all values of their inputs."""

from __future__ import annotations

from .algebra import Level
from .terms import NotCoveredError
from .validation import Finding, Validation, Verdict, assert_proved, validate

__all__ = ["Finding", "Level", "NotCoveredError", "Validation", "Verdict", "assert_proved", "validate"]
