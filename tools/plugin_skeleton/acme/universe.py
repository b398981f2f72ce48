"""The names that tirax-opt, tirax and xdsl-opt load."""

from xdsl.universe import Universe

from acme.dialect import ACME, LowerAcme
from acme.relax_pass import CancelNegatives
from acme.tir_pass import DoubleByAdding

UNIVERSE = Universe(
    all_dialects={"acme": lambda: ACME},
    all_passes={p.name: lambda p=p: p for p in (CancelNegatives, DoubleByAdding, LowerAcme)},
)
