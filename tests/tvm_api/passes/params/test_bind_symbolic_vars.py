"""A variable given by its handle is its function's alone; a name means the variable of each function that has it."""

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.handles.module import IRModule
from tirax.handles.struct_info import TensorStructInfo
from tirax.handles.tir.variables import Var
from tirax.interpreter import interpret
from tirax.script import parse_source
from tirax.tvm_api.passes.params.bind_symbolic_vars import BindSymbolicVars

PROGRAM = """
@R.function
def twice(x: R.Tensor(("n", "m"), "float32")):
    y = R.add(x, x)
    return y

@R.function
def square(p: R.Tuple(R.Tensor(("n", "m"), "float32"), R.Shape(["n", "m"]))):
    x = p[0]
    y = R.multiply(x, x)
    return y
"""


@pytest.fixture
def module() -> IRModule:
    return IRModule(parse_source(PROGRAM))


def _extents(module, name):
    return str(module[name].op.ret_type)


def test_a_name_means_all_functions(module):
    after = BindSymbolicVars({"n": 3})(module)
    assert _extents(after, "twice") == _extents(after, "square") == "!relax.tensor<[3, m], f32>"


def test_a_handle_means_its_function(module):
    before = module["twice"]
    bound = BindSymbolicVars({before.params[0].struct_info.shape[0]: 3, "m": 2})(module)
    assert _extents(bound, "twice") == "!relax.tensor<[3, 2], f32>"
    assert _extents(bound, "square") == "!relax.tensor<[n, 2], f32>"
    for rows in (0, 1, 5):
        x = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
        assert np.array_equal(interpret(bound.op, "square", ((x, (rows, 2)),)), x * x)


def test_a_variable_of_another_program_has_the_same_name(module):
    """Extents of a program that was read are its own, whatever variables of their names Python holds."""
    n = Var("n", "int64")
    TensorStructInfo((n, 4), "float32")
    read = module["twice"].params[0].struct_info.shape[0]
    bound = BindSymbolicVars({read: 3})(module)
    assert _extents(bound, "twice") == "!relax.tensor<[3, m], f32>"
    assert _extents(bound, "square") == "!relax.tensor<[n, m], f32>"


def test_a_handle_of_what_a_tuple_holds(module):
    tensor, shape = module["square"].params[0].struct_info.fields
    after = BindSymbolicVars({tensor.shape[0]: 3, shape.values[1]: 4})(module)
    assert _extents(after, "square") == "!relax.tensor<[3, 4], f32>"
    assert _extents(after, "twice") == "!relax.tensor<[n, m], f32>"


def test_two_functions_variables_of_one_name(module):
    first, second = (module[f].body.body.struct_info.shape[0] for f in ("twice", "square"))
    after = BindSymbolicVars({first: 1, second: 2})(module)
    assert _extents(after, "twice") == "!relax.tensor<[1, m], f32>"
    assert _extents(after, "square") == "!relax.tensor<[2, m], f32>"


def test_a_handle_of_another_module(module):
    other = IRModule(parse_source(PROGRAM.replace("def twice", "def thrice")))
    n = other["thrice"].params[0].struct_info.shape[0]
    with pytest.raises(TiraxError, match="'n' is of none of the functions") as raised:
        BindSymbolicVars({n: 3})(module)
    assert "func_name" in str(raised.value)
    assert _extents(BindSymbolicVars({n: 3}, func_name="twice")(module), "twice") == "!relax.tensor<[3, m], f32>"
