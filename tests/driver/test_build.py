"""`build` as a whole: pipelines, timings, the cache, parameters, operators from relax to numbers."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Operation
from xdsl.parser import Parser

from tirax.diagnostics import NameLookupError, TiraxError
from tirax.driver.build import Timings, build, lower, run_passes
from tirax.driver.pipelines import LOWERING, PIPELINES, make_passes, pipeline_passes
from tirax.ir.passes.transform import new_context
from tirax.lowering.llvm_text import print_llvm

MLP = """
relax.func @main(%x: !relax.tensor<[n, 20], f32>, %w: !relax.tensor<[20, 12], f32>, %b: !relax.tensor<[12], f32>,
                 %w1: !relax.tensor<[12, 5], f32>) -> !relax.tensor<[n, 5], f32> attributes {num_input = 1 : i64} {
  %gv = relax.dataflow {
    %m = relax.matmul %x, %w : !relax.tensor<[n, 12], f32>
    %a = relax.add %m, %b : !relax.tensor<[n, 12], f32>
    %r = relax.nn.relu %a : !relax.tensor<[n, 12], f32>
    %o = relax.matmul %r, %w1 : !relax.tensor<[n, 5], f32>
    relax.output %o : !relax.tensor<[n, 5], f32>
  }
  relax.return %gv : !relax.tensor<[n, 5], f32>
}
"""


def module():
    return Parser(new_context(), MLP).parse_module()


def inputs(n, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s, dtype=np.float32) for s in ((n, 20), (20, 12), (12,), (12, 5))]


def reference(x, w, b, w1):
    return np.maximum(x.astype(np.float64) @ w + b, 0) @ w1


@pytest.fixture(scope="module")
def executable():
    return build(module())


@pytest.mark.parametrize("n", [0, 1, 5, 64])
def test_mlp(executable, n):
    args = inputs(n)
    np.testing.assert_allclose(executable["main"](*args), reference(*args), rtol=1e-5, atol=1e-5)


def test_the_module_stays_as_it_is():
    mod = module()
    before = str(mod)
    lower(mod)
    assert str(mod) == before


def test_parameters_are_bound():
    x, w, b, w1 = inputs(3)
    ex = build(module(), params={"w": w, "b": b, "w1": w1})
    assert [p.name for p in ex.functions["main"].params] == ["x"]
    np.testing.assert_allclose(ex["main"](x), reference(x, w, b, w1), rtol=1e-5, atol=1e-5)


def test_pipelines_compose(executable):
    """A pipeline that stops early is completed; names, passes and one pass are taken."""
    args = inputs(4)
    expected = executable["main"](*args)
    for pipeline in ("optimize", list(PIPELINES["optimize"]), pipeline_passes("optimize")):
        np.testing.assert_array_equal(build(module(), pipeline=pipeline)["main"](*args), expected)
    assert PIPELINES["default-cpu"][-len(LOWERING) :] == LOWERING


def test_the_way_down_is_deterministic():
    assert print_llvm(lower(module())) == print_llvm(lower(module()))


def test_timings():
    with Timings() as outer, Timings() as inner:
        build(module())
    assert list(inner.stages)[:3] == ["copy", "verify", "normalize"] and "executable" in inner.stages
    assert list(outer.stages) == list(inner.stages)
    assert inner.total == sum(inner.stages.values()) and "normalize" in str(inner)
    count = len(inner.stages)
    build(module())
    assert len(inner.stages) == count


def test_the_cache_is_used(monkeypatch, tmp_path):
    from tirax.lowering import machine

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TIRAX_CACHE", "objects")
    compiled = []
    before = machine.compile_object
    monkeypatch.setattr(machine, "compile_object", lambda *a: (compiled.append(1), before(*a))[1])
    args = inputs(2)
    first = build(module())["main"](*args)
    np.testing.assert_array_equal(build(module())["main"](*args), first)
    assert compiled == [1]
    build(module(), opt_level=1)
    assert compiled == [1, 1]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"pipeline": "default-gpu"}, NameLookupError, "did you mean 'default-cpu'"),
        ({"pipeline": ["fuse-op"]}, NameLookupError, "did you mean 'fuse-ops'"),
        ({"target": "lvm"}, TiraxError, "llvm"),
        ({"target": "cuda"}, TiraxError, "cuda"),
        ({"exec_mode": "quick"}, TiraxError, "compiled"),
        ({"params": {"v": np.zeros(3)}}, NameLookupError, "'v'"),
    ],
)
def test_wrong_options(options, error, text):
    with pytest.raises(error) as caught:
        build(module(), **options)
    assert text in str(caught.value)


def test_what_is_no_module():
    with pytest.raises(TiraxError, match="module"):
        build(3)


def test_passes_of_a_list_share_a_verifier(monkeypatch):
    """A pass of a user's own pipeline that changes nothing costs a comparison, not another verification."""
    requests = []
    own = Operation.verify
    monkeypatch.setattr(
        Operation, "verify", lambda op, *args, **kw: (requests.append(op.name), own(op, *args, **kw))[1]
    )
    op = module()
    run_passes(make_passes(["canonicalize-bindings"]), new_context(), op)
    once = len(requests)
    run_passes(make_passes(["canonicalize-bindings"] * 3), new_context(), op)
    assert once > 0
    assert len(requests) <= 2 * once
