"""Random programs in "mixed precision" of which the other one is float64: conversions to it and back change nothing."""

import pytest
from hypothesis import assume, given
from random_programs import Program, programs
from strength import drawn, thinned

from tirax.dialects import relax
from tirax.dialects.relax.operator import Operator
from tirax.interpreter import assert_same_meaning
from tirax.ir.verification.verify import verify_module
from tirax.transforms.bindings.convert_to_dataflow import ConvertToDataflow
from tirax.transforms.operators import mixed_precision_policy as policy
from tirax.transforms.operators import to_mixed_precision
from tirax.transforms.operators.mixed_precision_policy import Policy
from tirax.transforms.operators.to_mixed_precision import ToMixedPrecision

OFTEN = dict.fromkeys(["relax.add", "relax.concat", "relax.sum"], Policy.ALWAYS)
OTHERS = {
    "sums always": OFTEN,
    "nothing follows": {n: Policy.NEVER for n, p in policy.POLICIES.items() if p is Policy.FOLLOW} | OFTEN,
    "all else follows": dict.fromkeys(policy.POLICIES, Policy.FOLLOW) | OFTEN,
}


def signature(module) -> list[str]:
    functions = [op for op in module.ops if isinstance(op, relax.FuncOp)]
    return [f"{f.sym_name.data} {[str(p.type) for p in f.params]} {f.ret_type}" for f in functions]


@pytest.mark.thinned
@thinned("others", OTHERS, 1)
def test_the_meaning_stays(monkeypatch, others):
    monkeypatch.setitem(to_mixed_precision._LOW, "float64", float("inf"))
    for name, kind in OTHERS[others].items():
        monkeypatch.setitem(policy.POLICIES, name, kind)
    converted = []

    @drawn(40, quick=20)
    @given(programs())
    def check(program: Program) -> None:
        before = ConvertToDataflow()(program.module)
        after = ToMixedPrecision("float64", dtype="float64")(before)
        verify_module(after)
        assert signature(after) == signature(before)
        assert_same_meaning(before, after)
        assume(count(after) > count(before))  # others have been looked at, but are not counted
        converted.append(program)

    check()
    assert len(converted) >= 3


def count(module) -> int:
    return sum(op.name == "relax.astype" for op in module.walk() if isinstance(op, Operator))
