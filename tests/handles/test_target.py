"""Targets of any kind, with hosts, tags and options, as programs of TVM describe them."""

import json

import pytest

from tirax import target as cpu_target
from tirax import tvm_api as tvm
from tirax.diagnostics import NameLookupError, TiraxError, UnsupportedError
from tirax.dialects.tir.targets import TAGS, full_text
from tirax.handles.target import Target, arm_cpu, cuda, mali
from tirax.script import parse_mlir
from tirax.target import TargetError
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T

CORTEX = {
    "c -mcpu=cortex-m3": (False, False),
    "llvm -mcpu=cortex-m4": (True, False),
    "c -mcpu=cortex-m85": (True, True),
    "llvm -mcpu=cortex-m55 -mattr=+nomve": (True, False),
    "c -mcpu=cortex-m55+nodsp": (False, False),
}


@pytest.mark.parametrize("text", CORTEX)
def test_microcontrollers_can_be_described(text):
    target = Target(text)
    assert (target.features.has_dsp, target.features.has_mve) == CORTEX[text]
    assert target.keys[:2] == ["arm_cpu", "cpu"] and "avx" not in target.features
    assert target.features and Target("cuda").features
    with pytest.raises(UnsupportedError, match="code for|target kind"):
        _ = target.cpu


def test_kinds_and_options():
    target = Target("cuda -model=unknown -libs=cublas,cudnn -max_num_threads=256 --fast=True")
    assert (target.kind.name, target.keys, target.libs) == ("cuda", ["cuda", "gpu"], ["cublas", "cudnn"])
    assert (target.max_num_threads, target.attrs["fast"], target.thread_warp_size) == (256, 1, -1)
    assert target.get_target_device_type() == 2 and target.features.anything is None
    assert "anything" not in target.features and "supports_int8" not in Target("cuda").features
    assert Target(str(target)) == target == Target(target.export())
    spaced = Target("vulkan -device_name='Name of GPU'")
    assert Target(str(spaced)).attrs["device_name"] == "Name of GPU"
    assert mali().device_name == "mali" and cuda(options="-arch=sm_80").arch == "sm_80"
    assert arm_cpu().keys == ["arm_cpu", "cpu"] and "llvm" in Target.list_kinds()
    composite = Target("composite --host=llvm --devices=cuda,opencl")
    assert [d.kind.name for d in composite.attrs["devices"]] == ["cuda", "opencl"]


def test_hosts():
    for target in (
        Target("cuda --host llvm"),
        Target("cuda", "llvm"),
        Target("cuda", {"kind": "llvm"}),
        Target({"kind": "cuda", "host": "llvm"}),
        Target("cuda").with_host("llvm"),
        Target(Target("cuda --host=llvm"), None),
    ):
        assert (target.kind.name, target.host.kind.name) == ("cuda", "llvm")
    assert Target("cuda").host is None and Target("cuda") != Target("cuda", "llvm")
    assert Target.canon_target_and_host(None) == (None, None)
    actual, host = Target.canon_target_and_host("cuda", "llvm")
    assert actual.host == host
    assert [t.kind.name for t in Target.canon_multi_target_and_host({1: "llvm", 2: "cuda"}, "llvm")] == ["llvm", "cuda"]
    by_target, host = Target.canon_target_map_and_host({"cuda": 1, "llvm": 2}, "llvm")
    assert all(t.host == host for t in by_target)


def test_tags():
    assert Target("nvidia/nvidia-a100").l2_cache_size_bytes == 40 << 20
    server = Target("aws/cpu/c5.9xlarge")
    assert (server.kind.name, server.attrs["num-cores"], server.cores) == ("llvm", 18, 18)
    assert all(Target(tag).tag == tag for tag in TAGS)


def test_code_is_generated_for_llvm():
    target = Target(json.dumps({"kind": "llvm", "num-cores": 2, "libs": ["cblas"], "jit": "orcjit"}))
    assert isinstance(target, cpu_target.Target) and target.cores == 2 and target.libs == ["cblas"]
    assert target == cpu_target.Target("llvm -num-cores=2")
    assert Target(cpu_target.Target("llvm -num-cores=2")) == target

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return R.exp(x)

    assert tvm.relax.build(tvm.IRModule({"main": main}), target) is not None
    with pytest.raises(UnsupportedError, match="target kind 'cuda'"):
        tvm.relax.build(tvm.IRModule({"main": main}), Target("cuda"))
    with target as entered:
        assert Target.current() is entered


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ("lvm", NameLookupError, "did you mean 'llvm'"),
        ("llvm -num-core=3", NameLookupError, "num-cores"),
        ("", TargetError, "empty"),
        ("cuda arch", TargetError, "'arch'"),
        ("cuda -arch", TargetError, "has no value"),
        ("cuda 'a", TargetError, "target string"),
        ({"libs": ["a"]}, TargetError, "no kind"),
        ({"kind": "llvm", "libs": {"a": "b"}}, ValueError, "the option libs"),
        (12.5, TargetError, "a target"),
    ],
)
def test_what_is_no_target(inputs, error, message):
    with pytest.raises(error, match=message):
        Target(inputs)


def test_other_devices():
    assert str(tvm.rocm(1)) == "rocm(1)" and tvm.vulkan().device_type == 7
    assert Target.from_device("cpu").kind.name == "llvm"
    with pytest.raises(TiraxError, match="a target of the device 'cuda'"):
        Target.from_device(tvm.cuda())
    with pytest.raises(AssertionError, match="host is not empty"):
        Target.canon_target_and_host(None, "llvm")


def test_targets_as_attributes():
    target = Target("llvm -num-cores=2")

    @T.prim_func
    def noted():
        T.func_attr({"target": target, "other": tvm.target.Target("cuda", host="llvm"), "third": T.target("llvm")})
        T.evaluate(0)

    targets = [target, Target("cuda", host="llvm"), Target("llvm")]
    assert [noted.attrs[key] for key in ("target", "other", "third")] == targets
    assert noted.with_attr("fourth", target).attrs["fourth"] == target


def test_host_functions_are_bound_to_the_host():
    @T.prim_func
    def kernel():
        T.evaluate(0)

    def bound(func: object, target: Target) -> dict[str, object]:
        attrs = tvm.tir.transform.BindTarget(target)(tvm.IRModule({"main": func}))["main"].attrs
        return {key: attrs[key] for key in attrs if key != "global_symbol"}

    host = kernel.with_attr("tir.is_host_func", 1)
    assert bound(kernel, Target("cuda", host="llvm")) == {"target": Target("cuda", host="llvm")}
    assert bound(host, Target("cuda")) == {"target": Target("llvm", host="llvm")}
    own = "llvm -num-cores=2"
    assert bound(host, Target("cuda", host=own)) == {"target": Target(own, host=own)}


def test_printed_targets_say_what_goes_without_saying():
    @T.prim_func
    def noted():
        T.func_attr(
            {"a": T.target("nvidia/nvidia-a100", host="llvm -mtriple=aarch64-linux-gnu"), "b": T.target("vulkan")}
        )
        T.evaluate(0)

    text = noted.script()
    for part in (
        '"a": T.target({"arch": "sm_80", "host": {"keys": ["cpu"], "kind": "llvm", "mtriple": "aarch64-linux-gnu", ',
        '"keys": ["cuda", "gpu"], "kind": "cuda", "l2_cache_size_bytes": 41943040, "max_num_threads": 1024, ',
        '"b": T.target({"keys": ["vulkan", "gpu"], "kind": "vulkan", "max_num_threads": 256, ',
    ):
        assert part in text
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), noted)
    own = noted.with_attr("b", Target("llvm"))
    assert tvm.script.from_source(own.script()).attrs["b"] == Target("llvm")
    assert parse_mlir(str(tvm.IRModule({"f": own}).op)).is_structurally_equivalent(tvm.IRModule({"f": own}).op)
    with pytest.raises(NameLookupError, match="unknown target kind 'abacus'"):
        tvm.script.from_source(text.replace('"vulkan"', '"abacus"'))


def test_numbers_of_devices():
    numbers = tvm._ffi.runtime_ctypes.Device.STR2MASK
    assert all(numbers[kind] == Target(kind).get_target_device_type() for kind in Target.list_kinds())


def test_the_text_of_messages():
    target = "llvm -mtriple=aarch64-linux-gnu -device=arm_cpu -mattr=+v8.2a,+sve"
    assert full_text(target) == ("llvm -device=arm_cpu -keys=arm_cpu,cpu -mattr=+v8.2a,+sve -mtriple=aarch64-linux-gnu")


@pytest.mark.parametrize(
    ("cpu", "dsp", "mve"),
    [
        ("cortex-m0", False, False),
        ("cortex-m3", False, False),
        ("cortex-m4", True, False),
        ("cortex-m33+nodsp", False, False),
        ("cortex-m55", True, True),
        ("cortex-m85+nomve", True, False),
        ("cortex-m85 -mattr=+nodsp", False, False),
    ],
)
@pytest.mark.parametrize("kind", ["llvm", "c"])
def test_microcontrollers(kind, cpu, dsp, mve):
    """They are described, with keys and features; code is refused when it is generated."""
    target = Target(f"{kind} -mcpu={cpu}")
    assert target.keys == ["arm_cpu", "cpu"]
    assert target.features and (target.features.has_dsp, target.features.has_mve) == (dsp, mve)
    with pytest.raises(TiraxError):
        _ = target.vector_bits


@pytest.mark.parametrize(
    ("options", "enabled"),
    [
        ("-mtriple=aarch64-linux-gnu", {"has_asimd"}),
        ("-mtriple=aarch64-linux-gnu -mattr=-neon", set()),
        ("-mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod", {"has_asimd", "has_dotprod"}),
        ("-mtriple=aarch64-linux-gnu -mattr=+v8.6a", {"has_asimd", "has_dotprod", "has_matmul_i8"}),
        ("-mtriple=aarch64-linux-gnu -mattr=+sve", {"has_asimd", "has_sve", "has_fp16_simd"}),
        ("-mtriple=armv8l-linux-gnueabihf -mattr=+neon", {"has_asimd"}),
        ("-mtriple=armv7a-linux-eabi", set()),
    ],
)
def test_application_processors(options, enabled):
    target = Target(f"llvm {options}")
    names = ("has_asimd", "has_sve", "has_dotprod", "has_matmul_i8", "has_fp16_simd", "has_sme")
    assert {name for name in names if getattr(target.features, name)} == enabled
    assert target.features.is_aarch64 == ("aarch64" in options)
    assert target.keys == ["arm_cpu", "cpu"]


def test_other_targets_have_no_features_of_arm():
    assert Target("llvm").features.has_sve is None and Target("llvm").keys == ["cpu"]
