"""Functions of what matches a pattern, for libraries and code generators."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, TiraxError
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.relax.dpl import is_const, is_op, wildcard
from tirax.tvm_api.relax.transform import FuseOpsByPattern, FusionPattern
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32")):
        with R.dataflow():
            h = R.matmul(x, w)
            s = R.add(h, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
            r = R.nn.relu(s)
            k = R.exp(R.negative(r))
            h2 = R.matmul(k, w)
            s2 = R.add(h2, b)
            r2 = R.nn.relu(s2)
            q = R.nn.relu(r2)
            o = R.multiply(q, s2)
            R.output(o)
        return o


MATMUL = is_op("relax.matmul")(wildcard(), wildcard())
DENSE = is_op("relax.nn.relu")(is_op("relax.add")(MATMUL, wildcard()))
RELU = is_op("relax.nn.relu")(wildcard())


def functions(mod) -> dict[str, str]:
    """The functions with a composite name, by name."""
    return {n: mod[n].attrs["Composite"] for n in mod.names if "Composite" in mod[n].attrs}


@pytest.mark.parametrize(
    ("name", "options"),
    [("bound", {}), ("passed", {"bind_constants": False}), ("codegen", {"annotate_codegen": True})],
)
def test_text_and_meaning(golden, name, options):
    after = FuseOpsByPattern([("lib.dense_relu", DENSE), ("lib.relu", RELU)], **options)(Module)
    golden(f"transforms/fuse_ops_by_pattern_{name}.txt", after.script())
    assert_same_meaning(Module.op, after.op)


def test_patterns_in_order_of_priority():
    after = FuseOpsByPattern([("lib.relu", RELU), ("lib.dense_relu", DENSE)])(Module)
    # The relus are taken already, and the same function serves all three of them.
    assert functions(after) == {"fused_relax_nn_relu": "lib.relu"}
    assert after.script().count("cls.fused_relax_nn_relu(") == 3
    assert_same_meaning(Module.op, after.op)


def test_what_a_check_receives():
    seen = []

    def check(context):
        names = [v.name_hint for v in context.matched_bindings]
        matmul = context.value_to_bound_var[context.annotated_expr["matmul"]]
        seen.append((context.matched_expr.op.name, matmul.name_hint, names))
        usages = {v.name_hint: [u.name_hint for u in users] for v, users in context.var_usages.items()}
        assert usages["s2"] == ["r2", "o"]
        assert usages["w"] == ["h", "h2"]
        # As TVM's backends ask: nothing but the result may be used outside.
        inner = context.matched_bindings.keys() - {context.value_to_bound_var[context.matched_expr]}
        return all(u in context.matched_bindings for v in inner for u in context.var_usages[v])

    after = FuseOpsByPattern([("lib.dense_relu", DENSE, {"matmul": MATMUL}, check)])(Module)
    assert seen == [("relax.nn.relu", "h2", ["h2", "s2", "r2"]), ("relax.nn.relu", "h", ["h", "s", "r"])]
    assert list(functions(after)) == ["fused_relax_matmul_relax_add_relax_nn_relu"]
    assert_same_meaning(Module.op, after.op)


def test_of_an_alternative_the_most_is_taken():
    dense = is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard())
    after = FuseOpsByPattern([("lib.any", dense | is_op("relax.nn.relu")(dense))])(Module)
    assert "fused_relax_matmul_relax_add_relax_nn_relu" in functions(after)
    assert_same_meaning(Module.op, after.op)


def test_further_attributes():
    pattern = FusionPattern("lib.dense", DENSE, {"matmul": MATMUL}, None, lambda m: {"root": m["matmul"].op.name})
    after = FuseOpsByPattern([pattern])(Module)
    attrs = after["fused_relax_matmul_relax_add_relax_nn_relu"].attrs
    assert dict(attrs) == {"Composite": "lib.dense", "Primitive": 1, "root": "relax.matmul"}


def test_fields_of_tuples_and_used_tuples():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            with R.dataflow():
                s = R.split(x, 2, axis=1)
                a = s[0]
                b = R.nn.relu(a)
                c = R.nn.relu(s[1])
                t = R.concat((b, c), axis=1)
                R.output(t)
            return t

    from tirax.tvm_api.relax.dpl import is_tuple_get_item

    field = is_op("relax.nn.relu")(is_tuple_get_item(wildcard(), 0))
    full = is_op("relax.concat")([RELU, wildcard()])
    for pattern in (field, full):
        after = FuseOpsByPattern([("lib.f", pattern)])(Before)
        assert len(functions(after)) == 1
        assert_same_meaning(Before.op, after.op)


def test_a_group_that_something_outside_separates_is_left():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.negative(a)
                c = R.add(a, b)
                R.output(c)
            return c

    # exp and add are the group; negative needs the one and is needed by the other.
    pattern = is_op("relax.add")(is_op("relax.exp")(wildcard()), wildcard())
    after = FuseOpsByPattern([("lib.f", pattern)])(Before)
    tvm.ir.assert_structural_equal(after, Before)


def test_two_groups_that_need_each_other_are_not_both_taken():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(y)
                c = R.add(a, R.negative(b))
                d = R.multiply(b, R.abs(a))
                e = R.subtract(c, d)
                R.output(e)
            return e

    first = is_op("relax.add")(is_op("relax.exp")(wildcard()), wildcard())
    second = is_op("relax.multiply")(is_op("relax.sin")(wildcard()), wildcard())
    after = FuseOpsByPattern([("lib.first", first), ("lib.second", second)])(Before)
    assert list(functions(after).values()) == ["lib.first"]
    assert_same_meaning(Before.op, after.op)


def test_bindings_in_between_move():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            with R.dataflow():
                a = R.exp(x)
                z = R.sin(a)
                b = R.abs(x)
                c = R.add(a, b)
                d = R.multiply(c, z)
                R.output(d, a)
            return (d, a)

    pattern = is_op("relax.add")(is_op("relax.exp")(wildcard()), wildcard())
    after = FuseOpsByPattern([("lib.f", pattern)])(Before)
    assert list(functions(after)) == ["fused_relax_exp_relax_add"]
    assert_same_meaning(Before.op, after.op)


def test_entry_functions_and_composite_functions():
    once = FuseOpsByPattern([("lib.dense_relu", DENSE)])(Module)
    again = FuseOpsByPattern([("lib.relu", RELU)])(once)
    assert sorted(set(functions(again).values())) == ["lib.dense_relu", "lib.relu"]
    assert again["fused_relax_matmul_relax_add_relax_nn_relu"].script().count("R.nn.relu") == 1
    named = FuseOpsByPattern([("lib.relu", RELU)], entry_functions=["main"])(Module)
    assert functions(named)
    with pytest.raises(NameLookupError, match="did you mean 'main'"):
        FuseOpsByPattern([("lib.relu", RELU)], entry_functions=["maim"])(Module)


def test_constants_in_patterns():
    with_constant = is_op("relax.add")(MATMUL, is_const())
    after = FuseOpsByPattern([("lib.f", with_constant)])(Module)
    assert list(functions(after)) == ["fused_relax_matmul_relax_add"]
    assert len(after["fused_relax_matmul_relax_add"].params) == 2
    assert_same_meaning(Module.op, after.op)


def test_what_is_no_fusion_pattern():
    for wrong in ("lib.relu", ("lib.relu",), (RELU, "lib.relu")):
        with pytest.raises(TiraxError, match="not a fusion pattern"):
            FuseOpsByPattern([wrong])
