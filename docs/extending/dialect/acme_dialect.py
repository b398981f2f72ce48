"""A dialect with one operation, what it means, the pass that lowers it, and a target that counts operations."""

from collections import Counter
from dataclasses import dataclass

from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.universe import Universe
from xdsl.utils.target import Target

from tirax.extend import Pass, apply_rules


@irdl_op_definition
class TwiceOp(IRDLOperation):
    """Twice a tensor."""

    name = "acme.twice"
    x = operand_def()
    result = result_def()
    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    def reference(self, x):
        return x + x


def lower_twice(op, emit):
    # acme.twice x -> x + x
    return emit("add", op.x, op.x)


@dataclass(frozen=True)
class LowerAcme(Pass):
    """Operations of acme become operators of relax."""

    name = "lower-acme"

    def apply(self, ctx, op):
        apply_rules(op, {"acme.twice": lower_twice})


@dataclass(frozen=True)
class CountTarget(Target):
    """The number of operations of each kind, `at_least` so many."""

    name = "acme-count"
    at_least: int = 1

    def emit(self, ctx, module, output):
        for name, number in sorted(Counter(op.name for op in module.walk()).items()):
            if number >= self.at_least:
                output.write(f"{name} {number}\n")


UNIVERSE = Universe(
    all_dialects={"acme": lambda: Dialect("acme", [TwiceOp])},
    all_passes={"lower-acme": lambda: LowerAcme},
    all_targets={"acme-count": lambda: CountTarget},
)
