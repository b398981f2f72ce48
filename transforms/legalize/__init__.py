"""Legalization: Relax operators become calls of tensor functions. One table of rules for each family of operators."""

from __future__ import annotations

from .legalize_ops import LegalizeOps
from .requirements import extent_check

__all__ = ["LegalizeOps", "extent_check"]
