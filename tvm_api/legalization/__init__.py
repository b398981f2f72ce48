"""Rules of `relax.transform.LegalizeOps` that write an operator stage by stage as TVM's `topi` does.

The rules of `transforms.legalize` need fewer stages or are more accurate, and build the programs that run here; these
are for users who continue with TVM's program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...transforms.legalize import legalize_ops
from ...transforms.legalize.legalize_rules import LegalizeRule
from . import attention, convolution, gradients, losses, normalization, pooling
from .simplified import simplified

RULES: Mapping[str, LegalizeRule] = {
    **attention.RULES,
    **convolution.RULES,
    **gradients.RULES,
    **losses.RULES,
    **normalization.RULES,
    **pooling.RULES,
}
"""The rules by operator."""


@dataclass(frozen=True)
class LegalizeOps(legalize_ops.LegalizeOps):
    """The pass with these rules, and elements in the form of TVM's analyzer; nothing is checked at run time."""

    OWN_FORMS: ClassVar[Mapping[str, LegalizeRule]] = RULES
    CHECKED: ClassVar[bool] = False

    def finished(self, result: Any) -> Any:
        return simplified(result)
