"""Verification of modules: dominance, calls, locations."""

import pytest
from xdsl.dialects.builtin import FunctionType, StringAttr, SymbolRefAttr, UnitAttr, f32, i32
from xdsl.ir import BlockArgument, Operation, Region
from xdsl.rewriter import Rewriter
from xdsl.traits import IsolatedFromAbove

from tirax.diagnostics import VerifyError
from tirax.dialects import relax, tir
from tirax.ir.verification.dominance import check_dominance
from tirax.ir.verification.snapshot import Snapshot
from tirax.ir.verification.verify import Verifier, verify_module

T = "!relax.tensor<[4], f32>"
GOOD = f"""
tir.func private @k(%a: !tir.buffer<[4], f32>, %b: !tir.buffer<[4], f32>) {{ }}
relax.func @g(%x: {T}) -> {T} {{ relax.return %x : {T} }}
relax.func @f(%x: {T}) -> {T} {{
  %y = relax.call_tir @k(%x) : {T}
  %z = relax.call @g(%y) : {T}
  relax.return %z : {T}
}}
"""


def test_a_good_module(parse):
    verify_module(parse(GOOD))


def test_calls_inside_of_an_inner_module_are_of_the_outer_one(parse):
    with pytest.raises(VerifyError, match="calls @k, which is not in the module"):
        verify_module(parse(f"builtin.module {{ builtin.module {{ {GOOD} }} }}"))


@pytest.mark.parametrize("kind", [relax.FuncOp, tir.FuncOp])
@pytest.mark.parametrize("visibility", ["private(", "public", "nested"])
def test_functions_are_private_or_say_nothing(parse, kind, visibility):
    module = parse(GOOD)
    next(op for op in module.ops if isinstance(op, kind)).sym_visibility = StringAttr(visibility)
    with pytest.raises(VerifyError, match='must be "private", or left out'):
        verify_module(module)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("call_tir @k(%x)", "call_tir @kk(%x)", "@kk, which is not in the module.*\n.*did you mean 'k'"),
        ("call_tir @k(%x)", "call_tir @k(%x, %x)", "wrong number of arguments"),
        ("call_tir @k(%x)", "call_tir @g(%x)", "expected: a tir.func"),
        ("call @g(%y)", "call @g(%y, %y)", "wrong number of arguments"),
        ("call @g(%y)", "call @k(%y)", "gives something else\n.*expected: tuple<>"),
        ("relax.func @g", "relax.func @k", "Redefinition of symbol"),
    ],
)
def test_calls(parse, old, new, message):
    with pytest.raises(VerifyError, match=message):
        verify_module(parse(GOOD.replace(old, new)))


def test_arguments_that_cannot_fit(parse):
    """The extents that a callee's variables stand for are those of the arguments."""
    module = """
relax.func @g(%x: !relax.tensor<[n, 2], f32>, %y: !relax.tensor<[n], f32>) -> !relax.object {{
  relax.return %x : !relax.tensor<[n, 2], f32>
}}
relax.func @f(%x: !relax.tensor<[m, 2], f32>, %y: !relax.tensor<[{}], f32>) -> !relax.object {{
  %z = relax.call @g(%x, %y) : !relax.object
  relax.return %z : !relax.object
}}"""
    verify_module(parse(module.format("m")))
    verify_module(parse(module.format("k")))
    with pytest.raises(VerifyError, match=r"argument 1 of @g does not fit\n.*\[m\].*\n.*\[m \+ 1\]"):
        verify_module(parse(module.format("m + 1")))


def test_a_result_that_contradicts_what_the_callee_gives(parse):
    """A call may say less than is known, or what may be true; not what cannot be."""
    module = """
relax.func @g(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n + n], f32> {{
  %y = relax.concat (%x, %x) : !relax.tensor<[n + n], f32>
  relax.return %y : !relax.tensor<[n + n], f32>
}}
relax.func @f(%x: !relax.tensor<[m], f32>) -> !relax.object {{
  %z = relax.call @g(%x) : {0}
  relax.return %z : {0}
}}"""
    for declared in ("[m * 2], f32", "[k], f32", "[m + 4], f32", "ndim = 1"):
        verify_module(parse(module.format(f"!relax.tensor<{declared}>")))
    with pytest.raises(VerifyError, match=r"@g gives something else\n(.*\n)*  expected: .*\[m \* 2\]"):
        verify_module(parse(module.format("!relax.tensor<[m * 2 + 1], f32>")))


def test_a_use_before_its_definition(parse):
    module = parse(GOOD)
    ops = [op for op in module.walk() if isinstance(op, relax.CallOp | relax.CallTIROp)]
    first, second = ops
    second.detach()
    first.parent.insert_op_before(second, first)
    with pytest.raises(VerifyError, match="relax.call uses y where it is not defined"):
        verify_module(module)


def test_a_value_of_another_function(parse):
    module = parse(GOOD)
    calls = [op for op in module.walk() if isinstance(op, relax.CallTIROp)]
    g = next(f for f in module.ops if isinstance(f, relax.FuncOp) and f.sym_name.data == "g")
    calls[0].operands[0] = g.params[0]
    with pytest.raises(VerifyError, match="uses x where it is not defined"):
        verify_module(module)


CFG = """
func.func @f(%c: i1, %x: i32) -> i32 {
  cf.cond_br %c, ^a, ^b
^b:
  %z = "test.op"() : () -> i32
  cf.br ^c(%z : i32)
^a:
  %y = "test.op"() : () -> i32
  cf.br ^c(%y : i32)
^c(%r: i32):
  "test.op"(%x, %r) : (i32, i32) -> ()
  func.return %r : i32
}
"""


def parse_cfg(text):
    from xdsl.dialects import cf, func, llvm, test
    from xdsl.parser import Parser

    from tirax.ir.passes.transform import new_context

    ctx = new_context()
    for dialect in (cf.Cf, func.Func, llvm.LLVM, test.Test):
        ctx.load_dialect(dialect)
    return Parser(ctx, text).parse_module()


def test_dominance_between_blocks():
    check_dominance(parse_cfg(CFG))
    with pytest.raises(VerifyError, match="uses y"):
        check_dominance(parse_cfg(CFG.replace('"test.op"(%x, %r)', '"test.op"(%y, %r)')))


def test_a_loop_of_blocks():
    text = """
    func.func @f(%c: i1) {
      cf.br ^head
    ^head:
      cf.cond_br %c, ^body, ^exit
    ^body:
      %v = "test.op"() : () -> i32
      cf.br ^head
    ^exit:
      func.return
    }
    """
    check_dominance(parse_cfg(text))
    with pytest.raises(VerifyError, match="uses v"):
        check_dominance(parse_cfg(text.replace("func.return", '"test.op"(%v) : (i32) -> ()\n func.return')))


@pytest.fixture
def verified(parse):
    """A module that was verified, its verifier, and how many ops were verified since."""
    module, verifier = parse(GOOD), Verifier()
    verifier.verify(module)
    return module, verifier


def verified_ops(monkeypatch):
    """The ops whose own verification runs from here on."""
    ops = []
    own = Operation.verify
    monkeypatch.setattr(Operation, "verify", lambda op, *args, **kw: (ops.append(op.name), own(op, *args, **kw))[1])
    return ops


def test_what_has_not_changed_is_not_verified_again(verified, monkeypatch):
    module, verifier = verified
    ops = verified_ops(monkeypatch)
    verifier.verify(module)
    assert ops == []
    Verifier().verify(module)
    assert ops.count("relax.call") == 1


def test_what_has_changed_is_verified_with_what_it_touches(verified, monkeypatch):
    module, verifier = verified
    call = next(op for op in module.walk() if isinstance(op, relax.CallTIROp))
    call.attributes["note"] = UnitAttr()
    ops = verified_ops(monkeypatch)
    verifier.verify(module)
    assert ops == ["relax.call_tir"], "@g and @k are left alone, what is like before has passed"


def test_a_call_is_verified_again_where_its_function_changes(verified, monkeypatch):
    module, verifier = verified
    ops = verified_ops(monkeypatch)
    _first(module, tir.FuncOp).attributes["note"] = UnitAttr()
    verifier.verify(module)
    assert "relax.call_tir" not in ops, "its interface is the same"
    assert "relax.call" not in ops
    _first(module, relax.FuncOp).properties["ret_type"] = relax.ObjectType()
    verifier.verify(module)
    assert "relax.call" in ops


def test_calls_that_are_alike_are_verified_once(monkeypatch):
    functions = "\n".join(f"func.func private @f{i}(i32) -> i32" for i in range(100))
    calls = "\n".join(f"func.call @f{i % 100}(%x) : (i32) -> i32" for i in range(400))
    module = parse_cfg(f"{functions}\nfunc.func @main(%x: i32) {{\n{calls}\nfunc.return }}")
    ops = verified_ops(monkeypatch)
    Verifier().verify(module)
    assert ops.count("func.call") == 1, "xDSL looks through all functions for each"
    list(module.walk())[-2].properties["callee"] = SymbolRefAttr("g")
    with pytest.raises(VerifyError, match="could not be found in symbol table"):
        Verifier().verify(module)


def _swap(first, second):
    second.detach()
    first.parent.insert_op_before(second, first)


def _first(module, cls, name=None):
    return next(op for op in module.walk() if isinstance(op, cls) and name in (None, op.attributes.get("sym_name")))


CHANGES = {
    "order": lambda m: _swap(_first(m, relax.CallTIROp), _first(m, relax.CallOp)),
    "operand": lambda m: _first(m, relax.CallTIROp).operands.__setitem__(0, _first(m, relax.FuncOp).params[0]),
    "callee": lambda m: _first(m, relax.CallTIROp).properties.__setitem__("callee", SymbolRefAttr("kk")),
    "callee's parameters": lambda m: _first(m, tir.FuncOp).body.block.insert_arg(i32, 0),
    "removed function": lambda m: _first(m, tir.FuncOp).detach(),
    "removed definition": lambda m: _first(m, relax.CallTIROp).detach(),
    "removed end": lambda m: _first(m, relax.ReturnOp).detach(),
    "type of a result": lambda m: Rewriter.replace_value_with_new_type(
        _first(m, relax.CallOp).result, relax.ObjectType()
    ),
    "type of a parameter": lambda m: Rewriter.replace_value_with_new_type(
        _first(m, relax.FuncOp).params[0], relax.ObjectType()
    ),
    "property": lambda m: _first(m, relax.CallOp).properties.__setitem__("callee", SymbolRefAttr("k")),
    "name of a function": lambda m: _first(m, tir.FuncOp).properties.__setitem__("sym_name", StringAttr("g")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_seen(verified, change):
    module, verifier = verified
    CHANGES[change](module)
    with pytest.raises(VerifyError) as raised:
        Verifier().verify(module)
    for _ in range(2):
        with pytest.raises(VerifyError) as again:
            verifier.verify(module)
        assert str(again.value) == str(raised.value)


LONG = """
tir.func @t(%A: !tir.buffer<[4], f32>, %n: i64) {{
  tir.for %i = 0 to 4 {{
    tir.for %j = 0 to 4 {{
{}
    }}
  }}
}}""".format(
    "\n".join(
        f"%a{i} = tir.load %A[%i] : f32\n%b{i} = tir.add %a{i}, %a{i} : f32\ntir.store %b{i}, %A[%j]" for i in range(20)
    )
)


def _nth(module, cls, number):
    return [op for op in module.walk() if isinstance(op, cls)][number]


def _retyped(module):
    Rewriter.replace_value_with_new_type(_nth(module, tir.LoadOp, 9).result, i32)


BREAKS = {
    "an attribute": lambda m: _nth(m, tir.ForOp, 1).properties.__setitem__("kind", UnitAttr()),
    "an operand's type": _retyped,
    "an operand of another type": lambda m: _nth(m, tir.AddOp, 9).operands.__setitem__(
        1, _first(m, tir.FuncOp).params[1]
    ),
    "an op before its operand's": lambda m: _swap(_nth(m, tir.LoadOp, 9), _nth(m, tir.AddOp, 9)),
    "a broken op of its own": lambda m: _nth(m, tir.AddOp, 9).properties.__setitem__("nothing", UnitAttr()),
    "an operand of another loop": lambda m: _out_of_loop(m),
}


def _out_of_loop(module):
    store = _nth(module, tir.StoreOp, 9)
    inner, value = store.parent_op(), store.parent_op().body.block.args[0]
    store.detach()
    inner.parent.insert_op_after(store, inner)
    store.operands[0] = _first(module, tir.LoadOp).result
    assert value in store.operands


@pytest.mark.parametrize("change", BREAKS)
@pytest.mark.parametrize("passes_before", [0, 2])
def test_what_a_pass_breaks_deep_in_a_function_is_detected_after_it(parse, change, passes_before):
    module, verifier = parse(LONG), Verifier()
    verifier.verify(module, after="start")
    for number in range(passes_before):  # passes that change something else
        _nth(module, tir.StoreOp, number).attributes["note"] = UnitAttr()
        verifier.verify(module, after=f"pass{number}")
    BREAKS[change](module)
    with pytest.raises(VerifyError, match="(?s)tir"):
        verifier.verify(module, after="broken")
    with pytest.raises(VerifyError):
        Verifier().verify(module)


CFG_BREAKS = {
    "an argument that is another one": lambda blocks: _another_argument(blocks[3]),
    "an argument of another type": lambda blocks: Rewriter.replace_value_with_new_type(blocks[3].args[0], f32),
    "a value from a block beside": lambda blocks: blocks[2].last_op.operands.__setitem__(
        0, blocks[1].first_op.results[0]
    ),
    "successors in the middle": lambda blocks: setattr(blocks[2].first_op, "successors", [blocks[3]]),
    "no end": lambda blocks: blocks[3].last_op.detach(),
}


def _another_argument(block):
    """Put an argument of the same type in the place of the first, whose uses keep the old one."""
    block._args = (BlockArgument(block.args[0].type, block, 0), *block.args[1:])


@pytest.mark.parametrize("change", CFG_BREAKS)
def test_what_a_pass_breaks_between_blocks_is_detected_after_it(change):
    module, verifier = parse_cfg(CFG), Verifier()
    verifier.verify(module)
    CFG_BREAKS[change](list(next(iter(module.ops)).body.blocks))
    with pytest.raises(VerifyError, match="after broken|not defined"):
        verifier.verify(module, after="broken")
    with pytest.raises(VerifyError):
        Verifier().verify(module)


NESTED = """
func.func @f(%x: i32) -> i32 {
  %a = arith.constant true
  scf.if %a {
    %b = arith.addi %x, %x : i32
    %c = arith.addi %b, %b : i32
    scf.yield
  }
  func.return %x : i32
}
func.func @g(%y: i32) -> i32 {
  func.return %y : i32
}
"""


@pytest.fixture
def nested():
    from xdsl.dialects import arith, func, scf
    from xdsl.parser import Parser

    from tirax.ir.passes.transform import new_context

    ctx = new_context()
    for dialect in (arith.Arith, func.Func, scf.Scf):
        ctx.load_dialect(dialect)
    return Parser(ctx, NESTED).parse_module()


def _functions(module):
    return list(module.ops)


def _out_of_its_region(module):
    """Move the second sum behind the region that defines what it takes: nothing else changes."""
    choice = next(op for op in module.walk() if op.name == "scf.if")
    inner = list(choice.regions[0].block.ops)[1]
    inner.detach()
    choice.parent.insert_op_after(inner, choice)


ISOLATED = {
    "a value of another function": lambda m: _functions(m)[1].body.block.last_op.operands.__setitem__(
        0, _functions(m)[0].body.block.args[0]
    ),
    "out of its region": _out_of_its_region,
    "a function's type": lambda m: _functions(m)[1].properties.__setitem__(
        "function_type", FunctionType.from_lists([f32], [i32])
    ),
    "a name twice": lambda m: _functions(m)[1].properties.__setitem__("sym_name", StringAttr("f")),
    "a name that is none": lambda m: _functions(m)[1].properties.__setitem__("sym_name", i32),
}


@pytest.mark.parametrize("change", ISOLATED)
def test_isolation_and_functions_of_xdsl(nested, change):
    """xDSL's isolation from above is not asked for: dominance says the same."""
    verifier = Verifier()
    verifier.verify(nested)
    ISOLATED[change](nested)
    with pytest.raises(VerifyError):
        verifier.verify(nested, after="broken")


def test_isolation_costs_no_walk_of_its_own(nested, monkeypatch):
    requests = []
    own = IsolatedFromAbove.verify
    monkeypatch.setattr(
        IsolatedFromAbove, "verify", lambda trait, op: (requests.append(len(list(op.walk()))), own(trait, op))
    )
    Verifier().verify(nested)
    assert max(requests) <= 3, "a function without what is inside"


def test_a_snapshot_sees_every_kind_of_change(nested):
    """Each part of what an op is, changed and changed back."""
    function = _functions(nested)[0]
    sum_ = next(op for op in function.walk() if op.name == "arith.addi")
    before = Snapshot(function)
    assert before.holds()
    sum_.attributes["note"] = UnitAttr()
    assert not before.holds()
    del sum_.attributes["note"]
    assert before.holds()
    sum_.properties["overflowFlags"], kept = UnitAttr(), sum_.properties["overflowFlags"]
    assert not before.holds()
    sum_.properties["overflowFlags"] = kept
    assert before.holds()
    sum_.add_region(Region())
    assert not before.holds()
    sum_.detach_region(0)
    assert before.holds()
    sum_.results[0]._type = f32
    assert not before.holds()
    sum_.results[0]._type = i32
    assert before.holds()
    block = sum_.parent
    sum_.detach()
    assert not before.holds()
    block.insert_op_before(sum_, block.first_op)
    assert before.holds()


def test_calls_of_pointers_are_verified_once(monkeypatch):
    call = (
        '"llvm.call"(%p) <{op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 1, 0>}> : (!llvm.ptr) -> ()'
    )
    calls = "\n".join([call] * 50)
    module = parse_cfg(f"func.func @main(%p: !llvm.ptr) {{\n{calls}\nfunc.return }}")
    ops = verified_ops(monkeypatch)
    Verifier().verify(module)
    assert ops.count("llvm.call") == 1


def test_a_free_value_is_checked_again(parse):
    """A tensor function may take what belongs to no program; once another function has it, it may not."""
    module, verifier = parse(LONG + LONG.replace("@t(", "@u(")), Verifier()
    load = _nth(module, tir.LoadOp, 9)
    load.detach()
    verifier.verify(module)
    store = [op for op in _functions(module)[1].walk() if isinstance(op, tir.StoreOp)][0]
    store.parent.insert_op_before(load, store)
    load.operands = list(next(op for op in _functions(module)[1].walk() if isinstance(op, tir.LoadOp)).operands)
    with pytest.raises(VerifyError, match="not defined"):
        verifier.verify(module)
