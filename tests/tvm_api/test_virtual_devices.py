"""Virtual devices that modules list: in scripts, as handles, and what a program with several CPUs computes."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.dialects.relax.devices import listed_vdevice, place_of_vdevice, vdevice_text
from tirax.tvm_api import relax
from tirax.tvm_api.ir import VDevice
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R

DEVICES = [VDevice("llvm"), VDevice("cuda", 0), VDevice({"kind": "llvm"}, 7, "global")]


@I.ir_module
class Listed:
    I.module_attrs({"a": 1})
    I.module_global_infos(
        {
            "vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("cuda", 0), I.vdevice({"kind": "llvm"}, 7)],
            "dummy": [I.dummy_global_info()],
        }
    )

    @R.function
    def main(x: R.Tensor(("n",), "float32", "vdevice:0")) -> R.Tensor(("n",), "float32", "llvm:1"):
        with R.dataflow():
            y = R.add(x, x)
            z = R.to_vdevice(y, "llvm:1")
            R.output(z)
        return z


@I.ir_module
class Captured:
    I.module_global_infos({"vdevice": DEVICES})

    @R.function
    def main(x: R.Tensor((2,), "float32", DEVICES[1])) -> R.Tensor((2,), "float32", "llvm:1"):
        y = R.to_vdevice(x, DEVICES[2])
        return y


@pytest.mark.parametrize("module", [Listed, Captured])
def test_devices_are_listed_read_and_printed(module):
    assert module.global_infos["vdevice"] == DEVICES
    text = module.script()
    assert 'I.vdevice({"keys": ["cpu"], "kind": "llvm"' in text
    assert '}, 7, "global")' in text
    assert 'vdevice="llvm:1"' in text
    again = tvm.script.from_source(text)
    assert again.script() == text
    tvm.ir.assert_structural_equal(again, module)


def test_what_else_the_module_says():
    assert dict(Listed.attrs) == {"a": 1}
    assert Listed.global_infos["dummy"] == ["dummy"]
    assert "I.dummy_global_info()" in Listed.script()
    other = Listed.clone()
    other.update_global_info("vdevice", DEVICES[:1])
    assert other.global_infos["vdevice"] == DEVICES[:1]
    assert Listed.global_infos["vdevice"] == DEVICES
    result = tvm.IRModule({"main": Listed["main"]}, global_infos={"vdevice": DEVICES})
    assert result.global_infos == {"vdevice": DEVICES}


def test_numbers_in_scripts_are_places_in_the_list():
    parameter = Listed["main"].params[0].struct_info.vdevice
    assert (parameter.target, parameter.vdevice_id, parameter.memory_scope) == ("llvm", 0, "global")
    assert Listed["main"].ret_struct_info.vdevice == VDevice("llvm", 7)
    assert Captured["main"].params[0].struct_info.vdevice == VDevice("cuda", 0)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_programs_for_several_cpus_run(count):
    machine = relax.VirtualMachine(relax.build(Listed, "llvm"), [tvm.cpu(0), tvm.cpu(1)])
    x = np.arange(count, dtype="float32")
    np.testing.assert_array_equal(machine["main"](tvm.nd.array(x, tvm.cpu(1))).numpy(), 2 * x)


@pytest.mark.parametrize("name", ["cuda:1", "vdevice:3"])
def test_a_device_that_is_not_listed(name):
    source = f"""
@I.ir_module
class Module:
    I.module_global_infos({{"vdevice": [I.vdevice("llvm"), I.vdevice("cuda"), I.vdevice("llvm", 1)]}})
    @R.function
    def main(x: R.Tensor((2,), "float32", "{name}")):
        return x
"""
    with pytest.raises(tvm.TVMError, match=f"there is no virtual device '{name}'(.|\\n)*llvm:0, cuda:0, llvm:1"):
        tvm.script.from_source(source)


@pytest.mark.parametrize("text", ["I.vdevice(1)", 'I.vdevice("llvm", "a")', 'I.vdevice("llvm", 0, 1)'])
def test_devices_that_are_none(text):
    source = f'@I.ir_module\nclass Module:\n    I.module_global_infos({{"vdevice": [{text}]}})\n'
    with pytest.raises(tvm.TVMError, match="a virtual device is a target, a number and a kind of memory"):
        tvm.script.from_source(source)


def test_a_device_of_no_known_kind():
    source = '@I.ir_module\nclass Module:\n    I.module_global_infos({"vdevice": [I.vdevice("llvn")]})\n'
    with pytest.raises(tvm.TVMError, match="llvn"):
        tvm.script.from_source(source)


def test_modules_take_their_attributes_by_keyword():
    source = (
        '@I.ir_module\nclass Module:\n    I.module_attrs(attrs={"a": 1})\n    I.module_global_infos(global_infos={})\n'
    )
    assert dict(tvm.script.from_source(source).attrs) == {"a": 1}


def test_targets_that_code_is_generated_for():
    assert tvm.runtime.enabled("llvm -mcpu=haswell")
    assert not tvm.runtime.enabled("cuda")


def test_texts_of_devices():
    assert vdevice_text("llvm -mcpu=haswell", 1) == "llvm:1"
    assert vdevice_text({"kind": "metal"}, 0, "texture") == "metal:0:texture"
    assert VDevice.of("metal:0:texture") == VDevice("metal", 0, "texture")
    assert VDevice() == "llvm:0"
    listed = ["llvm:0", "cuda:4", "llvm:9"]
    assert [listed_vdevice(d, listed) for d in ("llvm:1", "cuda", "vdevice:2")] == ["llvm:9", "cuda:4", "llvm:9"]
    assert [place_of_vdevice(d, listed) for d in (*listed, "metal:3")] == ["llvm:0", "cuda:0", "llvm:1", "metal:3"]
    assert listed_vdevice("cuda:5", []) == "cuda:5"
