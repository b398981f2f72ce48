"""Objects are found by the module that they come from, before anything is scheduled; and only where they fit."""

import itertools

import numpy as np
import pytest

from tirax.driver import kernel_partition as kernel_parts
from tirax.driver import object_cache
from tirax.driver import partition as parts
from tirax.driver.build import Timings, build
from tirax.ir.passes.transform import PassContext
from tirax.lowering.llvm_text import print_llvm
from tirax.tvm_api.script import from_source

SOURCE = """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 4), "float32")):
        with R.dataflow():
            y = R.OPERATOR(R.matmul(x, w))
            R.output(y)
        return y
"""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TIRAX_CACHE", "objects")
    return tmp_path / "tirax" / "objects"


def module(operator="nn.relu"):
    return from_source(SOURCE.replace("OPERATOR", operator))


def built(mod, *args, **options):
    """The executable, and whether its functions had to be scheduled."""
    with Timings() as timings:
        executable = build(mod, *args, **options)
    return executable, "default-schedule" in timings.stages


def check(executable, weights=None, operator=lambda v: np.maximum(v, 0)):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((3, 8), dtype=np.float32)
    w = rng.standard_normal((8, 4), dtype=np.float32) if weights is None else weights
    result = executable["main"](x) if weights is not None else executable["main"](x, w)
    np.testing.assert_allclose(result, operator(x.astype(np.float64) @ w), rtol=1e-5, atol=1e-5)


def test_the_second_build_schedules_nothing():
    for scheduled in (True, False):
        executable, ran = built(module())
        assert ran is scheduled
        check(executable)


def test_what_was_lowered_is_collected_part_by_part(monkeypatch):
    """No build collects what it made at its end, when others wait for it, nor where there was nothing to lower."""
    collected = []
    monkeypatch.setattr(object_cache.gc, "collect", collected.append)
    built(module())
    assert collected == [0]
    built(module())
    assert collected == [0]


def test_other_programs_and_targets_are_others():
    built(module())
    executable, ran = built(module("tanh"))
    assert ran
    check(executable, operator=np.tanh)
    assert built(module(), "llvm -mcpu=haswell")[1]
    assert not built(module(), "llvm -mcpu=haswell")[1]
    assert built(module(), "llvm -num-cores=1")[1]


def test_numbers_inside_of_a_kernel_are_part_of_it():
    for alpha in (0.5, 0.25):
        text = SOURCE.replace("R.OPERATOR(R.matmul(x, w))", f"R.nn.leakyrelu(R.matmul(x, w), alpha={alpha})")
        for scheduled in (True, False):
            executable, ran = built(from_source(text))
            assert ran is scheduled
            check(executable, operator=lambda v, alpha=alpha: np.where(v < 0, alpha * v, v))


def test_constants_are_no_part_of_the_object():
    rng = np.random.default_rng(1)
    for scheduled in (True, False):
        weights = rng.standard_normal((8, 4), dtype=np.float32)
        executable, ran = built(module(), params={"w": weights})
        assert ran is scheduled
        check(executable, weights)


def test_settings_of_passes_are_not_looked_up():
    built(module())
    with PassContext(config={"tir.UnrollLoop": {"auto_max_step": 4}}):
        assert built(module())[1]
    with PassContext(disabled_pass=["FuseOps"]):
        assert built(module())[1]


def test_limits_of_the_environment_make_other_objects(monkeypatch):
    built(module())
    monkeypatch.setenv("TIRAX_LIMIT_UNROLL_STATEMENTS", "8")
    assert built(module())[1]
    assert not built(module())[1]


def test_changed_sources_are_compiled_again(monkeypatch):
    built(module())
    monkeypatch.setattr(object_cache, "sources", lambda rooms: "a changed pass")
    assert built(module())[1]


@pytest.mark.parametrize("keep", [lambda size: size > 1000, lambda size: size <= 1000], ids=["no link", "no object"])
def test_what_is_lost_is_rebuilt(own_cache, keep):
    built(module())
    for path in own_cache.glob("*.o"):
        if not keep(path.stat().st_size):
            path.unlink()
    executable, ran = built(module())
    assert ran
    check(executable)
    assert not built(module())[1]


def test_damaged_files_are_rebuilt(own_cache):
    built(module())
    for path in own_cache.glob("*.o"):
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    executable, ran = built(module())
    assert ran
    check(executable)


def test_a_function_that_changed_is_lowered_again_and_no_other(monkeypatch):
    """Products of other sizes are kernels of their own; here each is a part."""
    monkeypatch.setattr(kernel_parts, "KERNELS_IN_A_PART", 1)
    monkeypatch.setattr(parts.divide, "__defaults__", (2,))
    lowered = []
    monkeypatch.setattr(parts, "print_llvm", lambda op: lowered.append(op) or print_llvm(op))
    sizes, rng = (8, 4, 5, 6), np.random.default_rng(3)
    x = rng.standard_normal((2, 8), dtype=np.float32)
    for operator, count in (("nn.relu", 4), ("nn.relu", 0), ("tanh", 2)):
        lowered.clear()
        executable = build(chain(sizes, operator))
        assert len(lowered) == count
        weights = [rng.standard_normal(pair, dtype=np.float32) for pair in itertools.pairwise(sizes)]
        a, b, c = (w.astype(np.float64) for w in weights)
        last = {"tanh": np.tanh, "nn.relu": lambda v: np.maximum(v, 0)}[operator]
        np.testing.assert_allclose(executable["main"](x, *weights), last(x @ a @ b @ c), rtol=1e-4, atol=1e-4)


def chain(sizes, operator):
    """Products one after the other, and an operator on the last."""
    pairs = list(itertools.pairwise(sizes))
    params = "".join(f', w{i}: R.Tensor({pair}, "float32")' for i, pair in enumerate(pairs))
    lines = "".join(f"            v{i + 1} = R.matmul(v{i}, w{i})\n" for i in range(len(pairs)))
    head = SOURCE[: SOURCE.index("    def main")]
    return from_source(
        f"""{head}    def main(v0: R.Tensor(("n", {sizes[0]}), "float32"){params}):
        with R.dataflow():
{lines}            y = R.{operator}(v{len(pairs)})
            R.output(y)
        return y
"""
    )
