"""`tvm.relax.backend.pattern_registry`: fusion patterns by name."""

from ....transforms.codegen.fusion_pattern import (
    get_pattern,
    get_patterns_with_prefix,
    register_patterns,
    remove_patterns,
)

__all__ = ["get_pattern", "get_patterns_with_prefix", "register_patterns", "remove_patterns"]
