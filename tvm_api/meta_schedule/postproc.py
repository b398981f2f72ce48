"""`tvm.meta_schedule.postproc`."""

from ...tuning.postprocessors.disallow_dynamic_loop import DisallowDynamicLoop
from ...tuning.postprocessors.postprocessor import Postproc
from ...tuning.postprocessors.rewrite_layout import RewriteLayout
from ...tuning.postprocessors.rewrite_parallel_vectorize_unroll import RewriteParallelVectorizeUnroll
from ...tuning.postprocessors.rewrite_reduction_block import RewriteReductionBlock
from ...tuning.postprocessors.rewrite_tensorize import RewriteTensorize
from ...tuning.postprocessors.verify_on_cpu import VerifyOnCPU

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
