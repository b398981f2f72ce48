"""Visitors and mutators: what they visit, what they build, and that what they build means the same."""

import pytest

from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.dialects.relax import substitute_type
from tirax.dialects.sym.expr import Var as SymVar
from tirax.dialects.sym.expr import as_expr
from tirax.frontend.block_builder import BlockBuilder
from tirax.frontend.mutator import PyExprMutator, mutator
from tirax.handles.module import IRModule
from tirax.handles.relax import names as rx
from tirax.handles.relax.calls import call_operator
from tirax.handles.relax.functor import ExprFunctor, PyExprVisitor, post_order_visit, visitor
from tirax.interpreter import assert_same_meaning
from tirax.ir.equality import assert_structural_equal, structural_equal
from tirax.ir.locations import location_of
from tirax.ir.verification.verify import verify_module
from tirax.script import parse_source

SOURCE = """
@R.function(private=True)
def helper(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
    n = T.int64()
    with R.dataflow():
        gv = R.nn.relu(x)
        R.output(gv)
    return gv

@R.function
def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool"), w: R.Tensor((4, 4), "float32")):
    n = T.int64()
    R.func_attr({"num_input": 2})
    with R.dataflow():
        a = R.nn.relu(x)
        t = (a, w)
        s = R.shape([n, 4])
        b = R.add(t[0], R.const(1.0, "float32"))
        d = R.reshape(b, s)
        lv = R.matmul(d, w)
        gv = lv
        gv1 = R.concat((lv, a), axis=0)
        R.output(gv, gv1)
    m = R.match_cast(gv1, R.Tensor(("k", 4), "float32"))
    if c:
        y0 = R.nn.relu(gv)
        y = R.negative(y0)
    else:
        y = R.add(gv, gv)
    return (y, m)
"""


@pytest.fixture
def module():
    return IRModule(parse_source(SOURCE))


def rewrite(mod, cls, *args):
    rewriter = cls(mod, *args)
    for gv, func in mod.functions_items():
        if isinstance(func, rx.Function):
            rewriter.builder_.update_func(gv, rewriter.visit_expr(func))
    new = rewriter.builder_.get()
    verify_module(new.op)
    return new


def op_names(func):
    names = []
    post_order_visit(func, lambda e: names.append(getattr(e.op, "name", "")) if isinstance(e, rx.Call) else None)
    return names


def test_a_mutator_that_changes_nothing(module):
    before = module.script()
    new = rewrite(module, PyExprMutator)
    assert new.script() == before == module.script()
    assert_structural_equal(new.op, module.op)
    assert new["main"].op is not module["main"].op


@mutator
class ReluToGelu(PyExprMutator):
    def visit_call_(self, call):
        if call.op == rx.Op.get("relax.nn.relu"):
            return call_operator("relax.nn.gelu", call.args[0])
        return super().visit_call_(call)


def test_calls_are_replaced_everywhere(module):
    new = rewrite(module, ReluToGelu)
    assert new.script() == module.script().replace("R.nn.relu", "R.nn.gelu")
    assert "gelu" not in module.script()


def test_places_in_the_source_are_kept(module):
    (relu,) = [b for b in rewrite(module, ReluToGelu)["main"].body.blocks[0].bindings if b.var.name_hint == "a"]
    location = location_of(relu.value.op_handle)
    assert (
        relu.value.op.name == "relax.nn.gelu"
        and location.line == SOURCE.split("\n").index("        a = R.nn.relu(x)") + 1
    )


def test_a_new_call_may_need_bindings_of_its_own(module):
    class Expand(PyExprMutator):
        def visit_call_(self, call):
            if call.op.name == "relax.matmul":
                doubled = call.args[0] + call.args[0]
                emitted = self.builder_.emit(call_operator("relax.exp", doubled), "e")
                return call_operator("relax.matmul", emitted, call.args[1])
            return call

    new = rewrite(module, Expand)
    text = new.script()
    assert "= R.add(d, d)" in text and "e: R.Tensor((n, 4)" in text and "R.matmul(e, w" in text


def test_parts_first_then_what_is_around_them():
    """A method may ask for its own expression with its parts rewritten, of every kind, and be derived from."""
    seen = []

    def logs(name):
        def visit(self, expr):
            seen.append(name)
            return self.visit_expr_post_order(expr)

        return visit

    kinds = ("constant", "var", "dataflow_var", "shape_expr", "prim_value", "string_imm", "tuple", "call", "op")
    names = [f"visit_{kind}_" for kind in kinds]
    Logger = mutator(type("Logger", (PyExprMutator,), {name: logs(name) for name in names}))
    derived = type("Derived", (Logger._cls,), {})()
    x = rx.Var("x", rx.TensorStructInfo((4,), "float32"))
    parts = [
        rx.const(1.0),
        x,
        rx.DataflowVar("lv", x.struct_info),
        rx.ShapeExpr([2]),
        rx.PrimValue(3),
        rx.StringImm("s"),
    ]
    for part, name in zip(parts, names, strict=False):
        seen.clear()
        assert derived.visit_expr(part).same_as(part) and seen[0] == name
    seen.clear()
    call = derived.visit_expr(call_operator("relax.exp", x))
    assert call.op.name == "relax.exp" and seen == ["visit_call_", "visit_op_", "visit_var_", "visit_shape_expr_"]


def test_struct_info_follows(module):
    """An argument that becomes another tensor changes what is inferred from it."""

    class Half(PyExprMutator):
        def visit_var_binding_(self, binding):
            super().visit_var_binding_(binding)
            if binding.var.name_hint == "b":
                short = call_operator("relax.concat", [binding.var, binding.var], axis=0)
                self.set_var_remap(binding.var.vid, self.builder_.emit(short, "wide"))

    x = rx.Var("x", rx.TensorStructInfo(("n", 4), "float32"))
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            b = bb.emit(x + x, "b")
            gv = bb.emit_output(call_operator("relax.nn.relu", bb.emit(b * b, "c")))
        bb.emit_func_output(gv)
    new = rewrite(bb.get(), Half)
    assert str(new["main"].ret_struct_info) == "!relax.tensor<[n * 2, 4], f32>"
    assert "c: R.Tensor((n * 2, 4)" in new.script()


def test_parameters_may_change():
    class Cast(PyExprMutator):
        def visit_var_def_(self, var):
            return self.with_struct_info(var, rx.TensorStructInfo(("n", 4), "float16"))

    x = rx.Var("x", rx.TensorStructInfo(("n", 4), "float32"))
    mod = IRModule({"main": rx.Function([x], x * x, attrs={"global_symbol": "main"})})
    func = rewrite(mod, Cast)["main"]
    assert func.params[0].struct_info.dtype == "float16" and func.ret_struct_info.dtype == "float16"


def test_bindings_may_be_left_out_and_blocks_kept(module):
    class Drop(PyExprMutator):
        def visit_binding_block_(self, block):
            return block

        def visit_var_binding_(self, binding):
            if binding.var.name_hint == "b":
                value = self.lookup_binding(binding.value.args[0])
                assert isinstance(value, rx.TupleGetItem)
                self.set_var_remap(binding.var.vid, self.visit_expr(binding.value.args[0]))
                return
            super().visit_var_binding_(binding)

    new = rewrite(module, Drop)
    assert "R.add(lv" not in new.script() and "if c:" in new.script()


def test_post_order(module):
    class Tuples(PyExprMutator):
        def visit_call_(self, call):
            seen.append([type(a).__name__ for a in call.args])
            return self.visit_expr_post_order(call)

    seen = []
    new = rewrite(module, Tuples)
    assert ["Tuple"] in seen and structural_equal(new.op, module.op)


def test_local_functions_are_rewritten():
    source = """
@R.function
def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
    @R.function
    def inner(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        b = R.nn.relu(a)
        r = R.add(b, y)
        return r
    z = inner(x)
    return z
"""
    mod = IRModule(parse_source(source))
    assert op_names(mod["main"])[:2] == ["relax.nn.relu", "relax.add"]
    assert rewrite(mod, PyExprMutator).script() == mod.script()
    assert rewrite(mod, ReluToGelu).script() == mod.script().replace("relu", "gelu")


def test_a_visitor_sees_everything(module):
    @visitor
    class Count(PyExprVisitor):
        def __init__(self):
            self.seen = []

        def visit_call_(self, call):
            self.seen.append(call.op.name)
            super().visit_call_(call)

        def visit_constant_(self, const):
            self.seen.append("constant")

        def visit_var_def_(self, var):
            self.seen.append(f"def {var.name_hint}")

        def visit_dataflow_var_def_(self, var):
            self.seen.append(f"local {var.name_hint}")

        def visit_match_cast_(self, binding):
            self.seen.append("match_cast")
            super().visit_match_cast_(binding)

        def visit_shape_expr_(self, shape):
            self.seen.append("shape")

    count = Count()
    count.visit_expr(module["main"])
    assert count.seen[:5] == ["def x", "def c", "def w", "relax.nn.relu", "local a"]
    assert {"constant", "match_cast", "def gv", "def gv1", "local lv", "shape", "relax.negative"} <= set(count.seen)
    assert count.seen.count("relax.nn.relu") == 2


def test_post_order_visit_comes_to_parts_first_and_once():
    x = rx.Var("x", rx.TensorStructInfo((4,), "float32"))
    seen = []
    post_order_visit(x + x, seen.append)
    assert [type(e).__name__ for e in seen] == ["Op", "Var", "Call"] and seen[1] == x


def test_unknown_things_are_refused(module):
    with pytest.raises(TiraxError, match="nothing to visit"):
        PyExprVisitor().visit_expr(3)


def test_the_meaning_stays(module):
    assert_same_meaning(module.op, rewrite(module, PyExprMutator).op)


def test_the_meaning_of_a_rewrite():
    """exp(x) * exp(x) -> exp(x + x)"""

    class Exponents(PyExprMutator):
        def visit_call_(self, call):
            if call.op.name != "relax.multiply":
                return call
            a, b = (self.lookup_binding(arg) for arg in call.args)
            return call_operator("relax.exp", a.args[0] + b.args[0])

    x = rx.Var("x", rx.TensorStructInfo(("n", 4), "float32"))
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            gv = bb.emit_output(call_operator("relax.exp", x) * call_operator("relax.exp", x))
        bb.emit_func_output(gv)
    new = rewrite(bb.get(), Exponents)
    assert "R.add(x, x)" in new.script()
    assert_same_meaning(bb.get().op, new.op)


def test_struct_info_is_visited(module):
    class Collect(PyExprVisitor):
        def visit_struct_info(self, struct_info):
            seen.append(str(struct_info))

    seen = []
    Collect().visit_expr(module["main"])
    assert seen[:3] == [str(p.struct_info) for p in module["main"].params] and "!relax.tensor<[k, 4], f32>" in seen
    assert seen[-1] == str(module["main"].ret_struct_info)


def test_struct_info_is_rewritten():
    source = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.block("B"):
                v = T.axis.spatial(T.int64(4), i)
                B[v] = A[v]

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n, m = T.int64(), T.int64()
        cls = Module
        a = R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((n,), dtype="float32"))
        b = R.match_cast(a, R.Tensor((m,), "float32"))
        c = R.match_cast(b, R.Tensor((n,), "float32"))
        d = R.exp(c)
        return d
"""

    class Four(PyExprMutator):
        def visit_struct_info(self, struct_info):
            return rx.StructInfo.of(substitute_type(struct_info.type, {SymVar("n"): as_expr(4)}))

    mod = IRModule(parse_source(source))
    new = rewrite(mod, Four)
    assert new["main"].script().count("(4,)") == 6 and "n = T.int64()" not in new["main"].script()
    assert new["main"].ret_struct_info == rx.TensorStructInfo((4,), "float32")
    assert rewrite(mod, PyExprMutator).script() == mod.script()


def test_a_functor_calls_by_class():
    class Names(ExprFunctor):
        def visit_call_(self, call, depth):
            return [f"{call.op.name}@{depth}", *(n for a in call.args for n in self.visit_expr(a, depth + 1))]

        def visit_var_(self, var, depth):
            return [var.name_hint]

    x = rx.Var("x", rx.TensorStructInfo((4,), "float32"))
    assert Names().visit_expr(x + x, 0) == ["relax.add@0", "x", "x"]
    with pytest.raises(UnsupportedError, match="Names says nothing about a Constant") as raised:
        Names().visit_expr(x + 1, 0)
    assert raised.value.hint == "define visit_constant_"


def test_null_values_are_visited():
    x = rx.Var("x", rx.TensorStructInfo((4,), "float32"))
    mod = IRModule({"main": rx.Function([x], rx.Tuple([x, rx.NullValue()]))})
    assert rewrite(mod, PyExprMutator).script() == mod.script()
    seen = []
    post_order_visit(mod["main"], seen.append)
    assert any(isinstance(e, rx.NullValue) for e in seen)


def test_a_mutator_in_a_mutator(module):
    """Nested use: what one builds for a call, another rewrites at once, with its own builder."""

    class Outer(PyExprMutator):
        def visit_function_(self, func):
            return ReluToGelu(self.builder_.get()).visit_expr(super().visit_function_(func))

        def visit_call_(self, call):
            if call.op.name == "relax.negative":
                return call_operator("relax.nn.relu", call.args[0])
            return call

    new = rewrite(module, Outer)
    assert "relu" not in new.script() and "negative" not in new.script() and new.script().count("gelu") == 4


def test_a_block_of_bindings_may_be_returned(module):
    class Twice(PyExprMutator):
        def visit_dataflow_block_(self, block):
            new = super().visit_dataflow_block_(block)
            names.append([b.var.name_hint for b in new.bindings])
            return new

        def visit_binding_block_(self, block):
            return rx.BindingBlock([rx.VarBinding(b.var, b.value) for b in block.bindings][:1] + block.bindings[1:])

    names = []
    new = rewrite(module, Twice)
    assert len(names) == 2 and names[1][:2] == ["a", "t"]
    verify_module(new.op)
