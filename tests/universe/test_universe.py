"""Everything in the universe's tables exists, has the name it is listed under, and runs as plain xDSL runs it."""

import pytest
from xdsl.utils.arg_spec import ArgSpec

from tirax.ir.transform import new_context
from tirax.universe import TIRAX_UNIVERSE

IDENTITY = """
relax.func @f(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  relax.return %x : !relax.tensor<[n], f32>
}
"""


@pytest.mark.parametrize("name", TIRAX_UNIVERSE.all_passes)
def test_a_pass_runs_with_its_defaults(parse, name):
    cls = TIRAX_UNIVERSE.all_passes[name]()
    assert cls.name == name
    assert cls.__doc__
    options = {"func_name": ("f",)} if name == "bind-params" else {}
    module = parse("builtin.module {}" if name == "convert-to-llvm" else IDENTITY)
    cls.from_pass_spec(ArgSpec(name, options)).apply(new_context(), module)
    module.verify()


@pytest.mark.parametrize("name", TIRAX_UNIVERSE.all_dialects)
def test_a_dialect_loads(name):
    assert TIRAX_UNIVERSE.all_dialects[name]().name == name


@pytest.mark.parametrize("name", TIRAX_UNIVERSE.all_targets)
def test_a_target_loads(name):
    assert TIRAX_UNIVERSE.all_targets[name]().name == name
