"""IRDL descriptions of the dialects, and the text that they describe: read by xDSL's IRDL, by tirax, and by MLIR."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import builtin, irdl
from xdsl.parser import Parser

from tirax.dev.fuzz.workloads import WORKLOADS
from tirax.dev.upstream.judges import iree_opt, judged_by_iree
from tirax.ir.irdl_text import OWN, IRDLPrinter, described_name, is_described
from tirax.script import parse_mlir, parse_source
from tirax.tools.irdl import own_descriptions
from tirax.universe import full_universe

MODEL = """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            a = R.split(x, 2, axis=1)
            b = R.strided_slice(R.add(a[1], a[0]), axes=[0], begin=[0], end=[1])
            c = R.call_pure_packed("some.function", b, R.shape(["n", 4]), sinfo_args=R.Tensor((1, 2), "float32"))
            R.output(c)
        return c
"""
SCHEDULE = """
sched.sequence {
  %b = sched.get_block(name = "C", func_name = "main") : block
  %i, %j = sched.get_loops(block = %b) : loop, loop
  %i0, %i1 = sched.split(loop = %i, factors = [none, 4]) : loop, loop
  sched.annotate(block_or_loop = %i0, ann_key = "\\"quoted\\" \u00e9", ann_val = 1)
}
"""
PROGRAMS = {"model": lambda: parse_source(MODEL), "schedule": lambda: parse_mlir(SCHEDULE)}
PROGRAMS |= {name: (lambda text=text: parse_source(text)) for name, text in WORKLOADS.items()}


def described(module: builtin.ModuleOp) -> str:
    stream = StringIO()
    IRDLPrinter(stream).print_op(module)
    return stream.getvalue()


def test_xdsl_reads_the_descriptions() -> None:
    ctx = Context()
    ctx.load_dialect(builtin.Builtin)
    ctx.load_dialect(irdl.IRDL)
    module = Parser(ctx, own_descriptions()).parse_module()
    module.verify()
    dialects = [op for op in module.body.block.ops if isinstance(op, irdl.DialectOp)]
    assert [d.sym_name.data for d in dialects] == list(OWN)
    for dialect in dialects:
        own = full_universe().all_dialects[dialect.sym_name.data]()
        names = [op.sym_name.data for op in dialect.body.block.ops if isinstance(op, irdl.OperationOp)]
        assert names == [o.name.partition(".")[2] for o in own.operations if is_described(o)]


def test_no_type_has_the_name_of_an_operation() -> None:
    for name in OWN:
        dialect = full_universe().all_dialects[name]()
        assert not {o.name for o in dialect.operations} & {described_name(a.name) for a in dialect.attributes}


@pytest.mark.parametrize("name", PROGRAMS)
def test_round_trip(name: str) -> None:
    module = PROGRAMS[name]()
    text = described(module)
    assert "<{" not in text and "unit, " in text
    assert str(parse_mlir(text)) == str(module)


@pytest.mark.parametrize("name", ["model", "matmul", "gather"])
def test_mlir_verifies_it(tmp_path: Path, name: str) -> None:
    """Also that MLIR refuses text without what is required, so that it is the descriptions that it loads."""
    path = tmp_path / "tirax.irdl.mlir"
    path.write_text(own_descriptions())
    text = described(PROGRAMS[name]())
    if iree_opt() is None:
        assert text.count('"tirax.end"') >= 1
        return
    assert judged_by_iree(text, True, str(path)) is None
    assert judged_by_iree(described(PROGRAMS["schedule"]()), True, str(path)) is None
    other = text.replace("sym_name = ", "other = ")
    assert "is expected but not provided" in (judged_by_iree(other, True, str(path)) or "")
