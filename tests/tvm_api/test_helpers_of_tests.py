"""`tvm.contrib.utils`, `tvm.tir.schedule.testing`, `tvm.relax.frontend.detach_params`, builders of modules."""

import gc
import os

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.ir.verification.ill_formed import IllFormedError
from tirax.tvm_api.contrib import utils
from tirax.tvm_api.relax.frontend import detach_params
from tirax.tvm_api.relax.ir.instrument import WellFormedInstrument
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T
from tirax.tvm_api.script.ir_builder import IRBuilder
from tirax.tvm_api.script.ir_builder import ir as ir_builder
from tirax.tvm_api.script.ir_builder import relax as relax_builder
from tirax.tvm_api.script.ir_builder import tir as tir_builder
from tirax.tvm_api.tir.schedule.testing import (
    assert_structural_equal_ignore_global_symbol,
    verify_trace_roundtrip,
)


def test_a_folder_goes_with_its_object():
    folder = utils.tempdir()
    path = folder.relpath("file")
    with open(path, "w") as file:
        file.write("text")
    assert folder.listdir() == ["file"]
    assert os.path.dirname(path) == folder.temp_dir == folder.path
    del folder
    gc.collect()
    assert not os.path.exists(path)


def test_a_folder_goes_at_the_end_of_a_with(tmp_path):
    with utils.tempdir(tmp_path / "new") as folder:
        assert os.path.isdir(tmp_path / "new")
        with pytest.raises(FileExistsError):
            utils.tempdir(folder.temp_dir)
    assert not os.path.exists(tmp_path / "new")


def test_a_folder_may_stay(tmp_path):
    utils.TempDirectory(tmp_path / "kept", keep_for_debug=True)
    gc.collect()
    assert os.path.isdir(tmp_path / "kept")


@T.prim_func
def double(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (16,), "float32")
    B = T.match_buffer(b, (16,), "float32")
    for i in range(16):
        with T.block("double"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * T.float32(2)


def test_a_trace_says_all_that_was_done():
    sch = tvm.tir.Schedule(double)
    (i,) = sch.get_loops(sch.get_block("double"))
    outer, _ = sch.split(i, [4, None])
    sch.parallel(outer)
    for text_format in ("python", "json", ("python", "json")):
        again = verify_trace_roundtrip(sch, double, text_format=text_format)
        tvm.ir.assert_structural_equal(again.mod, sch.mod)
    with pytest.raises(ValueError, match="not 'yaml'"):
        verify_trace_roundtrip(sch, double, text_format="yaml")


def test_a_trace_that_is_not_what_was_done_is_detected():
    sch = tvm.tir.Schedule(double)
    other = double.with_attr("of_another", 1)
    with pytest.raises(ValueError, match="not structurally equal"):
        verify_trace_roundtrip(sch, other)


def test_functions_of_other_symbols_are_equal():
    renamed = double.with_attr("global_symbol", "twice")
    assert_structural_equal_ignore_global_symbol(double, renamed)
    with pytest.raises(ValueError, match="not structurally equal"):
        tvm.ir.assert_structural_equal(double, renamed)


@R.function
def identity(x: R.Tensor((2, 3), "float32")):
    return x


def test_parameters_come_from_attributes():
    first, second = np.arange(3, dtype="float32"), np.ones((2, 2), "int8")
    function = identity.with_attr("params", [tvm.nd.array(first), tvm.nd.array(second)])
    mod = tvm.IRModule({"main": function, "plain": identity})
    detached, params = detach_params(mod)
    tvm.ir.assert_structural_equal(detached, tvm.IRModule({"main": identity, "plain": identity}))
    assert list(params) == ["main"]
    for actual, inputs in zip(params["main"], (first, second), strict=True):
        np.testing.assert_array_equal(actual.numpy(), inputs)
        assert actual.dtype == inputs.dtype.name


def test_arrays_of_attributes_are_printed_and_read():
    function = identity.with_attr("params", [tvm.nd.array(np.arange(3, dtype="float32")), 1])
    text = tvm.IRModule({"identity": function}).script(show_meta=True)
    again = tvm.script.from_source(text)
    np.testing.assert_array_equal(again["identity"].attrs["params"][0].numpy(), [0, 1, 2])
    assert again["identity"].attrs["params"][1] == 1


def test_a_module_is_built_of_its_functions():
    with IRBuilder() as ib, ir_builder.ir_module():
        with tir_builder.prim_func():
            tir_builder.func_name("nothing")
        with relax_builder.function():
            R.func_name("same")
            x = R.arg("x", R.Tensor((2,), "float32"))
            R.func_ret_value(x)

    @I.ir_module
    class Expected:
        @T.prim_func
        def nothing():
            T.evaluate(0)

        @R.function
        def same(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return x

    tvm.ir.assert_structural_equal(ib.get(), Expected)


def test_functions_of_one_name_and_modules_in_modules_are_refused():
    with IRBuilder(), ir_builder.ir_module():
        with tir_builder.prim_func():
            pass
        with pytest.raises(TiraxError, match="a function main already"), tir_builder.prim_func():
            pass
        with pytest.raises(TiraxError, match="inside of a module"), ir_builder.ir_module():
            pass


def test_a_prefix_is_a_name():
    with pytest.raises(tvm.TVMError, match="ir_prefix is no name"):
        tvm.IRModule({"main": identity}).script(ir_prefix="2I")


def test_a_context_has_lists_and_takes_what_tvm_takes():
    default = tvm.transform.PassContext.current()
    assert (default.instruments, default.required_pass, default.disabled_pass) == ([], [], [])
    assert dict(default.config) == {} and default.get_tuning_api_database() is None
    context = tvm.transform.PassContext(
        opt_level=default.opt_level,
        instruments=[*default.instruments, WellFormedInstrument()],
        config=default.config,
        trace_stack=default.trace_stack,
        make_traceable=default.make_traceable,
        num_evals=default.num_evals,
        tuning_api_database=default.get_tuning_api_database(),
    )
    assert len(context.instruments) == 1
    with pytest.raises(UnsupportedError, match="passes are not tuned"):
        tvm.transform.PassContext(make_traceable=["FoldConstant"])


@tvm.transform.module_pass(opt_level=0)
def leave(mod, ctx):
    return mod


def test_well_formed_before_only_on_request():
    @I.ir_module(check_well_formed=False)
    class Bad:
        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            m = T.int64()
            y = R.zeros(R.shape([m]), "float32")
            return x

    for before in (True, False):
        context = tvm.transform.PassContext(instruments=[WellFormedInstrument(validate_before_transform=before)])
        with context, pytest.raises(IllFormedError, match="before leave" if before else "after leave"):
            leave(Bad)
