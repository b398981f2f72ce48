"""Passes on private functions and their callers: by text, by meaning, and what they leave alone."""

import pytest

from tirax.dialects import relax
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.passes.functions.expand_tuple_arguments import ExpandTupleArguments
from tirax.tvm_api.passes.functions.inline_private_functions import InlinePrivateFunctions
from tirax.tvm_api.passes.functions.remove_unused_outputs import RemoveUnusedOutputs
from tirax.tvm_api.passes.functions.remove_unused_parameters import RemoveUnusedParameters
from tirax.tvm_api.relax import transform
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import relax as R

PROGRAM = """
relax.func @main(%x: !relax.tensor<[4], f32>, %y: !relax.tensor<[k], f32>) -> !relax.tensor<[4], f32> {
  %gv = relax.dataflow {
    %a = relax.exp %x : !relax.tensor<[4], f32>
    %p = relax.tuple(%x, %a)
    %t = relax.call @helper(%p, %a, %y) : tuple<!relax.tensor<[4], f32>, !relax.tensor<[k], f32>>
    %u = relax.tuple_get_item %t[0] : !relax.tensor<[4], f32>
    relax.output %u : !relax.tensor<[4], f32>
  }
  %d = relax.exp %gv : !relax.tensor<[4], f32>
  relax.return %d : !relax.tensor<[4], f32>
}
relax.func private @helper(
  %args: tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>,
  %unused: !relax.tensor<[n], f32>, %other: !relax.tensor<[m], f32>
) -> tuple<!relax.tensor<[n], f32>, !relax.tensor<[m], f32>> {
  %lv = relax.dataflow {
    %l = relax.tuple_get_item %args[0] : !relax.tensor<[n], f32>
    %r = relax.tuple_get_item %args[1] : !relax.tensor<[n], f32>
    %s = relax.subtract %l, %r : !relax.tensor<[n], f32>
    relax.output %s : !relax.tensor<[n], f32>
  }
  %0 = relax.shape [m]
  %z = relax.ones %0 {dtype = "float32"} : !relax.tensor<[m], f32>
  %out = relax.tuple(%lv, %z)
  relax.return %out : tuple<!relax.tensor<[n], f32>, !relax.tensor<[m], f32>>
}
"""

ALL = [InlinePrivateFunctions, ExpandTupleArguments, RemoveUnusedParameters, RemoveUnusedOutputs]


def functions(module):
    return {f.sym_name.data: f for f in module.ops}


def types(func):
    return [str(p.type) for p in func.params]


def count(module, kind):
    return sum(isinstance(op, kind) for op in module.walk())


@pytest.mark.parametrize("one", ALL, ids=lambda c: c.name)
def test_the_meaning_stays(parse, one):
    module = parse(PROGRAM)
    module.verify()
    after = one()(module)
    assert_same_meaning(module, after)
    assert str(after) != str(module)
    made = getattr(transform, one.__name__)()
    assert one() in (made, *getattr(made, "passes", ()))


def test_all_together(parse):
    module = parse(PROGRAM)
    for one in ALL[1:] + ALL[:1]:
        after = one()(module)
        assert_same_meaning(module, after)
        module = after
    assert set(functions(module)) == {"main"}


def test_inline(parse):
    after = InlinePrivateFunctions()(parse(PROGRAM))
    assert set(functions(after)) == {"main"}
    assert count(after, relax.DataflowOp) == 1
    assert "%s = relax.subtract %x, %a : !relax.tensor<[4], f32>" in str(after)


def test_inline_checks_what_types_do_not_say(parse):
    t = "!relax.tensor<ndim = 1, f32>"
    text = f"""
    relax.func @main(%x: {t}, %y: {t}) -> {t} {{
      %r = relax.call @same(%x, %y) : {t}
      relax.return %r : {t}
    }}
    relax.func private @same(%a: !relax.tensor<[n], f32>, %b: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {{
      %c = relax.add %a, %b : !relax.tensor<[n], f32>
      relax.return %c : !relax.tensor<[n], f32>
    }}"""
    after = InlinePrivateFunctions()(parse(text))
    assert count(after, relax.MatchCastOp) == 2
    assert_same_meaning(parse(text), after)


def test_inline_keeps_symbolic_variables_distinct(parse):
    n, m = "!relax.tensor<[n], f32>", "!relax.tensor<[m], f32>"
    text = f"""
    relax.func @main(
      %x: {n}, %y: {m}, %z: !relax.tensor<ndim = 1, f32>
    ) -> tuple<{n}, {m}, !relax.tensor<ndim = 1, f32>> {{
      %p = relax.call @f(%y, %x) : tuple<{m}, {n}>
      %a = relax.tuple_get_item %p[0] : {m}
      %b = relax.tuple_get_item %p[1] : {n}
      %q = relax.call @g(%z) : !relax.tensor<ndim = 1, f32>
      %r = relax.tuple(%b, %a, %q)
      relax.return %r : tuple<{n}, {m}, !relax.tensor<ndim = 1, f32>>
    }}
    relax.func private @f(%x: {n}, %y: {m}) -> tuple<{n}, {m}> {{
      %u = relax.exp %x : {n}
      %v = relax.abs %y : {m}
      %w = relax.tuple(%u, %v)
      relax.return %w : tuple<{n}, {m}>
    }}
    relax.func private @g(%x: {n}) -> {n} {{
      %u = relax.exp %x : {n}
      relax.return %u : {n}
    }}"""
    after = InlinePrivateFunctions()(parse(text))
    assert set(functions(after)) == {"main"}
    assert "!relax.tensor<[n1], f32>" in str(after)
    assert_same_meaning(parse(text), after)


CHAIN = """
relax.func @main(%x: !relax.tensor<[4], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[4], f32> {
  %a = relax.call @outer(%x) : !relax.tensor<[4], f32>
  %b = relax.call @loop(%a) : !relax.tensor<[4], f32>
  %d = relax.call @noted(%b) : !relax.tensor<[4], f32>
  %e = relax.call @branch(%d, %c) : !relax.tensor<[4], f32>
  %f = relax.dataflow {
    %g = relax.call @branch2(%e, %c) : !relax.tensor<[4], f32>
    relax.output %g : !relax.tensor<[4], f32>
  }
  relax.return %f : !relax.tensor<[4], f32>
}
relax.func private @outer(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %y = relax.call @inner(%x) : !relax.tensor<[n], f32>
  %z = relax.call @inner(%y) : !relax.tensor<[n], f32>
  relax.return %z : !relax.tensor<[n], f32>
}
relax.func private @inner(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %y = relax.sigmoid %x : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}
relax.func private @loop(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
  %y = relax.call @back(%x) : !relax.tensor<[4], f32>
  relax.return %y : !relax.tensor<[4], f32>
}
relax.func private @back(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
  %y = relax.call @loop(%x) : !relax.tensor<[4], f32>
  relax.return %y : !relax.tensor<[4], f32>
}
relax.func private @noted(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> attributes {Codegen = "x"} {
  relax.return %x : !relax.tensor<[4], f32>
}
BRANCH
BRANCH2
"""
BRANCH = """relax.func private @branch(
  %x: !relax.tensor<[4], f32>, %c: !relax.tensor<[], i1>
) -> !relax.tensor<[4], f32> {
  %r = relax.if %c : !relax.tensor<[4], f32> {
    %y = relax.exp %x : !relax.tensor<[4], f32>
    relax.yield %y : !relax.tensor<[4], f32>
  } else {
    relax.yield %x : !relax.tensor<[4], f32>
  }
  relax.return %r : !relax.tensor<[4], f32>
}"""
CHAIN = CHAIN.replace("BRANCH2", BRANCH.replace("@branch", "@branch2")).replace("BRANCH", BRANCH)


def test_what_is_inlined_and_what_is_not(parse):
    module = parse(CHAIN)
    module.verify()
    after = functions(InlinePrivateFunctions()(module))
    # Of two functions that call each other one stays, and calls itself.
    assert set(after) == {"main", "loop", "noted", "branch2"}
    names = [op.name for op in after["main"].walk()]
    assert names.count("relax.sigmoid") == 2
    assert names.count("relax.if") == 1


def test_expand_tuple_arguments(parse):
    helper = functions(ExpandTupleArguments()(parse(PROGRAM)))["helper"]
    assert types(helper) == ["!relax.tensor<[n], f32>"] * 3 + ["!relax.tensor<[m], f32>"]
    assert [p.name_hint for p in helper.params][:2] == ["args.0", "args.1"]


def test_expand_nested_tuples(parse):
    t = "!relax.tensor<[4], f32>"
    nested = f"tuple<tuple<{t}, {t}>, {t}>"
    text = f"""
    relax.func @main(%x: {nested}) -> {t} {{
      %r = relax.call @f(%x) : {t}
      relax.return %r : {t}
    }}
    relax.func private @f(%x: {nested}) -> {t} {{
      %p = relax.tuple_get_item %x[0] : tuple<{t}, {t}>
      %a = relax.tuple_get_item %p[1] : {t}
      relax.return %a : {t}
    }}"""
    after = ExpandTupleArguments()(parse(text))
    assert [p.name_hint for p in functions(after)["f"].params] == ["x_0.0", "x_0.1", "x.1"]
    assert len(functions(after)["main"].params) == 1  # public: its callers are not known
    assert_same_meaning(parse(text), after)


def test_remove_unused_parameters(parse):
    after = functions(RemoveUnusedParameters()(parse(PROGRAM)))
    assert types(after["helper"])[1:] == ["!relax.prim<i64, m>"]
    assert after["helper"].params[1].name_hint == "param_m"
    assert "relax.prim_value k" in str(after["main"])
    assert len(after["main"].params) == 2


def test_fields_that_callers_use_have_names_of_their_own_in_the_module():
    before = from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def pair(x: R.Tensor((4,), "float32")):
        a = R.exp(x)
        b = R.sin(x)
        c = R.cos(x)
        return (a, b, c)

    @R.function
    def first(x: R.Tensor((4,), "float32")):
        gv1 = R.tan(x)
        parts = Module.pair(gv1)
        return parts[0]

    @R.function
    def third(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            parts = Module.pair(x)
            last = parts[2]
            R.output(last)
        return last
""")
    module = RemoveUnusedOutputs()(before)
    ends = (" cls.pair(gv1)", " cls.pair(x)", "[0]", "[1]")
    new = [line for line in module.script().splitlines() if line.endswith(ends)]
    assert [line.split(":")[0].strip() for line in new] == ["gv", "gv2", "lv", "last"]
    assert_same_meaning(before, module)


def test_a_parameter_stays_whose_variable_no_argument_says(parse):
    unknown = "!relax.tensor<ndim = 1, f32>"
    text = f"""
    relax.func @main(%x: {unknown}) -> {unknown} {{
      %r = relax.call @f(%x) : {unknown}
      relax.return %r : {unknown}
    }}
    relax.func private @f(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {{
      %0 = relax.shape [n]
      %y = relax.ones %0 {{dtype = "float32"}} : !relax.tensor<[n], f32>
      relax.return %y : !relax.tensor<[n], f32>
    }}"""
    assert len(functions(RemoveUnusedParameters()(parse(text)))["f"].params) == 1


def test_remove_unused_outputs(parse):
    after = functions(RemoveUnusedOutputs()(parse(PROGRAM)))
    assert str(after["helper"].ret_type) == "!relax.tensor<[n], f32>"
    assert not any(op.name == "relax.ones" for op in after["helper"].walk())
    assert count(after["main"], relax.TupleGetItemOp) == 0


def test_some_outputs(parse):
    t = "!relax.tensor<[4], f32>"
    text = f"""
    relax.func @main(%x: {t}) -> {t} {{
      %p = relax.call @f(%x) : tuple<{t}, {t}, {t}>
      %a = relax.tuple_get_item %p[0] : {t}
      %b = relax.tuple_get_item %p[2] : {t}
      %c = relax.subtract %a, %b : {t}
      relax.return %c : {t}
    }}
    relax.func private @f(%x: {t}) -> tuple<{t}, {t}, {t}> {{
      %a = relax.exp %x : {t}
      %b = relax.abs %x : {t}
      %c = relax.sin %x : {t}
      %p = relax.tuple(%a, %b, %c)
      relax.return %p : tuple<{t}, {t}, {t}>
    }}"""
    after = RemoveUnusedOutputs()(parse(text))
    assert str(functions(after)["f"].ret_type) == f"tuple<{t}, {t}>"
    assert_same_meaning(parse(text), after)


@pytest.mark.parametrize("one", ALL, ids=lambda c: c.name)
def test_a_function_that_is_a_value_stays_as_it_is(parse, one):
    f = "!relax.callable<(tuple<!relax.tensor<[4], f32>>, !relax.object) -> tuple<!relax.tensor<[4], f32>>>"
    t = "tuple<!relax.tensor<[4], f32>>"
    text = f"""
    relax.func @main(%x: {t}, %o: !relax.object) -> {t} {{
      %f = relax.function_ref @f : {f}
      %g = relax.call_pure_packed "use"(%f) : !relax.object
      %r = relax.call @f(%x, %o) : {t}
      relax.return %r : {t}
    }}
    relax.func private @f(%x: {t}, %unused: !relax.object) -> {t} {{
      relax.return %x : {t}
    }}"""
    module = parse(text)
    module.verify()
    assert str(one()(module)) == str(module)


@pytest.mark.parametrize("one", [ExpandTupleArguments, RemoveUnusedOutputs], ids=lambda c: c.name)
def test_tuples_of_unknown_fields_stay(parse, one):
    t = "tuple<!relax.tensor<[4], f32>, !relax.tensor<[4], f32>>"
    text = f"""
    relax.func @main(%x: !relax.object) -> !relax.object {{
      %r = relax.call @f(%x) : !relax.object
      %a = relax.tuple_get_item %r[0] : !relax.object
      relax.return %a : !relax.object
    }}
    relax.func private @f(%x: {t}) -> {t} {{
      relax.return %x : {t}
    }}"""
    assert str(one()(parse(text))) == str(parse(text))


def test_what_a_narrowed_function_returns_is_known_to_its_callers():
    """Its body says more than it declares."""
    module = from_source("""
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main():
        pair = Module.helper()
        return pair[0]

    @R.function(private=True)
    def helper() -> R.Tuple(R.Tensor, R.Tensor):
        a = R.zeros((16, 4), "int32")
        b = R.ones((2,), "int32")
        return (a, b)
""")
    narrowed = transform.RemoveUnusedOutputs()(module)
    assert [str(f.ret_struct_info) for f in (narrowed["main"], narrowed["helper"])] == [
        str(R.Tensor((16, 4), "int32"))
    ] * 2
    assert_same_meaning(module.op, narrowed.op)


def test_sizes_that_an_unused_parameter_gave_are_numbers_the_last_first(parse):
    t = "!relax.tensor<[m, n], f32>"
    module = parse(f"""relax.func @main(%a: {t}) -> {t} {{
      %r = relax.call @helper(%a) : {t}
      relax.return %r : {t}
    }}
    relax.func private @helper(%a: {t}) -> {t} {{
      %0 = relax.shape [m, n]
      %z = relax.zeros %0 {{dtype = "float32"}} : {t}
      relax.return %z : {t}
    }}""")
    after = RemoveUnusedParameters()(module)
    assert types(functions(after)["helper"]) == ["!relax.prim<i64, n>", "!relax.prim<i64, m>"]
    assert_same_meaning(module, after)
