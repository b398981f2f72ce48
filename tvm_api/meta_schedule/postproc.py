"""`tvm.meta_schedule.postproc`."""

from ...tuning.postprocessors import (
    DisallowDynamicLoop,
    Postproc,
    RewriteLayout,
    RewriteParallelVectorizeUnroll,
    RewriteReductionBlock,
    RewriteTensorize,
    VerifyOnCPU,
)

PyPostproc = Postproc

__all__ = [
    "DisallowDynamicLoop",
    "Postproc",
    "PyPostproc",
    "RewriteLayout",
    "RewriteParallelVectorizeUnroll",
    "RewriteReductionBlock",
    "RewriteTensorize",
    "VerifyOnCPU",
]
