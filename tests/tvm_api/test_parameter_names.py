"""Parameters are called as in TVM 0.20, so that calls by keyword run."""

import inspect
from functools import reduce

import pytest

import tirax.tvm_api as tvm

PARAMETERS: dict[str, str] = {
    "IRModule.get_attr": "attr_key",
    "IRModule.with_attr": "attr_key attr_value",
    "IRModule.with_attrs": "attr_map",
    "IRModule.without_attr": "attr_key",
    "cpu": "dev_id",
    "cuda": "dev_id",
    "device": "dev_type dev_id",
    "ir.Op.get": "op_name",
    "ir.load_json": "json_str",
    "ir.register_op_attr": "op_name attr_key value level",
    "meta_schedule.database.TuningRecord.from_json": "json_obj workload",
    "meta_schedule.arg_info.ArgInfo.from_json": "json_obj",
    "relax.BlockBuilder.update_func": "gv updated_func",
    "relax.Function.with_attr": "attr_key_or_dict attr_value",
    "relax.Function.with_attrs": "attr_map",
    "relax.Function.without_attr": "attr_key",
    "relax.analysis.bound_vars": "expr",
    "relax.analysis.udchain": "dfb",
    "relax.dpl.ExternFuncPattern": "global_symbol",
    "relax.dpl.GlobalVarPattern": "name_hint",
    "relax.dpl.OrRewriter": "lhs rhs",
    "relax.dpl.VarPattern": "name_hint",
    "relax.op.register_gradient": "op_name fgradient level",
    "relax.transform.LegalizeOps": "customize_legalize_map enable_warning skip_ops",
    "runtime.Device.sync": "stream",
    "runtime.Module.get_function": "name query_imports",
    "tir.PrimFunc.with_attr": "attr_key_or_dict attr_value",
    "tir.Schedule.get": "rand_var_or_sref",
    "tir.Schedule.get_sref": "rand_var_or_stmt",
    "tir.Schedule.remove_rv": "rand_var",
    "tir.vectorcombine": "dtype vec1 vec2",
    "tir.vectorhigh": "dtype vec",
    "tir.vectorlow": "dtype vec",
}


@pytest.mark.parametrize("path", PARAMETERS)
def test_parameters_are_called_as_in_tvm(path):
    actual = reduce(getattr, path.split("."), tvm)
    names = inspect.signature(actual).parameters
    assert [n for n in names if n != "self"] == PARAMETERS[path].split()
