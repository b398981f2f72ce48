"""Views, visitors and copies of functions on all constructs of the language: nothing changes, nothing fails."""

import textwrap

import numpy as np
import pytest
import test_tir_language
import test_tir_reductions
import test_tir_words
from test_tir_language import HEAD, MATRICES

from tirax.handles.module import IRModule
from tirax.ir.equality import structural_equal
from tirax.ir.verification.verify import verify_module
from tirax.script import parse_source
from tirax.tvm_api import tir

BODIES = {
    **{n: (p[0], MATRICES if np.ndim(p[1]) == 2 else HEAD)
       for n, p in test_tir_language.PROGRAMS.items()},
    **{n: (p[0], test_tir_words.head("float32" if "float" in p[0] or "T." not in p[0] else str(p[1].dtype)))
       for n, p in test_tir_words.PROGRAMS.items() if p[1].dtype.itemsize == 4},
    **{n: (p[0], test_tir_reductions.HEAD) for n, p in test_tir_reductions.PROGRAMS.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_a_copy_is_the_same(name):
    text, head = BODIES[name]
    module = parse_source(head + textwrap.indent(textwrap.dedent(text).strip(), "    "))
    func = IRModule(module)["f"]
    transform, visit = tir.stmt_functor.ir_transform, tir.stmt_functor.post_order_visit
    kinds = []
    visit(func.body, lambda node: kinds.append(type(node)))
    assert kinds and tir.Stmt not in kinds
    for copy in (transform(func.body, None, None), transform(func.body, None, lambda node: node)):
        new = func.with_body(copy)
        verify_module(IRModule({"f": new}).op)
        assert new.script() == func.script() and structural_equal(new.op, func.op)
    assert tir.stmt_functor.substitute(func.body, {}).script() == func.body.script()


def test_a_body_without_statements_is_a_zero():
    func = tir.PrimFunc([], tir.Evaluate(0))
    assert func.body.script().splitlines()[-1] == "T.evaluate(0)"
