"""The passes on bindings: by text, by meaning, and what they refuse."""

import numpy as np
import pytest

from tirax.diagnostics import DTypeError, NameLookupError, ShapeError, TiraxError
from tirax.dialects import relax
from tirax.dialects.names import name_of
from tirax.handles.module import IRModule
from tirax.handles.relax import names as rx
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.equality import structural_equal
from tirax.ir.passes.transform import Sequential
from tirax.script import parse_source
from tirax.transforms.bindings.canonicalize_bindings import CanonicalizeBindings
from tirax.transforms.bindings.dead_code_elimination import DeadCodeElimination
from tirax.transforms.bindings.eliminate_common_subexpr import EliminateCommonSubexpr
from tirax.transforms.bindings.fold_constant import FoldConstant
from tirax.transforms.bindings.normalize import Normalize
from tirax.transforms.params.bind_params import BindParams
from tirax.tvm_api.passes.params.bind_symbolic_vars import BindSymbolicVars

PROGRAM = """
relax.func private @unused(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
  relax.return %x : !relax.tensor<[4], f32>
}
relax.func private @helper(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %y = relax.negative %x : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}
relax.func @main(
  %x: !relax.tensor<[n, k], f32>, %w: !relax.tensor<[k, 6], f32>, %b: !relax.tensor<[6], f32>
) -> !relax.tensor<[n, 6], f32> {
  %gv, %dead = relax.dataflow {
    %p = relax.permute_dims %w : !relax.tensor<[6, k], f32>
    %pp = relax.permute_dims %p : !relax.tensor<[k, 6], f32>
    %pp2 = relax.permute_dims %p : !relax.tensor<[k, 6], f32>
    %one = relax.constant <f32 [] 1.0>
    %bb = relax.add %b, %one : !relax.tensor<[6], f32>
    %lv = relax.matmul %x, %pp2 : !relax.tensor<[n, 6], f32>
    %al = relax.bind %lv : !relax.tensor<[n, 6], f32> -> !relax.tensor<[n, 6], f32>
    %t = relax.tuple(%al, %pp)
    %first = relax.tuple_get_item %t[0] : !relax.tensor<[n, 6], f32>
    %lv5 = relax.add %first, %bb : !relax.tensor<[n, 6], f32>
    %un = relax.exp %lv5 : !relax.tensor<[n, 6], f32>
    relax.output %lv5, %un : !relax.tensor<[n, 6], f32>, !relax.tensor<[n, 6], f32>
  }
  %h = relax.call @helper(%b) : !relax.tensor<[6], f32>
  %out = relax.add %gv, %h : !relax.tensor<[n, 6], f32>
  relax.return %out : !relax.tensor<[n, 6], f32>
}
"""

T4 = "!relax.tensor<[4], f32>"
ALL = [Normalize(), CanonicalizeBindings(), EliminateCommonSubexpr(), DeadCodeElimination(), FoldConstant()]


@pytest.mark.parametrize("one", [*ALL, Sequential(ALL)], ids=lambda p: p.info.name)
def test_the_meaning_stays(parse, one):
    module = parse(PROGRAM)
    module.verify()
    assert_same_meaning(module, one(module))


def count(module, kind):
    return sum(isinstance(op, kind) for op in module.walk())


def ops_named(module, name):
    return sum(op.name == name for op in module.walk())


def functions(module):
    return {f.sym_name.data for f in module.ops}


def test_canonicalize_removes_other_names_and_known_fields(parse):
    after = CanonicalizeBindings()(parse(PROGRAM))
    assert count(after, relax.BindOp) == 0
    assert count(after, relax.TupleGetItemOp) == 0


def test_canonicalize_keeps_what_checks_at_run_time(parse):
    t = "!relax.tensor<[n], f32>"
    text = f"""relax.func @f(%x: {t}) -> !relax.tensor<[m], f32> {{
      %y = relax.match_cast %x : {t} -> !relax.tensor<[m], f32>
      relax.return %y : !relax.tensor<[m], f32> }}"""
    assert count(CanonicalizeBindings()(parse(text)), relax.MatchCastOp) == 1
    wider = text.replace("[n]", "[4]").replace("[m]", "ndim=1")
    assert count(CanonicalizeBindings()(parse(wider)), relax.MatchCastOp) == 1
    certain = text.replace("[m]", "[n]")
    assert count(CanonicalizeBindings()(parse(certain)), relax.MatchCastOp) == 0


@pytest.mark.parametrize(
    "fields, tuples",
    [("%a, %b", 0), ("%b, %a", 1), ("%a, %a", 1), ("%a, %d", 1), ("%c, %d", 0), ("%a", 1), ("%a, %b, %b", 1), ("", 1)],
)
def test_canonicalize_takes_the_tuple_whose_fields_are_all_there_in_order(parse, fields, tuples):
    pair, t = "tuple<!relax.tensor<[4], f32>, !relax.tensor<[4], f32>>", "!relax.tensor<[4], f32>"
    result = f"tuple<{', '.join([t] * len(fields.split()))}>"
    text = f"""relax.func @f(%t: {pair}, %s: {pair}) -> {result} {{
      %a = relax.tuple_get_item %t[0] : {t}
      %b = relax.tuple_get_item %t[1] : {t}
      %c = relax.tuple_get_item %s[0] : {t}
      %d = relax.tuple_get_item %s[1] : {t}
      %u = relax.tuple({fields})
      relax.return %u : {result} }}"""
    assert count(CanonicalizeBindings()(parse(text)), relax.TupleOp) == tuples
    written_in_place = parse(text.replace("%u", "%0"))
    assert count(CanonicalizeBindings()(written_in_place), relax.TupleOp) == 1


def test_canonicalize_gives_what_leaves_a_block_its_outer_name(parse):
    """Where it leaves once, is of the block, and nothing else reads it there."""
    t = "!relax.tensor<[4], f32>"
    outputs = "%one", "%twice", "%twice", "%x", "%read", "%bare"
    text = f"""relax.func @f(%x: {t}) -> {t} {{
      %gv, %gv1, %gv2, %gv3, %gv4, %0 = relax.dataflow {{
        %one = relax.exp %x : {t}
        %twice = relax.sin %x : {t}
        %read = relax.cos %x : {t}
        %bare = relax.tan %read : {t}
        relax.output {", ".join(outputs)} : {", ".join([t] * 6)}
      }}
      relax.return %gv : {t} }}"""
    after = CanonicalizeBindings()(parse(text))
    (output,) = (op for op in after.walk() if isinstance(op, relax.OutputOp))
    assert [name_of(v) for v in output.values_] == ["gv", "twice", "twice", "x", "read", "bare"]


def test_dead_code(parse):
    after = DeadCodeElimination()(parse(PROGRAM))
    assert functions(after) == {"helper", "main"}
    assert ops_named(after, "relax.exp") == 0
    block = next(op for op in after.walk() if isinstance(op, relax.DataflowOp))
    assert len(block.outputs) == 1


def test_dead_code_of_blocks(parse):
    """A block without outputs goes, one that hands an argument out stays; what stays keeps its name."""
    text = f"""relax.func @f(%x: {T4}) -> {T4} {{
      %gone, %gv = relax.dataflow {{
        %a = relax.exp %x : {T4}
        %b = relax.sin %x : {T4}
        relax.output %a, %b : {T4}, {T4}
      }}
      %unused = relax.dataflow {{
        %c = relax.cos %x : {T4}
        relax.output %c : {T4}
      }}
      %same = relax.dataflow {{
        relax.output %x : {T4}
      }}
      %sum = relax.add %gv, %same : {T4}
      relax.return %sum : {T4} }}"""
    after = DeadCodeElimination()(parse(text))
    blocks = [op for op in after.walk() if isinstance(op, relax.DataflowOp)]
    assert [[name_of(r) for r in op.outputs] for op in blocks] == [["gv"], ["same"]]


def test_dead_code_with_entry_functions(parse):
    assert functions(DeadCodeElimination(("unused",))(parse(PROGRAM))) == {"unused", "helper", "main"}
    private = PROGRAM.replace("relax.func @main", "relax.func private @main")
    assert functions(DeadCodeElimination(("unused",))(parse(private))) == {"unused"}
    assert functions(DeadCodeElimination(None)(parse(PROGRAM))) == {"helper", "main"}
    with pytest.raises(NameLookupError, match="did you mean 'main'"):
        DeadCodeElimination(("mian",))(parse(PROGRAM))


def test_dead_code_keeps_effects(parse):
    text = """relax.func @f(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> impure {
      %e = relax.call_packed "print"(%x) : !relax.object
      %p = relax.call_pure_packed "id"(%x) : !relax.object
      relax.return %x : !relax.tensor<[4], f32> }"""
    after = DeadCodeElimination()(parse(text))
    assert count(after, relax.CallPackedOp) == 1
    assert count(after, relax.CallPurePackedOp) == 0


TWICE = {
    "expressions": (f"relax.exp %x : {T4}", 1, 1),
    "leaves": ("relax.constant <f32 [] 1.0>", 2, 1),
    "tuples": ("relax.tuple(%x, %x)", 2, 1),
    "fields": (f"relax.tuple_get_item %p[0] : {T4}", 1, 1),
    "allocations": (f"relax.builtin.alloc_tensor %s, %d, %m, %g : {T4}", 2, 2),
    "objects": ('relax.call_pure_packed "cache"(%x) : !relax.object', 2, 2),
    "objects changed in place": (
        'relax.call_inplace_packed "f"(%o) attributes {inplace_indices = [0]} : !relax.object',
        2,
        2,
    ),
    "results of packed functions": (f'relax.call_pure_packed "f"(%x) : {T4}', 1, 1),
}


@pytest.mark.parametrize("kind", TWICE)
def test_what_is_there_twice(parse, kind):
    """Leaves without names are written in place, memory and objects are new ones each time."""
    operation, unnamed, named = TWICE[kind]
    head = f"""relax.func @f(%x: {T4}, %p: tuple<{T4}, {T4}>, %o: !relax.object) -> {T4} {{
      %s = relax.shape [4]
      %d = relax.dtype f32
      %m = relax.prim_value 0
      %g = relax.string "global"
      """
    name = operation.replace("(", " ").split()[0]

    def left(first, second, call_only=False):
        body = f"{first} = {operation}\n{second} = {operation}\nrelax.return %x : {T4} }}"
        return ops_named(EliminateCommonSubexpr(call_only)(parse(head + body)), name)

    assert (left("%0", "%1"), left("%a", "%b")) == (unnamed, named)
    assert left("%a", "%b", True) == (2 if kind in ("leaves", "tuples", "fields") else named)


def test_common_subexpressions_become_aliases(parse):
    after = EliminateCommonSubexpr()(
        parse(f"""relax.func @f(%x: {T4}) -> {T4} {{
      %c = relax.dataflow {{
        %a = relax.exp %x : {T4}
        %b = relax.exp %x : {T4}
        %c = relax.add %a, %b : {T4}
        relax.output %c : {T4}
      }}
      %d = relax.add %c, %x : {T4}
      %e = relax.add %c, %x : {T4}
      relax.return %e : {T4} }}""")
    )
    aliases = [op for op in after.walk() if isinstance(op, relax.BindOp)]
    assert [(name_of(op.result), name_of(op.value)) for op in aliases] == [("b", "a"), ("e", "d")]
    add, *_ = (op for op in after.walk() if op.name == "relax.add")
    assert [name_of(v) for v in add.operands] == ["a", "a"]
    last, *_ = (op for op in after.walk() if isinstance(op, relax.ReturnOp))
    assert name_of(last.operands[0]) == "d"


def test_an_output_that_occurred_before_stays_an_output_and_is_known_after_its_block(parse):
    after = EliminateCommonSubexpr()(
        parse(f"""relax.func @f(%x: {T4}) -> {T4} {{
      %a, %b = relax.dataflow {{
        %a = relax.exp %x : {T4}
        %b = relax.exp %x : {T4}
        relax.output %a, %b : {T4}, {T4}
      }}
      %c = relax.exp %x : {T4}
      %d = relax.add %b, %c : {T4}
      relax.return %d : {T4} }}""")
    )
    block, *_ = (op for op in after.walk() if isinstance(op, relax.DataflowOp))
    assert [name_of(v) for v in block.output_op.values_] == ["a", "b"]
    add, *_ = (op for op in after.walk() if op.name == "relax.add")
    assert list(add.operands) == [block.outputs[1], block.outputs[0]]


def test_common_subexpressions(parse):
    after = EliminateCommonSubexpr()(parse(PROGRAM))
    assert ops_named(after, "relax.permute_dims") == 2


def test_equal_constants_are_equal_operands(parse):
    t = "!relax.tensor<[4], f32>"
    text = f"""relax.func @f(%x: {t}) -> {t} {{
      %0 = relax.constant <f32 [] 1.0>
      %a = relax.add %x, %0 : {t}
      %1 = relax.constant <f32 [] 1.0>
      %b = relax.add %x, %1 : {t}
      %2 = relax.constant <f32 [] 2.0>
      %c = relax.add %x, %2 : {t}
      %d = relax.add %a, %b : {t}
      %e = relax.add %d, %c : {t}
      relax.return %e : {t} }}"""
    after = EliminateCommonSubexpr()(parse(text))
    assert ops_named(after, "relax.add") == 4
    assert_same_meaning(parse(text), after)


def test_what_is_computed_of_two_objects_is_computed_twice(parse):
    text = f"""relax.func @f(%x: {T4}) -> {T4} {{
      %a = relax.call_pure_packed "cache"(%x) : !relax.object
      %b = relax.call_pure_packed "cache"(%x) : !relax.object
      %u = relax.call_pure_packed "read"(%a) : {T4}
      %v = relax.call_pure_packed "read"(%b) : {T4}
      relax.return %x : {T4} }}"""
    assert count(EliminateCommonSubexpr()(parse(text)), relax.CallPurePackedOp) == 4


def test_branches_share_only_what_is_visible(parse):
    t = "!relax.tensor<[4], f32>"
    text = f"""relax.func @f(%x: {t}, %c: !relax.tensor<[], i1>) -> {t} {{
      %a = relax.exp %x : {t}
      %r = relax.if %c : {t} {{
        %b = relax.exp %x : {t}
        %d = relax.abs %x : {t}
        %s = relax.add %b, %d : {t}
        relax.yield %s : {t}
      }} else {{
        %e = relax.abs %x : {t}
        relax.yield %e : {t}
      }}
      relax.return %r : {t} }}"""
    after = EliminateCommonSubexpr()(parse(text))
    assert ops_named(after, "relax.exp") == 1
    assert ops_named(after, "relax.abs") == 2
    assert_same_meaning(parse(text), after)


def test_fold_constant_folds_what_depends_on_constants_alone(parse):
    w = np.arange(24, dtype="float32").reshape(4, 6)
    bound = BindParams("main", {"w": w})(parse(PROGRAM))
    folded = FoldConstant()(bound)
    assert ops_named(folded, "relax.permute_dims") == 0
    x, b = np.ones((3, 4), "float32"), np.ones(6, "float32")
    np.testing.assert_allclose(interpret(folded, "main", [x, b]), interpret(parse(PROGRAM), "main", [x, w, b]))


def test_fold_constant_makes_nothing_large_of_something_small(parse):
    text = """
relax.func @main() -> !relax.tensor<[4, 6], f32> {
  %a = relax.constant <f32 [4, 1] [[1.0], [2.0], [3.0], [4.0]]>
  %b = relax.constant <f32 [1, 6] [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]>
  %r = relax.multiply %a, %b : !relax.tensor<[4, 6], f32>
  %s = relax.permute_dims %r : !relax.tensor<[6, 4], f32>
  %t = relax.permute_dims %s : !relax.tensor<[4, 6], f32>
  relax.return %t : !relax.tensor<[4, 6], f32> }"""
    assert ops_named(FoldConstant(max_bytes=95)(parse(text)), "relax.multiply") == 1
    folded = FoldConstant(max_bytes=96)(parse(text))
    assert ops_named(folded, "relax.multiply") == 0
    assert ops_named(FoldConstant(max_bytes=0)(folded), "relax.constant") == 1


def test_fold_constant_moves_constants_of_any_size(parse):
    w = np.arange(24, dtype="float32").reshape(4, 6)
    bound = BindParams("main", {"w": w})(parse(PROGRAM))
    assert ops_named(FoldConstant(max_bytes=8)(bound), "relax.permute_dims") == 0


def test_bind_params_binds_symbolic_dims(parse):
    bound = BindParams("main", {"w": np.ones((4, 6), "float32"), "b": np.ones(6, "float32")})(parse(PROGRAM))
    main = next(f for f in bound.ops if f.sym_name.data == "main")
    assert str(main.params[0].type) == "!relax.tensor<[n, 4], f32>"
    assert len(main.params) == 1
    x = np.ones((2, 4), "float32")
    expected = interpret(parse(PROGRAM), "main", [x, np.ones((4, 6), "float32"), np.ones(6, "float32")])
    np.testing.assert_allclose(interpret(bound, "main", [x]), expected)


def test_bind_params_from_a_file(parse, tmp_path):
    np.savez(tmp_path / "w.npz", w=np.ones((4, 6), "float32"))
    bound = BindParams("main", file=str(tmp_path / "w.npz"))(parse(PROGRAM))
    assert len(next(f for f in bound.ops if f.sym_name.data == "main").params) == 2


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"W": np.ones((4, 6), "float32")}, NameLookupError, "did you mean"),
        ({"w": np.ones((4, 5), "float32")}, ShapeError, "wrong extent in dimension 1"),
        ({"w": np.ones(4, "float32")}, ShapeError, "wrong rank"),
        ({"w": np.ones((4, 6))}, DTypeError, "wrong dtype"),
        ({"x": np.ones((4, 5), "float32"), "w": np.ones((4, 6), "float32")}, ShapeError, "wrong extent"),
        ({3: np.ones(3)}, TiraxError, "by its name"),
    ],
)
def test_bind_params_refuses(parse, params, error, message):
    with pytest.raises(error, match=message):
        BindParams("main", params)(parse(PROGRAM))


def test_bind_params_of_a_missing_function_or_file(parse, tmp_path):
    with pytest.raises(NameLookupError, match="unknown Relax function 'man'"):
        BindParams("man", {})(parse(PROGRAM))
    (tmp_path / "bad.npz").write_bytes(b"nonsense")
    for name in ("bad.npz", "absent.npz"):
        with pytest.raises(TiraxError, match="cannot read"):
            BindParams("main", file=str(tmp_path / name))(parse(PROGRAM))


def test_bind_symbolic_vars(parse):
    after = BindSymbolicVars({"n": 3}, func_name="main")(parse(PROGRAM))
    main = next(f for f in after.ops if f.sym_name.data == "main")
    assert str(main.ret_type) == "!relax.tensor<[3, 6], f32>"
    assert "n" not in {
        str(v.name) for v in relax.free_symbolic_vars([r.type for op in main.walk() for r in op.results])
    }
    with pytest.raises(NameLookupError, match="unknown symbolic variable 'q'"):
        BindSymbolicVars({"q": 3})(parse(PROGRAM))
    with pytest.raises(TiraxError, match="as many values as names"):
        BindSymbolicVars(names=("n", "k"), values=(1,))


def test_a_variable_that_becomes_a_number_is_after_what_is_left(parse):
    text = """relax.func @f(%x: !relax.tensor<[m, n, 2 + k], f32>) -> !relax.tensor<[m * n + 2 * n + m - k], f32> {
      %y = relax.call_dps_packed "p"(%x) : !relax.tensor<[m * n + 2 * n + m - k], f32>
      relax.return %y : !relax.tensor<[m * n + 2 * n + m - k], f32> }"""
    after = BindSymbolicVars({"m": 3, "k": 1})(parse(text))
    assert "%x: !relax.tensor<[3, n, 3], f32>" in str(after) and "<[n * 5 + 2], f32>" in str(after)
    (func,) = BindSymbolicVars({"m": 3})(parse(text.replace("m * n + 2 * n + m - k", "m + n"))).ops
    assert str(func.ret_type) == "!relax.tensor<[n + 3], f32>"


def test_normalize_refines_and_names(parse):
    text = """relax.func @f(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<ndim = 2, f32> {
      %y = relax.dataflow {
        %0 = relax.exp %x : !relax.tensor<*, f32>
        %1 = relax.permute_dims %0 : !relax.tensor<ndim = 2, f32>
        relax.output %1 : !relax.tensor<ndim = 2, f32>
      }
      relax.return %y : !relax.tensor<ndim = 2, f32> }"""
    after = str(Normalize()(parse(text)))
    assert "%lv = relax.exp %x : !relax.tensor<[n, 4], f32>" in after
    assert "%lv1 = relax.permute_dims %lv : !relax.tensor<[4, n], f32>" in after
    assert "relax.return %y : !relax.tensor<[4, n], f32>" in after


def test_dead_code_keeps_the_casts_of_a_block_without_outputs(parse):
    text = """relax.func @f(%y: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
      %z = relax.dataflow {
        %c = relax.match_cast %y : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[m], f32>
        relax.output %c : !relax.tensor<[m], f32>
      }
      %s = relax.shape [m]
      %w = relax.ones %s {dtype = "float32"} : !relax.tensor<[m], f32>
      relax.return %w : !relax.tensor<[m], f32> }"""
    module = parse(text)
    after = DeadCodeElimination()(module)
    assert count(after, relax.MatchCastOp) == 1
    assert_same_meaning(module, after)


def test_folding_removes_what_only_dead_bindings_of_a_branch_used(parse):
    text = """relax.func @f(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
      %a = relax.exp %x : !relax.tensor<[4], f32>
      %r = relax.if %c : !relax.tensor<[4], f32> {
        %d = relax.exp %a : !relax.tensor<[4], f32>
        relax.yield %x : !relax.tensor<[4], f32>
      } else {
        relax.yield %x : !relax.tensor<[4], f32>
      }
      relax.return %r : !relax.tensor<[4], f32> }"""
    assert ops_named(FoldConstant()(parse(text)), "relax.exp") == 0


def test_dead_code_without_public_functions_keeps_them(parse):
    text = PROGRAM.replace("relax.func @main", "relax.func private @main")
    assert functions(DeadCodeElimination()(parse(text))) == {"unused", "helper", "main"}


def test_shapes_and_scalars_are_bound_to_parameters():
    module = IRModule(
        parse_source("""
@R.function
def main(s: R.Shape(["n", 2]), k: R.Prim(value="k"), x: R.Tensor(("n",))):
    a = R.zeros(s, dtype="float32")
    b = R.zeros(R.shape([k]), dtype="float32")
    return (a, b, x)
""")
    )
    bound = module["main"].bind_params({"s": rx.ShapeExpr([3, 2]), "k": rx.PrimValue(5), "x": np.ones(3, "float32")})
    assert [t.shape for t in bound.ret_struct_info.fields] == [[3, 2], [5], [3]]
    assert bound.ret_struct_info.fields[2].dtype == "float32" and bound.params == []
    with pytest.raises(ShapeError, match="wrong rank"):
        module["main"].bind_params({"s": rx.ShapeExpr([3])})
    with pytest.raises(ShapeError, match="wrong extent in dimension 1"):
        module["main"].bind_params({"s": rx.ShapeExpr([3, 4])})
    with pytest.raises(TiraxError, match="cannot be bound to this"):
        module["main"].bind_params({"s": rx.PrimValue(5)})


def test_constants_leave_dataflow_blocks():
    source = """
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        a = R.add(R.const([1.0, 2.0], "float32"), R.const([2.0, 3.0], "float32"))
        R.output(a)
    return a
"""
    module = IRModule(parse_source(source))
    folded = FoldConstant()(module)
    assert "dataflow" not in folded.script() and 'return metadata["relax.expr.Constant"][0]' in folded.script()
    assert_same_meaning(module.op, folded.op)


def test_a_name_of_a_leaf_is_the_leaf_with_a_name():
    def of(text):
        return parse_source(f"@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n    {text}\n    return y\n")

    bound = IRModule(of("y = x"))["main"].bind_params({"x": np.zeros(2, "float32")})
    named = IRModule(parse_source("@R.function\ndef main():\n    y = R.const([0.0, 0.0], 'float32')\n    return y\n"))
    assert structural_equal(bound.op, named["main"].op)
    assert not structural_equal(bound.op, IRModule(of("y = R.exp(x)"))["main"].op)
