"""A graph pass: a table of rules by operator name."""

from dataclasses import dataclass

from tirax.extend import Pass, apply_rules, producer


@dataclass(frozen=True)
class CancelNegatives(Pass):
    """negative(negative(x)) -> x"""

    name = "acme-cancel-negatives"

    def apply(self, ctx, op):
        apply_rules(op, {"relax.negative": self.cancel})

    def cancel(self, op, emit):
        inner = producer(op.operands[0], "negative")
        return None if inner is None else inner.operands[0]
