"""Random Relax programs over all operators: several operator cases in one function, sharing operands of equal types."""

from __future__ import annotations

import random

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import relax
from ...dialects.names import set_name
from ...dialects.relax.types import tuple_type
from .operator_cases import CASES, function


class _Maker:
    """A function under construction: values by type."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.body = Block()
        self.inside = Block()
        self.known: dict[Attribute, list[SSAValue]] = {}
        self.results: list[SSAValue] = []

    def value(self, t: Attribute) -> SSAValue:
        """Return a value of the type: an existing one, or a new parameter."""
        some = self.known.get(t, [])
        if some and self.rng.randint(0, 3):
            return self.rng.choice(some)
        value = self.body.insert_arg(t, len(self.body.args))
        set_name(value, f"p{len(self.body.args)}")
        self.known.setdefault(t, []).append(value)
        return value

    def add(self, func: relax.FuncOp) -> None:
        """Add the operator of a function, applied to values of this one."""
        mapping: dict[SSAValue, SSAValue] = {p: self.value(p.type) for p in func.params}
        ops: list[Operation] = [op for op in func.body.block.ops if not isinstance(op, relax.ReturnOp)]
        for op in ops:
            copy = op.clone(mapping)
            self.inside.add_op(copy)
            mapping.update(zip(op.results, copy.results, strict=True))
        result = copy.results[0]
        set_name(result, f"v{len(self.results)}")
        self.results.append(result)
        self.known.setdefault(result.type, []).append(result)

    def module(self) -> ModuleOp:
        """Return a module that returns all results, as a tuple from a dataflow block."""
        self.inside.add_op(relax.OutputOp(self.results))
        flow = relax.DataflowOp(Region(self.inside))
        for k, value in enumerate(flow.results):
            set_name(value, f"o{k}")
        self.body.add_op(flow)
        self.body.add_op(fields := relax.TupleOp(list(flow.results)))
        self.body.add_op(relax.ReturnOp(fields.result))
        result = tuple_type([v.type for v in flow.results])
        return ModuleOp([relax.FuncOp("main", Region(self.body), result)])


def operator_program(rng: random.Random, least: int = 2, most: int = 5) -> ModuleOp:
    """Return a module whose `main` computes several operators, on shared values where the types agree."""
    maker = _Maker(rng)
    names = sorted(CASES)
    cases = [rng.choice(CASES[rng.choice(names)]) for _ in range(rng.randint(least, most))]
    modules = [module for module in map(function, cases) if module is not None]
    for module in modules or filter(None, [function(CASES["exp"][0])]):
        for func in module.ops:
            if isinstance(func, relax.FuncOp):
                maker.add(func)
    return maker.module()
