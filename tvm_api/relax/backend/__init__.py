"""`tvm.relax.backend`: the patterns of libraries and code generators."""

from __future__ import annotations

from . import pattern_registry, patterns, utils
from .pattern_registry import get_pattern, get_patterns_with_prefix, register_patterns

__all__ = ["get_pattern", "get_patterns_with_prefix", "pattern_registry", "patterns", "register_patterns", "utils"]
