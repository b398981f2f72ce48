"""Dataflow blocks dissolved and gathered."""

import pytest

from tirax.diagnostics import TiraxError
from tirax.dialects import relax
from tirax.dialects.names import name_of
from tirax.interpreter import assert_same_meaning
from tirax.transforms.bindings.convert_to_dataflow import ConvertToDataflow
from tirax.transforms.bindings.to_non_dataflow import ToNonDataflow

T = "!relax.tensor<[4], f32>"
PROGRAM = f"""relax.func @main(%x: {T}, %c: !relax.tensor<[], i1>) -> {T} {{
  %gv, %two = relax.dataflow {{
    %a = relax.exp %x : {T}
    %b = relax.abs %a : {T}
    relax.output %b, %b : {T}, {T}
  }}
  %0 = relax.constant <f32 [] 1.0>
  %d = relax.add %gv, %0 : {T}
  %r = relax.if %c : {T} {{
    %e = relax.exp %d : {T}
    %f = relax.exp %two : {T}
    %g = relax.subtract %f, %e : {T}
    relax.yield %g : {T}
  }} else {{
    %h = relax.exp %d : {T}
    relax.yield %h : {T}
  }}
  %i = relax.exp %r : {T}
  relax.return %i : {T}
}}
"""


def count(module, kind):
    return sum(isinstance(op, kind) for op in module.walk())


def sizes(module):
    return [len(op.body.block.ops) - 1 for op in module.walk() if isinstance(op, relax.DataflowOp)]


@pytest.mark.parametrize("one", [ToNonDataflow(), ConvertToDataflow(), ConvertToDataflow(1)])
def test_the_meaning_stays(parse, one):
    module = parse(PROGRAM)
    module.verify()
    assert_same_meaning(module, one(module))


def test_to_non_dataflow(parse):
    after = ToNonDataflow()(parse(PROGRAM))
    assert count(after, relax.DataflowOp) == 0
    assert count(after, relax.BindOp) == 2
    assert f"%gv = relax.bind %b : {T}" in str(after)


@pytest.mark.parametrize(("least", "actual"), [(1, [4, 3, 1, 1]), (2, [4, 3]), (3, [4, 3]), (4, [4]), (5, [4])])
def test_convert_to_dataflow(parse, least, actual):
    # A constant without a name is an operand, and counts as no binding: of the run of four ops three do. A run with a
    # dataflow block in it stays one.
    assert sizes(ConvertToDataflow(least)(parse(PROGRAM))) == actual


def test_effects_end_a_run(parse):
    text = f"""
    relax.func @main(%x: {T}) -> {T} impure {{
      %a = relax.exp %x : {T}
      %b = relax.call @pure(%a) : {T}
      %p = relax.call_packed "print"(%b) : !relax.object
      %c = relax.exp %b : {T}
      %d = relax.call @impure(%c) : {T}
      %e = relax.exp %d : {T}
      relax.return %e : {T}
    }}
    relax.func private @pure(%x: {T}) -> {T} {{
      relax.return %x : {T}
    }}
    relax.func private @impure(%x: {T}) -> {T} impure {{
      %p = relax.call_packed "print"(%x) : !relax.object
      relax.return %x : {T}
    }}"""
    assert sizes(ConvertToDataflow(1)(parse(text))) == [2, 1, 1]
    assert sizes(ConvertToDataflow()(parse(text))) == [2]


def test_an_output_keeps_its_name(parse):
    once = ConvertToDataflow(1)(parse(PROGRAM))
    again = ConvertToDataflow(1)(ToNonDataflow()(once))
    outputs = [
        [sorted(str(name_of(v)) for v in op.outputs) for op in module.walk() if isinstance(op, relax.DataflowOp)]
        for module in (once, again)
    ]
    assert outputs[0] == outputs[1] and outputs[0][0] == ["d", "two"]


def test_convert_refuses(parse):
    with pytest.raises(TiraxError, match="at least one binding"):
        ConvertToDataflow(0)(parse(PROGRAM))
