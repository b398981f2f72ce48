"""Target strings: what they mean, how they print, and what is said about wrong ones."""

import pytest

from tirax.diagnostics import DTypeError, NameLookupError, TiraxError, UnsupportedError
from tirax.lowering.machine import PROCESSORS, LLVMError, compile_object, target_machine
from tirax.target import Target, TargetError


def test_host():
    host = Target("llvm")
    assert host == Target.host() == Target()
    assert host.cores >= 1 and host.vector_bits in (128, 256, 512) and host.vector_registers in (16, 32)
    assert host.triple and host.cpu and str(host) == "llvm"
    assert Target("llvm -mcpu=native").cpu == host.cpu


@pytest.mark.parametrize(
    "cpu, bits, registers, feature",
    [("x86-64", 128, 16, "sse2"), ("haswell", 256, 16, "fma"), ("znver4", 512, 32, "avx512bf16"),
     ("skylake-avx512", 512, 32, "avx512f"), ("sapphirerapids", 512, 32, "avx512fp16")],
)  # fmt: skip
def test_cpus(cpu, bits, registers, feature):
    target = Target(f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu} -num-cores=6")
    assert (target.vector_bits, target.vector_registers, target.cores) == (bits, registers, 6)
    assert feature in target.features and isinstance(target.features, frozenset)
    assert ("-prefer-256-bit" in target.feature_string) == (bits == 512)


def test_features_are_added_and_taken_away():
    base = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -mattr="
    assert Target(base + "+avx512f,+avx512vl").vector_bits == 512
    assert Target(base + "-avx2,-avx").vector_bits == 128
    assert "+avx512f" in Target(base + "+avx512f").feature_string.split(",")
    assert Target(base + "-fma").features == Target(base + "-fma").features
    assert "fma" not in Target(base + "-fma").features


@pytest.mark.parametrize(
    "dtype, lanes",
    [("float32", 8), ("float64", 4), ("float16", 16), ("bfloat16", 16), ("int8", 32), ("uint8", 32), ("bool", 32)],
)
def test_lanes(dtype, lanes):
    assert Target("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell").lanes(dtype) == lanes
    assert Target("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -vector-width=128").lanes(dtype) == lanes // 2


def test_lanes_of_what_is_no_number():
    with pytest.raises(DTypeError, match="has no vectors"):
        Target().lanes("handle")


@pytest.mark.parametrize(
    "text", ["llvm", "llvm -mcpu=znver4", "llvm  -num-cores=4   -mcpu=haswell", "llvm -keys=cpu -mattr=+avx,+avx2"]
)
def test_string_goes_round(text):
    target = Target(text)
    assert Target(str(target)) == target and hash(Target(str(target))) == hash(target)
    assert str(target) == " ".join(text.split()) and repr(target) == f"Target({str(target)!r})"


@pytest.mark.parametrize(
    "text, kind, parts",
    [
        ("llvm -mcpu=znver44", NameLookupError, ["unknown cpu 'znver44'", "did you mean 'znver4'"]),
        ("llvm -mcpu=zen99", NameLookupError, ["unknown cpu 'zen99'", "did you mean 'znver5'"]),
        (
            "llvm -mpcu=znver4",
            NameLookupError,
            ["unknown target option '-mpcu'", "did you mean '-mcpu'", "     | ", "^"],
        ),
        ("lvm", NameLookupError, ["unknown target kind 'lvm'", "did you mean 'llvm'"]),
        ("cuda", TiraxError, ["target kind 'cuda'", "expected: llvm"]),
        ("", TargetError, ["empty target string"]),
        ("llvm -mcpu", TargetError, ["-mcpu has no value"]),
        ("llvm -num-cores=many", TargetError, ["-num-cores", "expected: a positive integer", "found: 'many'"]),
        ("llvm -num-cores=0", TargetError, ["expected: a positive integer"]),
        ("llvm -mattr=avx2", TargetError, ["+avx2 or -avx2"]),
        ("llvm -mtriple=x86_64-linux-gnu -mattr=+avx512ff", TargetError, ["unknown x86 feature", "'avx512f'"]),
        ("llvm 'x", TargetError, ["No closing quotation"]),
    ],
)
def test_bad_strings(text, kind, parts):
    with pytest.raises(kind) as error:
        Target(text)
    for part in parts:
        assert part in str(error.value)


FOREIGN = [
    "nvptx64-nvidia-cuda", "nvptx", "amdgcn-amd-amdhsa", "r600", "spirv64", "hexagon", "wasm32-unknown-unknown",
    "wasm64", "bpf", "avr", "msp430", "i386-pc-linux-gnu", "armv7-linux-gnueabi", "mips", "s390x-ibm-linux",
    "powerpc64-linux", "riscv32", "nonsense",
]  # fmt: skip


@pytest.mark.parametrize("triple", FOREIGN)
def test_processors_that_there_is_no_code_for(triple):
    """LLVM would end the process for some of them, and make code for other pointers for others."""
    with pytest.raises(LLVMError, match=r"cannot generate code.*\n.*a CPU with 64 bits: x86_64"):
        target_machine(Target(f"llvm -mtriple={triple}"))


@pytest.mark.parametrize("triple", PROCESSORS)
def test_processors_that_there_is_code_for(triple):
    assert compile_object("define i64 @f(i64 %x) {\n  ret i64 %x\n}", Target(f"llvm -mtriple={triple}-linux-gnu"))


@pytest.mark.parametrize("kind", ["cuda", "metal", "opencl", "vulkan", "rocm", "hexagon", "webgpu", "c", "ext_dev"])
def test_other_kinds_of_target(kind):
    with pytest.raises(UnsupportedError, match=f"(?s)target kind '{kind}'.*CPUs only"):
        Target(kind)


def test_a_cpu_of_another_processor():
    with pytest.raises(TargetError, match="'haswell' is a cpu of x86"):
        Target("llvm -mtriple=aarch64-linux-gnu -mcpu=haswell")
