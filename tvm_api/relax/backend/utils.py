"""`tvm.relax.backend.utils`: what checks of fusion patterns ask."""

from ....transforms.codegen.library_patterns import has_leaking_intermediate_variables

__all__ = ["has_leaking_intermediate_variables"]
