"""`DataflowBlockRewrite`, blocks built of bindings, and passes on dataflow blocks."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, TiraxError, VerifyError
from tirax.handles.module import IRModule
from tirax.handles.relax import names as rx
from tirax.handles.relax.binding_rewrite import DataflowBlockRewrite
from tirax.handles.relax.calls import call_operator
from tirax.interpreter import assert_same_meaning
from tirax.ir.verification.well_formed import well_formed, well_formed_problems
from tirax.script import parse_source
from tirax.transforms.bindings.normalize import Normalize

SOURCE = """
@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    with R.dataflow():
        lv0 = R.add(x, x)
        lv1 = R.exp(lv0)
        gv = R.add(lv1, lv0)
        R.output(gv)
    return gv
"""
S = rx.TensorStructInfo((4,), "float32")


def exp(x):
    return call_operator("relax.exp", x)


@pytest.fixture
def main():
    return IRModule(parse_source(SOURCE))["main"]


@pytest.fixture
def rewrite(main):
    return DataflowBlockRewrite(main.body.blocks[0], main)


def variable(func, name):
    return next(b.var for block in func.body.blocks for b in block.bindings if b.var.name_hint == name)


def body(func):
    """The bindings as text, and the result."""
    lines = [line.strip() for line in func.script().splitlines()]
    statements = [
        f"{line.split(':')[0]} = {line.split(' = ')[1]}" for line in lines if ": R." in line and " = R." in line
    ]
    statements += [f"{line.split(':')[0]} = {line.split(' = ')[1]}" for line in lines if line.endswith(" = x")]
    return statements + [line for line in lines if line.startswith(("R.output", "return"))]


def test_uses_are_replaced(main, rewrite):
    rewrite.replace_all_uses(variable(main, "lv1"), variable(main, "lv0"))
    new = rewrite.mutated_root_fn()
    assert body(new)[:3] == ["lv0 = R.add(x, x)", "lv1 = R.exp(lv0)", "gv = R.add(lv0, lv0)"]
    rewrite.replace_all_uses(variable(main, "gv"), main.params[0])
    assert body(rewrite.mutated_root_fn())[-1] == "return x"
    rewrite.remove_all_unused()
    assert body(rewrite.mutated_root_fn()) == ["return x"]
    with pytest.raises(TiraxError, match="nothing is left"):
        rewrite.mutated_dfb()
    assert "return gv" in main.script() and well_formed(main)


def test_a_local_variable_becomes_an_output_where_it_is_needed(main, rewrite):
    rewrite.replace_all_uses(variable(main, "gv"), variable(main, "lv1"))
    rewrite.remove_all_unused()
    new = rewrite.mutated_root_fn()
    assert body(new) == ["lv0 = R.add(x, x)", "lv1 = R.exp(lv0)", "R.output(lv1)", "return lv1"]
    assert well_formed_problems(new) == []


def test_what_is_replaced_may_be_replaced_again(main, rewrite):
    lv0, lv1, gv = (variable(main, n) for n in ("lv0", "lv1", "gv"))
    rewrite.replace_all_uses(gv, lv1)
    rewrite.replace_all_uses(lv1, lv0)
    rewrite.remove_unused(gv)
    rewrite.remove_unused(lv1)
    new = rewrite.mutated_root_fn()
    assert body(new) == ["lv0 = R.add(x, x)", "R.output(lv0)", "return lv0"] and well_formed(new)


def test_the_argument_is_not_changed(main, rewrite):
    first = rewrite.mutated_root_fn()
    text = first.script()
    rewrite.replace_all_uses(variable(first, "lv1"), variable(main, "lv0"))
    second = rewrite.mutated_root_fn()
    rewrite.remove_unused(variable(first, "lv1"))
    third = rewrite.mutated_root_fn()
    assert first.script() == text == main.script() and "R.add(lv0, lv0)" in second.script()
    assert "R.exp" in second.script() and "R.exp" not in third.script()


def test_a_block_that_only_names_its_outputs_gets_bindings_for_them():
    mod = IRModule(
        parse_source("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        lv0 = x
        R.output(lv0)
    return lv0
""")
    )
    rewriter = DataflowBlockRewrite(mod["main"].body.blocks[0], mod["main"])
    rewriter.add(mod["main"].params[0], name="tmp", is_dfvar=True)
    names = [(b.var.name_hint, type(b.var)) for b in rewriter.mutated_dfb().bindings]
    assert names == [("lv0", rx.Var), ("tmp", rx.DataflowVar)]


def test_bindings_are_added(main, rewrite):
    (x,) = main.params
    rewrite.add(x, "copy", is_dfvar=True)
    rewrite.add(exp(x))
    rewrite.add(exp(exp(variable(main, "lv0"))), is_dfvar=True)
    new = rewrite.mutated_root_fn()
    assert body(new) == [
        "lv0 = R.add(x, x)", "lv = R.exp(lv0)", "tmp1 = R.exp(lv)", "tmp = R.exp(x)", "lv1 = R.exp(lv0)",
        "gv = R.add(lv1, lv0)", "copy = x", "R.output(tmp, gv)", "return gv",
    ]  # fmt: skip
    assert well_formed(new)
    names = [b.var.name_hint for b in rewrite.mutated_dfb().bindings]
    assert names == ["lv0", "lv", "tmp1", "tmp", "copy", "lv1", "gv"]


def test_an_expression_is_replaced_by_another(main, rewrite):
    """exp(x + x) -> exp(x) * exp(x)"""
    (x,) = main.params
    rewrite.add(exp(x) * exp(x), "product", is_dfvar=True)
    product = next(b.var for b in rewrite.mutated_dfb().bindings if b.var.name_hint == "product")
    rewrite.replace_all_uses(variable(main, "lv1"), product)
    rewrite.remove_all_unused()
    mod = IRModule({"main": main})
    new = rewrite.mutate_irmodule(mod)
    assert "product" in new.script() and "lv1" not in body(new["main"])[1] and "product" not in mod.script()
    assert_same_meaning(mod.op, new.op)
    x0 = np.arange(4, dtype="float32")
    result = tvm.relax.VirtualMachine(tvm.relax.build(new))["main"](tvm.nd.array(x0)).numpy()
    np.testing.assert_allclose(result, np.exp(x0) ** 2 + 2 * x0, rtol=1e-5)


def test_bindings_with_variables_of_their_own(main, rewrite):
    mine, seen = rx.DataflowVar("mine", S), rx.Var("seen", rx.TensorStructInfo(("k",), "float32"))
    rewrite.add_binding(rx.VarBinding(mine, exp(main.params[0])))
    rewrite.add_binding(rx.MatchCast(seen, mine, seen.struct_info))
    rewrite.replace_all_uses(variable(main, "lv0"), mine)
    new = rewrite.mutated_root_fn()
    assert "mine = R.exp(x)" in body(new) and "R.output(seen, gv)" in body(new)
    assert "lv1 = R.exp(mine)" in body(new) and well_formed(new)


def test_what_is_refused(main, rewrite):
    stranger = rx.Var("q", S)
    with pytest.raises(TiraxError, match="'lv0' is used by 2 bindings"):
        rewrite.remove_unused(variable(main, "lv0"))
    with pytest.raises(TiraxError, match="'gv' is used by 1 bindings or results"):
        rewrite.remove_unused(variable(main, "gv"))
    with pytest.raises(NameLookupError, match="does not bind 'q'"):
        rewrite.remove_unused(stranger)
    rewrite.remove_unused(stranger, allow_undef=True)
    with pytest.raises(NameLookupError, match="no variable 'q'"):
        rewrite.replace_all_uses(stranger, main.params[0])
    other = IRModule(parse_source(SOURCE))["main"]
    with pytest.raises(TiraxError, match="not one of the function"):
        DataflowBlockRewrite(other.body.blocks[0], main)
    rewrite.replace_all_uses(main.params[0], variable(main, "lv1"))
    with pytest.raises(VerifyError, match="where it is not defined"):
        rewrite.mutated_root_fn()


# Blocks of bindings.


def test_a_function_of_blocks():
    x, lv, gv, z = rx.Var("x", S), rx.DataflowVar("lv", S), rx.Var("gv", S), rx.Var("z", S)
    cast = rx.Var("m", rx.TensorStructInfo(("n",), "float32"))
    dataflow = rx.DataflowBlock([rx.VarBinding(lv, x + x), rx.VarBinding(gv, exp(exp(lv)))])
    block = rx.BindingBlock([rx.VarBinding(z, exp(gv)), rx.MatchCast(cast, z, cast.struct_info)])
    assert dataflow.detached and [b.var for b in dataflow.bindings] == [lv, gv]
    with pytest.raises(TiraxError, match="belongs to no function yet"):
        dataflow.op  # noqa: B018
    func = rx.Function([x], rx.SeqExpr([dataflow, block], rx.Tuple([cast, gv])))
    assert [p.rule for p in well_formed_problems(func)] == ["nested-call"]
    assert well_formed_problems(Normalize()(IRModule({"f": func}))) == []
    kinds = [(type(b), len(b.bindings), b.detached) for b in func.body.blocks]
    assert kinds == [(rx.DataflowBlock, 3, False), (rx.BindingBlock, 2, False)]
    # A caller knows only the rank of what a match_cast gives.
    assert func.ret_struct_info.fields == [rx.TensorStructInfo(None, "float32", ndim=1), S]
    assert gv == func.body.body.fields[1] and func.body.blocks[1].bindings[0].var == z


def test_branches_of_blocks():
    x, c, y = rx.Var("x", S), rx.Var("c", rx.TensorStructInfo((), "bool")), rx.Var("y", S)
    branches = [rx.SeqExpr([rx.BindingBlock([rx.VarBinding(v, exp(x))])], v) for v in (y, rx.Var("w", S))]
    func = rx.Function([x, c], rx.If(c, *branches))
    assert well_formed(func) and func.script().count("R.exp(x)") == 2


def test_blocks_hold_bindings():
    with pytest.raises(TiraxError, match="consists of bindings"):
        rx.BindingBlock([3])
    assert rx.BindingBlock([]).bindings == []


# Passes on dataflow blocks.


@tvm.relax.transform.dataflowblock_pass(opt_level=1, name="Doubles")
class Doubles:
    """x + x -> 2 * x"""

    def __init__(self, factor=2.0):
        self.factor = factor

    def transform_dataflowblock(self, block, mod, ctx):
        assert isinstance(mod, IRModule) and isinstance(ctx, tvm.transform.PassContext)
        return rx.DataflowBlock([rx.VarBinding(b.var, self._rewritten(b.value)) for b in block.bindings])

    def _rewritten(self, value):
        if isinstance(value, rx.Call) and value.op.name == "relax.add" and value.args[0] == value.args[1]:
            return value.args[0] * self.factor
        return value


def test_a_pass_on_dataflow_blocks(main):
    mod = IRModule({"main": main})
    new = Doubles()(mod)
    assert 'lv0: R.Tensor((4,), dtype="float32") = R.multiply(x, R.const(2.0, "float32"))' in new.script()
    assert Doubles().info.name == "Doubles" and Doubles(3.0).factor == 3.0
    assert_same_meaning(mod.op, new.op)
    with tvm.transform.PassContext(opt_level=0):
        assert tvm.transform.Sequential([Doubles()])(mod).script() == mod.script()


def test_a_function_as_a_pass_on_dataflow_blocks(main):
    @tvm.relax.transform.dataflowblock_pass
    def same(block, mod, ctx):
        seen.append(len(block.bindings))
        return block

    seen = []
    mod = IRModule({"main": main})
    assert same(mod).script() == mod.script() and seen == [3]


def test_passes_on_dataflow_blocks_that_are_wrong(main):
    mod = IRModule({"main": main})
    drop = tvm.relax.transform.dataflowblock_pass(lambda block, mod, ctx: rx.DataflowBlock(block.bindings[:2]))
    with pytest.raises(VerifyError, match="must keep what they output") as raised:
        drop(mod)
    assert raised.value.expected == "gv"
    foreign = IRModule(parse_source(SOURCE))["main"].body.blocks[0]
    with pytest.raises(TiraxError, match="a block of another function"):
        tvm.relax.transform.dataflowblock_pass(lambda block, mod, ctx: foreign)(mod)
    nothing = tvm.relax.transform.dataflowblock_pass(lambda block, mod, ctx: None)
    with pytest.raises(TiraxError, match="gives one"):
        nothing(mod)


def test_handles_on_one_block_are_equal(main, rewrite):
    """And a rewrite that changed nothing gives the function itself."""
    block = main.body.blocks[0]
    assert block == main.body.blocks[0] and hash(block) == hash(main.body.blocks[0])
    rewrite.remove_unused(rx.Var("elsewhere", S), allow_undef=True)
    assert rewrite.mutated_root_fn() == main and rewrite.mutated_dfb() == block
    rewrite.add(main.params[0])
    assert rewrite.mutated_root_fn() != main and rewrite.mutated_dfb() != block
    assert rewrite.mutated_root_fn().body.blocks[0] == rewrite.mutated_dfb()


def test_an_output_that_is_a_parameter_is_removed_and_the_block_with_it():
    func = IRModule(
        parse_source(
            SOURCE.replace("lv0 = R.add(x, x)", "gv = x")
            .replace("gv = R.add(lv1, lv0)", "")
            .replace("lv1 = R.exp(lv0)", "")
            .replace("return gv", "return x")
        )
    )["main"]
    rewrite = DataflowBlockRewrite(func.body.blocks[0], func)
    rewrite.remove_unused(func.body.blocks[0].bindings[0].var)
    assert rewrite.mutated_root_fn().body.blocks == [] and len(func.body.blocks) == 1
