"""Everything in the universe's tables exists, has the name it is listed under, and runs as plain xDSL runs it."""

import pytest
from xdsl.utils.arg_spec import ArgSpec

from tirax.ir.passes.transform import new_context
from tirax.universe import TIRAX_UNIVERSE

IDENTITY = """
relax.func @f(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  relax.return %x : !relax.tensor<[n], f32>
}
"""

LOSS = """
relax.func @f(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[], f32> {
  %gv = relax.dataflow {
    %lv = relax.sum %x : !relax.tensor<[], f32>
    relax.output %lv : !relax.tensor<[], f32>
  }
  relax.return %gv : !relax.tensor<[], f32>
}
"""
IMPURE = IDENTITY.replace("f32> {", "f32> impure {")
PROGRAMS = {"convert-to-llvm": "builtin.module {}", "gradient": LOSS, "vm-shape-lower": IMPURE}
"""What a pass needs that does not take the identity."""

PATTERNS = """
from tirax.tvm_api.relax.dpl import PatternMatchingRewriter, is_op, wildcard

same = PatternMatchingRewriter.from_pattern(is_op("relax.exp")(wildcard()), lambda expr, _matches: expr)
"""


@pytest.mark.parametrize("name", TIRAX_UNIVERSE.all_passes)
def test_a_pass_runs_with_its_defaults(parse, name, tmp_path):
    cls = TIRAX_UNIVERSE.all_passes[name]()
    assert cls.name == name
    assert cls.__doc__
    (tmp_path / "patterns.py").write_text(PATTERNS)
    options = {
        "bind-params": {"func_name": ("f",)},
        "gradient": {"func_name": ("f",)},
        "apply-dpl-patterns": {"file": (str(tmp_path / "patterns.py"),)},
        "meta-schedule-apply-database": {"work_dir": (str(tmp_path),)},
    }
    module = parse(PROGRAMS.get(name, IDENTITY))
    cls.from_pass_spec(ArgSpec(name, options.get(name, {}))).apply(new_context(), module)
    module.verify()


@pytest.mark.parametrize("name", TIRAX_UNIVERSE.all_dialects)
def test_a_dialect_loads(name):
    assert TIRAX_UNIVERSE.all_dialects[name]().name == name


@pytest.mark.parametrize("name", TIRAX_UNIVERSE.all_targets)
def test_a_target_loads(name):
    assert TIRAX_UNIVERSE.all_targets[name]().name == name
