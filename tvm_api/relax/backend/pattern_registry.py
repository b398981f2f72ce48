"""`tvm.relax.backend.pattern_registry`: fusion patterns by name."""

from ....transforms.dpl.pattern_registry import *  # noqa: F403
