"""Proofs for all sizes: schedules of structured blocks whose loops, guards and regions are symbolic."""

from .proofs import Outcome, prove_sizes

__all__ = ["Outcome", "prove_sizes"]
