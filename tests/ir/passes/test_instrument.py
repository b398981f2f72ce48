"""Instruments, names of passes, passes about passes."""

import re

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, VerifyError
from tirax.handles.module import IRModule
from tirax.ir.passes.transform import PassInfo
from tirax.script import parse_source
from tirax.tvm_api import relax, tir
from tirax.tvm_api.ir import instrument
from tirax.tvm_api.transform import ApplyPassToFunction, PassContext, PrintIR, Sequential, module_pass

SOURCE = """
@I.ir_module
class Module:
    @R.function
    def first(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.exp(x)
        return y

    @R.function
    def second(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y: R.Tensor((4,), "float32") = cls.first(x)
        z = R.add(y, y)
        return z
"""


@pytest.fixture
def mod():
    return IRModule(parse_source(SOURCE))


def legalize_and_print():
    return Sequential([relax.transform.LegalizeOps(), PrintIR("legalized")], name="Both")


def test_print_ir(mod, capsys):
    legalize_and_print()(mod)
    out = capsys.readouterr().out
    assert out.startswith("PrintIR(legalized):\n") and "R.call_tir" in out


def test_timing(mod):
    timing = instrument.PassTimingInstrument()
    with PassContext(instruments=[timing]):
        legalize_and_print()(mod)
        text = timing.render()
    lines = text.splitlines()
    form = r"{}: \d+us \[\d+us\] \(\d+\.\d\d%; \d+\.\d\d%\)"
    assert re.fullmatch(form.format("Both"), lines[0]) and re.fullmatch(form.format("\tlegalize-ops"), lines[1])
    assert lines[0].endswith("(100.00%; 100.00%)") and lines[2].startswith("\tprint-ir: ")
    with PassContext(instruments=[timing]):
        assert timing.render() == ""


def test_printing(mod, capsys):
    with PassContext(instruments=[instrument.PassPrintingInstrument(["LegalizeOps"], ["relax.LegalizeOps"])]):
        Sequential([relax.transform.LegalizeOps(), relax.transform.Normalize()])(mod)
    out = capsys.readouterr().out
    assert out.count("Print IR") == 2 and "before: legalize-ops" in out and "after: legalize-ops" in out
    with PassContext(instruments=[instrument.PrintBeforeAll(), instrument.PrintAfterAll()]):
        relax.transform.Normalize()(mod)
    assert [line for line in capsys.readouterr().out.splitlines() if "Running" in line] == [
        f"{when} Running Pass: The meta data of the pass - pass name: Normalize, opt_level: 0, required passes: []"
        for when in ("Before", "After")
    ]
    assert "pass name: tir.VectorizeLoop," in str(tir.transform.VectorizeLoop().info)
    assert str(PassInfo("a", 2, ("b", "c"))).endswith("pass name: a, opt_level: 2, required passes: [b, c]")


def test_dumping(mod, tmp_path):
    folder = tmp_path / "dump"
    for _ in range(2):
        with PassContext(instruments=[instrument.DumpIR(folder, refresh=True)]):
            Sequential([relax.transform.LegalizeOps(), relax.transform.Normalize()], name="a b")(mod)
            relax.transform.Normalize()(mod)
        names = sorted(p.name for p in folder.iterdir())
        assert names == ["000_legalize-ops.py", "001_normalize.py", "002_a_b.py", "003_normalize.py"]
    again = IRModule(parse_source((folder / "000_legalize-ops.py").read_text()))
    assert "tir_exp" in again.names
    assert "tir_exp" not in IRModule(parse_source((folder / "003_normalize.py").read_text())).names


def test_what_is_ill_formed_is_detected(mod):
    @module_pass(opt_level=0, name="Breaks")
    def breaks(mod, ctx):
        new = mod.clone()
        call = tvm.relax.call_packed("f", new["first"].params[0]).op_handle
        block = new["first"].op.body.block
        block.insert_op_before(call, block.first_op)
        return new

    breaks(mod)
    with PassContext(instruments=[instrument.WellFormedInstrument()]):
        relax.transform.LegalizeOps()(mod)
        with pytest.raises(VerifyError, match="may have effects.* after Breaks"):
            breaks(mod)
    broken = breaks(mod)
    with (
        PassContext(instruments=[instrument.WellFormedInstrument()]),
        pytest.raises(VerifyError, match="before legalize-ops"),
    ):
        relax.transform.LegalizeOps()(broken)


def test_passes_for_any_program_are_not_checked(mod):
    broken = mod.clone()
    call = tvm.relax.call_packed("f", broken["first"].params[0]).op_handle
    block = broken["first"].op.body.block
    block.insert_op_before(call, block.first_op)
    with PassContext(instruments=[instrument.WellFormedInstrument()]):
        normalized = relax.transform.Normalize()(broken)
    assert not tvm.relax.analysis.well_formed(normalized)


def test_instruments_enter_and_leave():
    class Log(instrument.PassInstrument):
        def __init__(self, name):
            self.name = name

        def enter_pass_ctx(self):
            events.append(f"enter {self.name}")

        def exit_pass_ctx(self):
            events.append(f"exit {self.name}")

    events = []
    with PassContext(instruments=[Log("a"), Log("b")]) as context:
        assert PassContext.current() is context
        context.override_instruments([Log("c")])
    assert events == ["enter a", "enter b", "exit a", "exit b", "enter c", "exit c"]
    assert instrument.pass_instrument()(Log) is Log


def test_names_of_passes(mod):
    info = PassInfo("legalize-ops")
    assert all(map(info.is_called, ("legalize-ops", "LegalizeOps", "relax.LegalizeOps")))
    assert not info.is_called("Legalize") and not info.is_called("legalize-op")
    both = Sequential([relax.transform.LegalizeOps()])
    with PassContext(disabled_pass=["LegalizeOps"]):
        assert both(mod).script() == mod.script()
    with PassContext(opt_level=0, required_pass=["LegalizeOps"]):
        assert "call_tir" in both(mod).script()


def test_a_pass_on_some_functions(mod):
    new = ApplyPassToFunction(relax.transform.LegalizeOps(), "sec.*")(mod)
    assert new.names == ["first", "second", "add"] or set(new.names) == {"first", "second", "add"}
    assert new["first"].script() == mod["first"].script() and "call_tir" in new["second"].script()
    unchanged = ApplyPassToFunction(relax.transform.LegalizeOps(), "sec")(mod)
    assert unchanged.script() == mod.script()
    with pytest.raises(NameLookupError, match="no function is called like 'third'"):
        ApplyPassToFunction(relax.transform.LegalizeOps(), "third", error_if_no_function_matches_regex=True)(mod)


def test_what_functions_outside_of_a_pass_call_stays(mod):
    module = tvm.script.from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return Module.middle(x)

    @R.function(private=True)
    def middle(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return Module.last(x)

    @R.function(private=True)
    def last(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        unused = R.exp(x)
        return R.tanh(x)
""")
    after = ApplyPassToFunction(relax.transform.DeadCodeElimination(), "main|last")(module)
    text = after.script()
    assert "def last" in text and "R.exp" not in text and text.count("private=True") == 2


def test_instruments_see_a_full_build(tmp_path):
    """One context for all passes: times of all of them, numbers that go on, native code's passes too."""
    from tirax.driver.build import build
    from tirax.driver.pipelines import PIPELINES

    module = parse_source("""
@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    return R.exp(x)
""")
    timing, seen = instrument.PassTimingInstrument(), []

    class Entered(instrument.PassInstrument):
        def enter_pass_ctx(self):
            seen.append("enter")

    with PassContext(instruments=[timing, instrument.DumpIR(tmp_path), Entered()]):
        build(module)
        rendered = [line.partition(":")[0] for line in timing.render().splitlines()]
    assert rendered == list(PIPELINES["default-cpu"]) and seen == ["enter"]
    names = [path.name for path in sorted(tmp_path.iterdir())]
    assert [name[4:].partition(".")[0] for name in names] == rendered
    assert [int(name[:3]) for name in names] == list(range(len(names)))
    assert names[0].endswith(".py") and names[-1].endswith("convert-to-llvm.mlir")
