"""Operators as some targets compute them faster.

sort: by a vector quicksort where vectors are compressed by an instruction
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
    """The form for results of some types, the rule of all targets for others."""

    def rule(op: Operator) -> Emit | None:
        usual = rule_of(op)
        return form(op) if allowed(result_tensor(op).element) else usual and usual(op)

    return rule


_FORMS: Mapping[str, tuple[Callable[[Target], bool], LegalizeRule]] = {
    "relax.sort": (lambda target: target.compresses_vectors, _of_types(vector_sort.is_sorted_in_vectors, _sort)),
}
"""Operator -> which targets the rule is for, and the rule."""


def target_forms(target: str) -> dict[str, LegalizeRule]:
    """Rules that go before those of the table for a target; none for the empty text."""
    return {name: rule for name, (fits, rule) in _FORMS.items() if fits(Target(target))} if target else {}
