"""Legalization: Relax operators become calls of tensor functions. One table of rules for each family of operators."""

from __future__ import annotations

from .legalize_ops import LegalizeOps

__all__ = ["LegalizeOps"]
