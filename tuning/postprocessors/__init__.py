"""Postprocessors: what is done to a schedule after all decisions, before it is built. Each may reject it."""

from __future__ import annotations

from .disallow_dynamic_loop import DisallowDynamicLoop
from .postprocessor import Postproc
from .rewrite_layout import RewriteLayout
from .rewrite_parallel_vectorize_unroll import RewriteParallelVectorizeUnroll
from .rewrite_reduction_block import RewriteReductionBlock
from .rewrite_tensorize import RewriteTensorize
from .verify_on_cpu import VerifyOnCPU

__all__ = [
    "DisallowDynamicLoop",
    "Postproc",
    "RewriteLayout",
    "RewriteParallelVectorizeUnroll",
    "RewriteReductionBlock",
    "RewriteTensorize",
    "VerifyOnCPU",
]
