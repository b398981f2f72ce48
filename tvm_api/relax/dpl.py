"""`tvm.relax.dpl`: dataflow patterns."""

from ...transforms.dpl import *  # noqa: F403
