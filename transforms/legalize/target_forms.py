"""Faster forms of operators on some targets.

sort: by a vectorized quicksort if the target can compress vectors
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import Attribute

from ...dialects.relax.operator import Operator
from ...target import Target
from ...topi import scan, vector_sort
from .legalize_rules import Emit, LegalizeRule, operand, result_tensor, rule_of


def _sort(op: Operator) -> Emit:
    return Emit(scan.sort_in_vectors, (operand(op, "x"), op.attr("axis"), op.attr("descending")), "sort")


def _of_types(allowed: Callable[[Attribute | None], bool], form: LegalizeRule) -> LegalizeRule:
    """Return a rule that uses the form for results of some types, and the general rule for others."""

    def rule(op: Operator) -> Emit | None:
        usual = rule_of(op)
        return form(op) if allowed(result_tensor(op).element) else usual and usual(op)

    return rule


_FORMS: Mapping[str, tuple[Callable[[Target], bool], LegalizeRule]] = {
    "relax.sort": (lambda target: target.compresses_vectors, _of_types(vector_sort.is_sorted_in_vectors, _sort)),
}
"""By operator: a predicate on targets, and the rule."""


def target_forms(target: str) -> dict[str, LegalizeRule]:
    """Return the rules of a target that override those of the table; empty for the empty text."""
    return {name: rule for name, (fits, rule) in _FORMS.items() if fits(Target(target))} if target else {}
