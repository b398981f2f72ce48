"""Orders of the bindings of dataflow blocks."""

import pytest

from tirax.diagnostics import NameLookupError
from tirax.dialects import relax
from tirax.dialects.names import name_of
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.passes.bindings.topological_sort import TopologicalSort
from tirax.tvm_api.relax import transform

T = "!relax.tensor<[4], f32>"
PROGRAM = f"""relax.func @main(%x: {T}, %y: {T}) -> tuple<{T}, {T}, {T}> {{
  %o, %p, %q = relax.dataflow {{
    %a = relax.exp %x : {T}
    %b = relax.exp %y : {T}
    %c = relax.abs %a : {T}
    %d = relax.abs %b : {T}
    %e = relax.add %c, %d : {T}
    %f = relax.sin %a : {T}
    %g = relax.add %f, %d : {T}
    %0 = relax.constant <f32 [] 1.0>
    %h = relax.add %y, %0 : {T}
    relax.output %e, %g, %h : {T}, {T}, {T}
  }}
  %r = relax.tuple(%o, %p, %q)
  relax.return %r : tuple<{T}, {T}, {T}>
}}
"""


def order(module):
    (block,) = (op for op in module.walk() if isinstance(op, relax.DataflowOp))
    return "".join(n for op in block.body.block.ops for r in op.results if (n := name_of(r)) is not None)


# What TVM gives for this program.
@pytest.mark.parametrize(
    ("options", "actual"),
    [
        ((), "acfbdegh"),
        (("depth-first", "from-outputs"), "acbdefgh"),
        (("breadth-first", "from-inputs"), "abhcfdeg"),
        (("breadth-first", "from-outputs"), "badfchge"),
    ],
)
def test_orders(parse, options, actual):
    module = parse(PROGRAM)
    after = TopologicalSort(*options)(module)
    assert order(after) == actual
    assert_same_meaning(module, after)


# What TVM gives: c needs y, so b comes from x and y before; d is used by nothing.
@pytest.mark.parametrize(
    ("options", "names"),
    [
        ((), "bdeca"),
        (("depth-first", "from-outputs"), "bdcae"),
    ],
)
def test_parameters_come_in_order_and_what_is_unused_before_the_outputs(parse, options, names):
    module = parse(f"""relax.func @main(%x: {T}, %y: {T}, %z: {T}) -> tuple<{T}, {T}> {{
      %o, %p = relax.dataflow {{
        %c = relax.add %x, %z : {T}
        %b = relax.add %x, %y : {T}
        %d = relax.abs %b : {T}
        %e = relax.exp %b : {T}
        %a = relax.abs %c : {T}
        relax.output %a, %e : {T}, {T}
      }}
      %r = relax.tuple(%o, %p)
      relax.return %r : tuple<{T}, {T}>
    }}""")
    after = TopologicalSort(*options)(module)
    assert order(after) == names
    assert_same_meaning(module, after)


@pytest.mark.parametrize("direction", ["from-inputs", "from-outputs"])
@pytest.mark.parametrize("first", ["depth-first", "breadth-first"])
def test_variables_come_from_casts(parse, first, direction):
    u = "!relax.tensor<ndim = 1, f32>"
    text = f"""relax.func @main(%x: {u}) -> tuple<{T}, {u}> {{
      %o, %p = relax.dataflow {{
        %c = relax.match_cast %x : {u} -> !relax.tensor<[m], f32>
        %0 = relax.shape [m]
        %z = relax.ones %0 {{dtype = "float32"}} : !relax.tensor<[m], f32>
        %1 = relax.shape [4]
        %s = relax.ones %1 {{dtype = "float32"}} : {T}
        relax.output %s, %z : {T}, !relax.tensor<[m], f32>
      }}
      %r = relax.tuple(%o, %p)
      %n = relax.bind %r : tuple<{T}, !relax.tensor<[m], f32>> -> tuple<{T}, {u}>
      relax.return %n : tuple<{T}, {u}>
    }}"""
    module = parse(text)
    module.verify()
    after = TopologicalSort(first, direction)(module)
    assert order(after).index("c") < order(after).index("z")
    assert sorted(order(after)) == sorted(order(module))
    assert_same_meaning(module, after)


def test_refuses(parse):
    assert transform.TopologicalSort is TopologicalSort
    with pytest.raises(NameLookupError, match="did you mean 'depth-first'"):
        TopologicalSort("depth-frist")(parse(PROGRAM))
    with pytest.raises(NameLookupError, match="did you mean 'from-inputs'"):
        TopologicalSort(direction="from-input")(parse(PROGRAM))
