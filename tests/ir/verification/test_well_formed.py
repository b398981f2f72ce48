"""Well-formedness: each rule by a module that breaks it and no other; all problems at once; what TVM says as well."""

from pathlib import Path

import pytest

from tirax.diagnostics import TiraxError
from tirax.dialects import relax
from tirax.dialects.attributes import to_attr
from tirax.handles.module import IRModule
from tirax.handles.relax import names as rx
from tirax.handles.relax.calls import call_operator
from tirax.ir.verification.as_written import remember
from tirax.ir.verification.ill_formed import RULES, STRUCT_INFO_RULES, UNWRITABLE, IllFormedError, UndefinedVariable
from tirax.ir.verification.well_formed import check_well_formed, well_formed, well_formed_problems
from tirax.script import parse_source
from tirax.tvm_api.script import from_source

T = "!relax.tensor<[4], f32>"
N = "!relax.tensor<[n], f32>"
C = "!relax.tensor<[], i1>"
KERNEL = "tir.func private @k(%a: !tir.buffer<[m], f32>, %b: !tir.buffer<[m], f32>) { }"
GOOD = f"""
{KERNEL}
relax.func private @g(%x: {N}) -> {N} {{ relax.return %x : {N} }}
relax.func @main(%x: {T}, %c: {C}, %v: !relax.tensor<ndim = 1, f32>) -> {T} {{
  %d = relax.dataflow {{
    %y = relax.call_tir @k(%x) : {T}
    %w = relax.match_cast %v : !relax.tensor<ndim = 1, f32> -> {N}
    %e = relax.exp %w : {N}
    relax.output %y : {T}
  }}
  %z = relax.call @g(%d) : {T}
  %i = relax.if %c : {T} {{
    %p = relax.exp %z : {T}
    relax.yield %p : {T}
  }} else {{
    relax.yield %z : {T}
  }}
  %f = relax.closure(%a: {T}) -> {T} {{
    %b = relax.add %a, %x : {T}
    relax.return %b : {T}
  }}
  %r = relax.call_value %f(%i) : {T}
  relax.return %r : {T}
}}
"""
PLAIN = f"""
relax.func @main(%x: {T}) -> {T} {{
  %y = relax.exp %x : {T}
  %z = relax.exp %y : {T}
  relax.return %z : {T}
}}
relax.func @other(%q: {T}) -> {T} {{ relax.return %q : {T} }}
"""


def ops(module, kind):
    return [op for op in module.walk() if isinstance(op, kind)]


def rules(module, check_struct_info=True):
    return [p.rule for p in well_formed_problems(IRModule(module), check_struct_info)]


def test_a_good_module(parse):
    mod = IRModule(parse(GOOD))
    assert well_formed_problems(mod) == [] and well_formed(mod) and well_formed(mod["main"])
    check_well_formed(mod)


Y = f"%y = relax.exp %x : {T}"
Z = f"%z = relax.call @g(%d) : {T}"
K = f"%y = relax.call_tir @k(%x) : {T}"
I = f"%i = relax.if %c : {T}"
OUT = f"relax.output %y : {T}"
OTHER = f"%q: {T}) -> {T} {{"
VALID = f"{OTHER} relax.return %q : {T} }}"


def instead(base, old, new):
    """A module with another text in the place of one."""
    assert base.count(old) >= 1
    return base.replace(old, new)


def after(base, line, more):
    """A module with a line more after one."""
    return instead(base, line, f"{line}\n {more}")


def before(base, line, more):
    """A module with a line more before one."""
    return instead(base, line, f"{more}\n {line}")


def other(signature, t):
    """PLAIN with another function `other`, that gives its parameter of the type `t` back."""
    return instead(PLAIN, VALID, f"{signature} {{ relax.return %q : {t} }}")


FORCED = instead(GOOD, f"f32>) -> {T} {{\n  %d", f"f32>) -> {T} attributes {{relax.force_pure = true}} {{\n  %d")
N1, N32 = "!relax.tensor<[n + 1], f32>", "!relax.tensor<[n : i32], f32>"
FIVE, SHAPE = "!relax.tensor<[5], f32>", "!relax.shape<[4]>"
BRANCHES = "{ relax.yield %z : !relax.tensor<[4], f32> } else { relax.yield %z : !relax.tensor<[4], f32> }"
TEXTS = {
    "undefined-symbolic-variable": [
        after(PLAIN, Y, "%s = relax.shape [k + 1]"),
        other(f"%q: {N1}) -> !relax.object", N1),
        before(GOOD, Z, "%h = relax.prim_value k"),
    ],
    "symbolic-variable-dtype": [other(f"%q: {N32}) -> !relax.object", N32)],
    "missing-result": [instead(PLAIN, f"relax.return %z : {T}", "")],
    "control-flow-in-dataflow": [
        before(GOOD, OUT, f"%n = relax.if %c : {T} {BRANCHES.replace('%z', '%y')}"),
        before(GOOD, OUT, f"%n = relax.dataflow {{ %o = relax.exp %y : {T}\n relax.output %o : {T} }}"),
    ],
    "impure-call-in-dataflow": [before(GOOD, OUT, f'%n = relax.call_packed "f"(%y) : {T}')],
    "impure-call-in-pure-function": [
        instead(PLAIN, Y, f'%y = relax.call_packed "f"(%x) : {T}'),
        instead(instead(PLAIN, OTHER, f"%q: {T}) -> {T} impure {{"), Y, f"%y = relax.call @other(%x) : {T}"),
        instead(GOOD, f"%b = relax.add %a, %x : {T}", f'%b = relax.call_packed "f"(%a) : {T}'),
    ],
    "force-pure-on-impure": [
        instead(PLAIN, OTHER, f"%q: {T}) -> {T} impure attributes {{relax.force_pure = true}} {{"),
    ],
    "duplicate-function": [instead(PLAIN, "@other", "@main")],
    "global-symbol-mismatch": [instead(PLAIN, OTHER, f'%q: {T}) -> {T} attributes {{global_symbol = "o"}} {{')],
    "global-symbol-on-private": [
        instead(
            instead(PLAIN, OTHER, f'%q: {T}) -> {T} attributes {{global_symbol = "other"}} {{'),
            "relax.func @other",
            "relax.func private @other",
        ),
    ],
    "unknown-function": [
        instead(GOOD, "call @g(", "call @gg("),
        instead(GOOD, "call_tir @k(", "call_tir @kk("),
        after(PLAIN, Y, f"%h = relax.function_ref @h : !relax.callable<({T}) -> {T}>"),
    ],
    "wrong-kind-of-function": [
        instead(FORCED, "call @g(", "call @k("),
        instead(GOOD, "call_tir @k(", "call_tir @g("),
    ],
    "call-arity": [
        instead(GOOD, "call @g(%d)", "call @g(%d, %d)"),
        instead(GOOD, "call_tir @k(%x)", "call_tir @k(%x, %x)"),
        instead(GOOD, "call_value %f(%i)", "call_value %f()"),
    ],
    "call-arguments": [
        instead(
            GOOD,
            f"@g(%x: {N}) -> {N} {{ relax.return %x : {N}",
            f"@g(%x: {FIVE}) -> !relax.object {{ relax.return %x : {FIVE}",
        ),
        instead(GOOD, "%b: !tir.buffer<[m], f32>", "%b: !tir.buffer<[m + 1], f32>"),
        instead(GOOD, "%b: !tir.buffer<[m], f32>", "%b: !tir.buffer<[m], f16>"),
        instead(GOOD, "%b: !tir.buffer<[m], f32>", "%b: !tir.buffer<[m, 1], f32>"),
        instead(GOOD, "call_value %f(%i)", "call_value %f(%c)"),
    ],
    "inplace-output": [
        after(GOOD, K, f"%h = relax.call_tir_inplace @k(%x, %y) inplace [0] : {FIVE}"),
        after(GOOD, K, f"%h = relax.call_tir_inplace @k(%x, %y) inplace [0, 0] : tuple<{T}, {T}>"),
    ],
    "struct-info-missing": [other("%q: i32) -> i32", "i32")],
    "struct-info-not-base": [
        instead(PLAIN, f"{Y}\n  %z = relax.exp %y", f"%y = relax.exp %x : {FIVE}\n %z = relax.exp %x"),
        instead(PLAIN, OTHER, f"%q: {T}) -> {FIVE} {{"),
        after(PLAIN, Y, f"%u = relax.bind %y : {T} -> !relax.tensor<[4], f16>"),
        before(GOOD, Z, f"%zz = relax.call @g(%d) : {SHAPE}"),
        before(GOOD, I, f"%h = relax.if %c : {SHAPE} {BRANCHES}"),
    ],
    "operator-arguments": [after(PLAIN, Y, f"%m = relax.permute_dims %x {{axes = [1]}} : {T}")],
    "impossible-cast": [after(PLAIN, Y, f"%m = relax.match_cast %x : {T} -> {SHAPE}")],
    "tuple-index": [after(PLAIN, Y, f"%t = relax.tuple(%x)\n %m = relax.tuple_get_item %t[1] : {T}")],
    "condition-not-bool": [instead(GOOD, f"%c: {C}", f"%c: {T}")],
}


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in TEXTS.items() for text in texts])
def test_text_that_breaks_a_rule(parse, rule, text):
    module = parse(text)
    problems = well_formed_problems(IRModule(module))
    assert {p.rule for p in problems} == {rule}, problems
    assert all(isinstance(p, RULES[rule]) and p.function for p in problems)
    assert not well_formed(IRModule(module)) and well_formed(IRModule(module), False) == (rule in STRUCT_INFO_RULES)


def first(module, kind):
    return ops(module, kind)[0]


def undefined(module):
    first(module, relax.CallOp).operands[0] = rx.Var("lost", rx.TensorStructInfo((4,), "float32")).ssa


def undefined_leaf(module):
    first(module, relax.IfOp).operands[0] = rx.const(True).ssa


def too_early(module):
    call = first(module, relax.CallOp)
    call.operands[0] = call.next_op.results[0]


def itself(module):
    call = first(module, relax.CallOp)
    call.operands[0] = call.result


def of_a_branch(module):
    yielded = ops(module, relax.YieldOp)
    yielded[1].operands[0] = yielded[0].value


def of_a_local_function(module):
    first(module, relax.CallValueOp).operands[1] = first(module, relax.ClosureOp).body.block.args[0]


def dataflow_variable(module):
    first(module, relax.CallOp).operands[0] = first(module, relax.CallTIROp).result


def of_another_function(module):
    g, main = ops(module, relax.FuncOp)
    first(module, relax.CallTIROp).operands[0] = g.params[0]


def shared_parameter(module):
    g, main = ops(module, relax.FuncOp)
    g.return_op.operands[0] = main.params[0]


def nested(module):
    call = first(module, relax.CallOp)
    call.operands[0] = call_operator("relax.exp", rx.Var.on(call.operands[0])).ssa


def no_outputs(module):
    dataflow = first(module, relax.DataflowOp)
    last = dataflow.output_op
    for result in list(dataflow.outputs):
        result.replace_all_uses_with(dataflow.parent.args[0])
    last.detach()


def bound_twice(module):
    remember(first(module, relax.DataflowOp)).broken.append((RULES["variable-defined-twice"], "'y' is bound twice"))


def tir_refused(module):
    from tirax.dialects import tir

    first(module, tir.FuncOp).handle_names = to_attr(["one"])


BUILT = [
    ("undefined-variable", undefined, "'lost' which is not defined"),
    ("undefined-variable", undefined_leaf, "which is not defined"),
    ("used-before-definition", too_early, "'i' before it is defined"),
    ("used-before-definition", itself, "'z' before it is defined"),
    ("variable-out-of-scope", of_a_branch, "'p' outside of the relax.if"),
    ("variable-out-of-scope", of_a_local_function, "'a' outside of the relax.closure"),
    ("dataflow-variable-outside", dataflow_variable, "'y' outside of the dataflow block"),
    ("variable-of-another-function", of_another_function, "'x' which belongs to another function"),
    ("variable-of-another-function", shared_parameter, "'x' which belongs to another function"),
    ("nested-call", nested, "a call that is not bound"),
    ("missing-result", no_outputs, "relax.dataflow does not end with relax.output"),
    ("variable-defined-twice", bound_twice, "'y' is bound twice"),
    ("operation-refused", tir_refused, "1 handle names for 2 parameters"),
]


@pytest.mark.parametrize(("rule", "change", "message"), BUILT)
def test_ir_that_breaks_a_rule(parse, rule, change, message):
    module = parse(GOOD)
    change(module)
    problems = well_formed_problems(IRModule(module))
    assert [p.rule for p in problems if p.rule not in ("struct-info-not-base", "call-arguments")] == [rule], problems
    assert message in problems[0].message


def test_every_rule_has_a_test():
    assert set(RULES) == {*TEXTS, *(rule for rule, _, _ in BUILT)}
    assert all(cls.rule == name and cls.__doc__ and issubclass(cls, IllFormedError) for name, cls in RULES.items())
    assert set(RULES) > STRUCT_INFO_RULES and not set(UNWRITABLE) & set(RULES)


def test_what_cannot_be_written():
    x = rx.Var("x", rx.TensorStructInfo(("n",), "float32"))
    with pytest.raises(TiraxError, match="given twice"):
        rx.Function([x, x], x)
    both = IRModule({name: rx.Function([rx.Var("x", x.struct_info)], call_operator("relax.exp", x)) for name in "f"})
    assert rules(both.op) == ["undefined-variable"]
    shared = IRModule({name: rx.Function([y := rx.Var("x", x.struct_info)], y * y) for name in "fg"})
    assert well_formed(shared)


def test_all_problems_at_once_with_their_places():
    source = """
@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = R.call_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
    z = R.call_packed("g", y, sinfo_args=R.Tensor((4,), "float32"))
    return z
"""
    mod = IRModule(parse_source(source))
    problems = well_formed_problems(mod)
    assert [(p.rule, p.location.line, p.function) for p in problems] == [
        ("impure-call-in-pure-function", 4, "main"), ("impure-call-in-pure-function", 5, "main"),
    ]  # fmt: skip
    with pytest.raises(RULES["impure-call-in-pure-function"]) as raised:
        check_well_formed(mod)
    assert "^" in str(raised.value) and "note: impure-call-in-pure-function: relax.call_packed" in str(raised.value)
    assert well_formed(IRModule({"main": mod["main"].with_attr("relax.force_pure", True)}))


def test_a_tensor_function_that_is_called_by_its_name_writes_into_its_arguments(parse):
    text = before(GOOD, Z, "%e = relax.call @k(%d, %x) : tuple<>")
    assert rules(parse(text)) == ["impure-call-in-pure-function"]
    forced = before(FORCED, Z, "%e = relax.call @k(%d, %x) : tuple<>")
    assert rules(parse(forced)) == []
    assert rules(parse(instead(forced, "@k(%d, %x)", "@k(%d)"))) == ["call-arity"]
    assert rules(parse(instead(forced, "@k(%d, %x)", "@k(%d, %c)"))) == ["call-arguments"]


def test_an_impure_function_may_have_effects(parse):
    impure = PLAIN.replace(f"@main(%x: {T}) -> {T} {{", f"@main(%x: {T}) -> {T} impure {{")
    module = parse(impure.replace(f"%y = relax.exp %x : {T}", f'%y = relax.call_packed "f"(%x) : {T}'))
    assert rules(module) == []


def test_a_function_alone():
    x, lost = (rx.Var(name, rx.TensorStructInfo((4,), "float32")) for name in ("x", "lost"))
    assert well_formed(rx.Function([x], x * x))
    (problem,) = well_formed_problems(rx.Function([x], x * lost))
    assert isinstance(problem, UndefinedVariable) and "lost" in problem.message
    # What it calls is not known, as it is in no module.
    called = rx.GlobalVar("f")
    assert well_formed(rx.Function([x], called(x)))


def test_variables_of_a_match_cast_are_known_after_it():
    source = """
@R.function
def main(x: R.Tensor(ndim=1, dtype="float32"), y: R.Tensor(("n + 1",), "float32"), z: R.Tensor(("n",), "float32")):
    n, m = T.int64(), T.int64()
    with R.dataflow():
        a = R.match_cast(x, R.Tensor((m,), "float32"))
        b = R.zeros((m + n,), "float32")
        R.output(a, b)
    c = R.ones((m,), "float32")
    return (a, b, c)
"""
    module = parse_source(source)
    assert rules(module) == []
    cast = first(module, relax.MatchCastOp)
    cast.result._type = relax.TensorType.of(None, None, 1)
    assert "undefined-symbolic-variable" in rules(module)


def test_the_table_of_the_documents():
    page = (Path(__file__).resolve().parents[3] / "docs" / "rewriting.md").read_text()
    for name, cls in RULES.items():
        assert f"| `{name}` | {' '.join(cls.__doc__.split())} |" in page
    for what, why in UNWRITABLE.items():
        assert f"| {what} | {why} |" in page


def test_a_call_of_a_tensor_function_that_only_gives_a_number_is_pure():
    mod = from_source("""
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def bits(x: T.handle) -> T.uint8:
        return T.tvm_struct_get(x, 0, 6, dtype="uint8")

    @R.function
    def main(x: R.Tensor) -> R.Prim("uint8"):
        return Module.bits(x)
""")
    assert well_formed(mod)


def test_an_operator_is_called_what_it_is_called_in_scripts(parse):
    text = before(GOOD, OUT, '%n = relax.print (%y) {format = "{}"} : tuple<>')
    (problem,) = well_formed_problems(parse(text))
    assert problem.message == "R.print may have effects and is in a dataflow block"
