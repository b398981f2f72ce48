"""`tvm.arith`: what is known of integer expressions."""

from __future__ import annotations

from ..handles.arith.analyzer import (
    Analyzer,
    ConstIntBound,
    ConstraintScope,
    IntervalSet,
    IntSet,
    ModularSet,
    ProofStrength,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
    neg_inf,
    pos_inf,
)
from ..handles.arith.iter_map import (
    IterMapExpr,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
from ..handles.arith.linear import (
    IntConstraints,
    IntConstraintsTransform,
    deduce_bound,
    detect_clip_bound,
    detect_linear_equation,
    solve_linear_equations,
)
from ..ir.affine.iter_map import IterMapLevel

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "ConstraintScope",
    "IntConstraints",
    "IntConstraintsTransform",
    "IntSet",
    "IntervalSet",
    "IterMapExpr",
    "IterMapLevel",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "ModularSet",
    "ProofStrength",
    "deduce_bound",
    "detect_clip_bound",
    "detect_iter_map",
    "detect_linear_equation",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "inverse_affine_iter_map",
    "iter_map_simplify",
    "neg_inf",
    "normalize_iter_map_to_expr",
    "normalize_to_iter_sum",
    "pos_inf",
    "solve_linear_equations",
    "subspace_divide",
]
