"""Passes of ACME for tirax."""

from dataclasses import dataclass

from xdsl.universe import Universe

from tirax.extend import (
    Materializer,
    Pass,
    apply_rules,
    bound_expr,
    constant_array,
    erase,
    functions,
    inline_before,
    inserter,
    producer,
    remove_dead,
    tir,
)


@dataclass(frozen=True)
class MergeAddedConstants(Pass):
    """add(add(x, c), d) -> add(x, c + d)

    Sums of floats only with `floats`: they round otherwise.
    """

    name = "acme-merge-added-constants"
    floats: bool = False

    def apply(self, ctx, op):
        apply_rules(op, {"relax.add": self.merge})

    def merge(self, op, emit):
        inner = producer(op.operands[0], "add")
        if inner is None:
            return None
        c, d = constant_array(inner.operands[1]), constant_array(op.operands[1])
        if c is None or d is None or (c.dtype.kind not in "iu" and not self.floats):
            return None
        return emit("add", inner.operands[0], emit.constant(c + d, op.result.type.element))


@dataclass(frozen=True)
class UnitLoops(Pass):
    """for i in range(m, m + 1): body(i) -> body(m)"""

    name = "acme-unit-loops"

    def apply(self, ctx, op):
        for func in functions(op):
            for loop in [inner for inner in func.walk() if isinstance(inner, tir.ForOp)]:
                if bound_expr(loop.extent).constant == 1 and loop.thread is None:
                    first = Materializer(inserter(loop))(bound_expr(loop.min), loop.loop_var.type)
                    loop.loop_var.replace_all_uses_with(first)
                    inline_before(loop.body.block, loop)
                    erase(loop)
            remove_dead(func)


UNIVERSE = Universe(all_passes={p.name: lambda p=p: p for p in (MergeAddedConstants, UnitLoops)})
