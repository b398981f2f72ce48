"""Passes, sequences, contexts, instruments and the decorators."""

from dataclasses import dataclass

import pytest

from tirax.diagnostics import TiraxError, VerifyError
from tirax.dialects import relax
from tirax.handles.passes import function_pass, module_pass
from tirax.ir.passes.transform import Pass, PassContext, Sequential, new_context

T = "!relax.tensor<[4], f32>"
TEXT = f"relax.func @f(%x: {T}) -> {T} {{ %y = relax.abs %x : {T} relax.return %y : {T} }}"


@dataclass(frozen=True)
class Rename(Pass):
    """Renames every function: a pass for these tests."""

    name = "rename"
    to: str = "g"

    def apply(self, ctx, op):
        for func in op.ops:
            func.properties["sym_name"] = type(func.sym_name)(self.to)


@dataclass(frozen=True)
class Break(Pass):
    """Makes a module ill-formed."""

    name = "break"

    def apply(self, ctx, op):
        for inner in op.walk():
            if isinstance(inner, relax.ReturnOp):
                inner.operands[0] = relax.ConstantOp.of(1.0, relax.TensorType.of([4]).element or T_F32).result


from xdsl.dialects.builtin import f32 as T_F32  # noqa: E402


def names(module):
    return [f.sym_name.data for f in module.ops]


def test_a_pass_gives_a_new_module(parse):
    module = parse(TEXT)
    assert names(Rename("h")(module)) == ["h"]
    assert names(module) == ["f"]


def test_a_pass_that_breaks_the_module_is_named(parse):
    with pytest.raises(VerifyError, match="after break|where it is not defined"):
        Break()(parse(TEXT))


def test_sequences_and_disabled_passes(parse):
    module = parse(TEXT)
    assert names(Sequential([Rename("a"), Rename("b")])(module)) == ["b"]
    with PassContext(disabled_pass=["rename"]):
        assert names(Sequential([Rename("a")])(module)) == ["f"]
    assert names(Sequential([Rename("a")])(module)) == ["a"]


def test_instruments_see_each_pass(parse):
    class Log:
        def __init__(self):
            self.events = []

        def run_before_pass(self, mod, info):
            self.events.append(("before", info.name))

        def run_after_pass(self, mod, info):
            self.events.append(("after", info.name))

        def should_run(self, mod, info):
            return info.name != "break"

    log = Log()
    with PassContext(instruments=[log]):
        Sequential([Rename("a"), Break()])(parse(TEXT))
    assert [e for e in log.events if e[1] == "rename"] == [("before", "rename"), ("after", "rename")]
    assert not [e for e in log.events if e[1] == "break"]


def test_module_pass_of_a_function(parse):
    @module_pass(opt_level=1, name="Same")
    def same(mod, ctx):
        assert ctx.opt_level == 2
        return mod

    assert same.info.name == "Same"
    assert names(same(parse(TEXT))) == ["f"]


def test_module_pass_of_a_class(parse):
    @module_pass(opt_level=0)
    class Twice:
        def __init__(self, times=2):
            self.times = times

        def transform_module(self, mod, ctx):
            for _ in range(self.times):
                mod = Rename("t")(mod)
            return mod

    assert names(Twice()(parse(TEXT))) == ["t"]
    assert Twice(3).times == 3


def test_what_is_no_module_is_refused():
    model = type("Net", (type("Module", (), {"__module__": "torch.nn"}),), {})()
    with pytest.raises(TiraxError, match=r"found: Net\n  hint: tirax.compile\(model, inputs\) takes"):
        Rename()(model)
    with pytest.raises(TiraxError, match="a pass runs on a module"):
        Rename()(42)


def test_a_pass_that_returns_nothing_is_named(parse):
    @module_pass(opt_level=0)
    def forgets(mod, ctx):
        return None

    with pytest.raises(TiraxError, match="forgets returned nothing"):
        forgets(parse(TEXT))


def test_function_pass_runs_on_every_relax_function(parse):
    seen = []

    @function_pass(opt_level=0, name="Look")
    class Look:
        def transform_function(self, func, mod, ctx):
            seen.append(func.op.sym_name.data)
            return func

    before = parse(TEXT + TEXT.replace("@f", "@g") + "tir.func @k(%A: !tir.buffer<[4], f32>) { }")
    after = Look()(before)
    assert sorted(seen) == ["f", "g"]
    assert sorted(names(after)) == ["f", "g", "k"]


def test_a_module_that_a_pass_returns_stays_as_it_is(parse):
    kept = Rename("kept")(parse(TEXT))

    @module_pass(opt_level=0)
    def cached(mod, ctx):
        return kept

    assert names(cached(parse(TEXT))) == ["kept"]
    assert names(cached(parse(TEXT))) == ["kept"]
    assert names(kept) == ["kept"]


def test_a_context_looks_into_a_dialect_on_lookup():
    ctx = new_context()
    assert not list(ctx.loaded_dialects)
    assert ctx.get_op("relax.add").name == "relax.add"
    assert [d.name for d in ctx.loaded_dialects] == ["relax"]
    assert ctx.get_type("tir.buffer").name == "tir.buffer"
    assert [d.name for d in ctx.loaded_dialects] == ["relax", "tir"]
