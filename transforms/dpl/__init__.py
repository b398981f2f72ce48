"""Dataflow patterns: matching and rewriting parts of Relax programs."""

from __future__ import annotations

from . import constructors, patterns
from . import explain as explain
from . import text as text
from .bindings import rewrite_bindings
from .constructors import *  # noqa: F403
from .cost import EstimatedCost
from .eqsat import EqsatRewrite, saturated
from .patterns import *  # noqa: F403
from .patterns import Mismatch
from .rewrite_pattern import DPLRewritePattern
from .rewriter import (
    DivergenceError,
    ExprPatternRewriter,
    OrRewriter,
    PatternMatchingRewriter,
    TupleRewriter,
    rewrite_call,
)

__all__ = [
    "DPLRewritePattern",
    "DivergenceError",
    "EqsatRewrite",
    "EstimatedCost",
    "ExprPatternRewriter",
    "Mismatch",
    "OrRewriter",
    "PatternMatchingRewriter",
    "TupleRewriter",
    "rewrite_bindings",
    "rewrite_call",
    "saturated",
]
__all__ += constructors.__all__
__all__ += patterns.__all__
