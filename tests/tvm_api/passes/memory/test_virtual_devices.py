"""`RealizeVDevice` and `UpdateVDevice`: a program before and after for each rule."""

import pytest

from tirax import tvm_api as tvm
from tirax.ir.equality import assert_structural_equal
from tirax.tvm_api import relax
from tirax.tvm_api.passes.memory.realize_vdevice import MissingDeviceError
from tirax.tvm_api.script import from_source

HEAD = """from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("llvm", 1)]})
    @R.function
"""
T = 'R.Tensor((2, 3), "float32")'
CPU, GPU, SECOND = (f'R.Tensor((2, 3), "float32", "{d}")' for d in ("llvm:0", "cuda:0", "llvm:1"))

REALIZED = {
    "a hint is a copy if its operand is elsewhere": (
        f"""def main(x: {T}):
        y = R.add(x, x)
        z = R.hint_on_device(y, tvm.cuda())
        w = R.hint_on_device(R.exp(z), tvm.cpu())
        return w""",
        f"""def main(x: {GPU}) -> {CPU}:
        y: {GPU} = R.add(x, x)
        z: {GPU} = y
        gv: {GPU} = R.exp(z)
        w: {CPU} = R.to_vdevice(gv, dst_vdevice="llvm:0")
        return w""",
    ),
    "a declared device holds for all in a binding": (
        f"""def main(x: {SECOND}, y: {T}):
        z = R.add(y, y)
        w = R.multiply(z, y)
        return R.add(x, w)""",
        f"""def main(x: {SECOND}, y: {SECOND}) -> {SECOND}:
        z: {SECOND} = R.add(y, y)
        w: {SECOND} = R.multiply(z, y)
        gv: {SECOND} = R.add(x, w)
        return gv""",
    ),
    "a copy separates devices": (
        f"""def main(x: {CPU}):
        y = R.to_vdevice(x, dst_vdevice="cuda:0")
        return R.exp(y)""",
        f"""def main(x: {CPU}) -> {GPU}:
        y: {GPU} = R.to_vdevice(x, dst_vdevice="cuda:0")
        gv: {GPU} = R.exp(y)
        return gv""",
    ),
    "out of a dataflow block": (
        f"""def main(x: {T}):
        with R.dataflow():
            y = R.exp(x)
            z = R.negative(y)
            R.output(z)
        w = R.hint_on_device(z, tvm.cuda())
        return w""",
        f"""def main(x: {GPU}) -> {GPU}:
        with R.dataflow():
            y: {GPU} = R.exp(x)
            z: {GPU} = R.negative(y)
            R.output(z)
        w: {GPU} = z
        return w""",
    ),
    "fields of a tuple that a function declares": (
        f"""def main(x: {T}, y: {T}) -> R.Tuple({GPU}, {CPU}):
        a = R.exp(x)
        b = R.exp(y)
        return (a, b)""",
        f"""def main(x: {GPU}, y: {CPU}) -> R.Tuple({GPU}, {CPU}):
        a: {GPU} = R.exp(x)
        b: {CPU} = R.exp(y)
        return (a, b)""",
    ),
    "no device, no change": (
        f"def main(x: {T}):\n        return R.exp(x)",
        f"def main(x: {T}):\n        return R.exp(x)",
    ),
}


@pytest.mark.parametrize("name", REALIZED)
def test_hints_become_devices(name):
    before, after = (from_source(HEAD + "    " + text + "\n") for text in REALIZED[name])
    assert_structural_equal(relax.transform.RealizeVDevice()(before).op, after.op)


def test_a_hint_names_a_listed_device():
    text = HEAD + f"    def main(x: {T}):\n        return R.hint_on_device(x, tvm.metal())\n"
    with pytest.raises(MissingDeviceError, match="no virtual device for the hint"):
        relax.transform.RealizeVDevice()(from_source(text))


def test_a_device_is_replaced_everywhere():
    text = HEAD + f"    def main(x: {GPU}, y: R.Tuple({GPU}, {CPU})) -> {GPU}:\n        return R.add(x, y[0])\n"
    new = relax.transform.UpdateVDevice(tvm.ir.VDevice("llvm", 1), 1)(from_source(text))
    assert "cuda" not in new.script() and new.script().count('vdevice="llvm:1"') == text.count('"cuda:0"') + 2
    assert [str(d) for d in new.global_infos["vdevice"]] == ["llvm:0", "llvm:1", "llvm:1"]
    with pytest.raises(tvm.TVMError, match="no such virtual device"):
        relax.transform.UpdateVDevice(tvm.ir.VDevice("llvm", 1), 3)(new)
