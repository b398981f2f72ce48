"""What the rules of the default schedule know of the target."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...hardware import Caches
from ...target import Target


@dataclass(frozen=True)
class Machine:
    """The width and the number of the vector registers, the instructions that there are, and the caches."""

    vector_bits: int
    registers: int
    features: frozenset[str] = frozenset()
    caches: Caches = field(default_factory=Caches)

    @classmethod
    def of(cls, target: Target) -> Machine:
        """What the rules know of a target."""
        return cls(target.vector_bits, target.vector_registers, target.features, target.caches)
