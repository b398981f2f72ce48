"""A program that was built before is not optimized again; what it depends on is part of its key."""

import os

import numpy as np
import pytest

from tirax.dialects.relax.external import EXTERNAL_MODS, ExternalFunctions, ExternalModsAttr
from tirax.driver import build_cache
from tirax.driver.build import Timings, build
from tirax.driver.pipelines import PIPELINES
from tirax.ir.passes.transform import PassContext
from tirax.runtime.executable import Executable
from tirax.schedule.cpu.policy.rules import StageRule, added_rules
from tirax.target import Target
from tirax.transforms.legalize import LegalizeOps
from tirax.tvm_api.script import from_source
from tirax.universe import TIRAX_UNIVERSE

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
WEIGHTS = np.random.default_rng(2).standard_normal((8, 4), dtype=np.float32)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TIRAX_CACHE", "1")
    return tmp_path / "tirax" / "executables"


def module(operator="nn.relu"):
    return from_source(SOURCE.replace("OPERATOR", operator))


def built(mod=None, *args, **options) -> tuple[Executable, bool]:
    """The executable, and whether its program had to be optimized."""
    with Timings() as timings:
        executable = build(module() if mod is None else mod, *args, **options)
    return executable, "legalize-ops" in timings.stages


def check(executable, weights=WEIGHTS, bound=False, operator=lambda v: np.maximum(v, 0)):
    x = np.random.default_rng(5).standard_normal((3, 8), dtype=np.float32)
    result = executable["main"](x, *([] if bound else [weights]))
    np.testing.assert_allclose(result, operator(x.astype(np.float64) @ weights), rtol=1e-5, atol=1e-5)


def test_the_second_build_runs_no_pass():
    for optimized in (True, False):
        executable, ran = built()
        assert ran is optimized
        check(executable)


def test_constants_are_part_of_the_program():
    for weights in (WEIGHTS, 2 * WEIGHTS):
        for optimized in (True, False):
            executable, ran = built(params={"w": weights})
            assert ran is optimized
            check(executable, weights, bound=True)
    changed = WEIGHTS.copy()
    changed[-1, -1] += 1
    executable, ran = built(params={"w": changed})
    assert ran
    check(executable, changed, bound=True)


@pytest.mark.parametrize(
    "options",
    [
        {"mod": "tanh"},
        {"target": "llvm -mcpu=x86-64-v2"},
        {"target": "llvm -num-cores=1"},
        {"target": "llvm -l2-size=65536"},
        {"opt_level": 1},
        {"pipeline": "lower-cpu-unscheduled"},
    ],
    ids=lambda o: next(iter(o.items())),
)
def test_another_input_is_another_key(options):
    keys = {key_of(), key_of(), key_of(**options)}
    assert len(keys) == 2 and None not in keys


def key_of(mod="nn.relu", target="llvm", opt_level=3, pipeline="default-cpu"):
    entry = build_cache.entry_of(module(mod).op, PIPELINES[pipeline], Target(target), opt_level)
    return entry and entry.key


def test_limits_settings_and_versions_are_part_of_the_key(monkeypatch):
    keys = [key_of()]
    for name, value in (("TIRAX_LIMIT_FOLD_BYTES", "8"), ("TIRAX_SANITIZE", "address")):
        monkeypatch.setenv(name, value)
        keys.append(key_of())
    monkeypatch.setattr(build_cache, "sources", lambda rooms: "a changed pass")
    keys.append(key_of())
    monkeypatch.setattr(build_cache, "version", lambda package: "another numpy")
    keys.append(key_of())
    assert len(set(keys)) == len(keys) == 5


def test_all_sources_that_take_part_are_looked_at():
    text = build_cache.sources(build_cache._ROOMS)
    for part in ("transforms/legalize/legalize_ops.py", "topi/", "driver/build.py", "runtime/abi.py", "target.py"):
        assert part.replace("/", os.sep) in text


def test_what_others_wrote_is_not_looked_up(monkeypatch):
    assert key_of() is not None
    with PassContext(config={"tir.UnrollLoop": {"auto_max_step": 4}}):
        assert key_of() is None
    with PassContext(disabled_pass=["FuseOps"]):
        assert key_of() is None
    with added_rules(StageRule("mine", lambda finish, machine: None, lambda builder, plan: None)):
        assert key_of() is None
    op = module("tanh").op
    (tanh,) = (o for o in op.walk() if o.name == "relax.tanh")
    monkeypatch.setattr(type(tanh), "__module__", "acme.operators")
    assert key_of("tanh") is None and key_of() is not None
    assert not build_cache._is_own(module().op, ["legalize-ops", "acme-pass"])
    assert "acme-pass" not in TIRAX_UNIVERSE.all_passes
    op.attributes[EXTERNAL_MODS] = ExternalModsAttr(ExternalFunctions({"f": print}))
    assert not build_cache._is_own(op, [])


def test_passes_that_are_objects_are_not_looked_up(own_cache):
    for _ in range(2):
        executable, ran = built(pipeline=[LegalizeOps()])
        assert ran
        check(executable)
    assert not own_cache.exists()


def test_a_damaged_file_is_built_again(own_cache):
    built(params={"w": WEIGHTS})
    (path,) = own_cache.iterdir()
    data = bytearray(path.read_bytes())
    data[-65] ^= 1
    path.write_bytes(data)
    executable, ran = built(params={"w": WEIGHTS})
    assert ran
    check(executable, bound=True)
    assert not built(params={"w": WEIGHTS})[1]


def test_a_build_that_fails_leaves_nothing(own_cache, monkeypatch):
    def fail(*_):
        raise RuntimeError("no")

    with monkeypatch.context() as patch:
        patch.setattr("tirax.driver.assemble.assemble", fail)
        with pytest.raises(RuntimeError):
            build(module())
    assert not own_cache.exists() and built()[1]


def test_an_executable_from_the_cache_can_be_profiled_saved_and_is_its_own(tmp_path):
    x = np.ones((2, 8), np.float32)
    built()
    executable, ran = built()
    assert not ran
    assert "main" in str(executable.profile("main", x, WEIGHTS))
    executable.save(tmp_path / "model.tirax")
    check(Executable.load(tmp_path / "model.tirax"))
