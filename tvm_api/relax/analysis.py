"""`tvm.relax.analysis`: questions about Relax programs."""

from ...ir.analysis import (
    all_global_vars,
    all_vars,
    bound_vars,
    contains_impure_call,
    free_vars,
    get_var2val,
    name_to_binding,
    post_order_visit,
    udchain,
    well_formed,
)

__all__ = [
    "all_global_vars",
    "all_vars",
    "bound_vars",
    "contains_impure_call",
    "free_vars",
    "get_var2val",
    "name_to_binding",
    "post_order_visit",
    "udchain",
    "well_formed",
]
