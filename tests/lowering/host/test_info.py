"""What an executable knows of its functions: names and aliases."""

import numpy as np
import pytest

from tirax.diagnostics import NameLookupError
from tirax.driver.build import build
from tirax.handles.module import IRModule
from tirax.runtime import Executable, VirtualMachine
from tirax.tvm_api.handles.from_script import from_source

TEXT = """
@R.function
def twice(x: R.Tensor(("n",), "float32")):
    y = R.add(x, x)
    return y

@R.function
def minus(x: R.Tensor(("n",), "float32")):
    y = R.negative(x)
    return y
"""


def executable() -> Executable:
    """`twice` is in the module as `main`, `minus` as `twice`."""
    mod = from_source(TEXT)
    return build(IRModule({"main": mod["twice"], "twice": mod["minus"], "last": mod["minus"]}))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_functions_are_looked_up_by_their_global_symbols(tmp_path, n) -> None:
    ex = executable()
    path = tmp_path / "f.tirax"
    ex.save(path)
    x = np.arange(n, dtype="float32")
    for each in (ex, Executable.load(path)):
        vm = VirtualMachine(each)
        assert (each["minus"](x).numpy() == -x).all() and (vm["minus"](x).numpy() == -x).all()
        assert (each["main"](x).numpy() == x + x).all()
        assert (each["twice"](x).numpy() == -x).all()  # names of the module come first
        assert "minus" in vm.module and vm.module.function_names == ["main", "twice", "last"]
        vm.set_input("minus", x)
        vm.invoke_stateful("minus")
        assert (vm.get_outputs("minus").numpy() == -x).all()


def test_an_alias_is_another_name() -> None:
    functions = executable().functions
    assert {name: info.alias for name, info in functions.items()} == {
        "main": "twice",
        "twice": "minus",
        "last": "minus",
    }
    assert [info.alias for info in build(from_source(TEXT)).functions.values()] == ["", ""]


def test_other_names_are_unknown() -> None:
    ex = executable()
    for functions in (ex, VirtualMachine(ex)):
        for name in ("plus", ""):
            with pytest.raises(NameLookupError, match="unknown function"):
                functions[name]
