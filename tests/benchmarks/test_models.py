"""The models of the benchmarks compute what numpy does, interpreted and native, with fixed and with symbolic sizes."""

import numpy as np
import pytest
from benchmark_models import SMALL, make
from benchmark_models import workload as workloads
from strength import only_full, thinned

from tirax.interpreter import interpret
from tirax.tvm_api import relax

SIZES = ((1, 1), (2, 5), (3, 8), (0, 3))
TOLERANCE = 2e-6


@pytest.fixture(scope="module", params=SMALL)
def workload(request):
    return make(request.param, **SMALL[request.param])


@pytest.fixture(scope="module")
def weights(workload):
    return workloads.random_weights(workload, seed=3)


def expected(workload, weights, inputs):
    return workload.reference(workloads.in_double(weights), *inputs)


@only_full  # `test_numbers` of layers and semantics/test_models.py build networks, too
@thinned("workload", SMALL, 1, indirect=True)
def test_one_build_serves_all_sizes(workload, weights):
    mod = workloads.bind(workloads.export(workload), weights)
    forward = relax.build(mod)["forward"]
    for batch, length in SIZES:
        inputs = workload.inputs(batch, length, seed=batch)
        reference = expected(workload, weights, inputs)
        interpreted = interpret(mod.op, "forward", inputs)
        assert interpreted.shape == reference.shape
        assert workloads.difference(interpreted, reference) < TOLERANCE
        assert workloads.difference(forward(*inputs), reference) < TOLERANCE


@only_full
@pytest.mark.parametrize("name", ["bert", "resnet"])
def test_fixed_sizes(name):
    workload = make(name, **SMALL[name])
    weights = workloads.random_weights(workload)
    inputs = workload.inputs(2, 4)
    result = relax.build(workloads.bind(workloads.export(workload, 2, 4), weights))["forward"](*inputs)
    assert workloads.difference(result, expected(workload, weights, inputs)) < TOLERANCE


def test_weights_are_parameters_until_they_are_bound(workload, weights):
    mod = workloads.export(workload)
    names = [p.name_hint for p in mod["forward"].params]
    inputs = list(workload.spec("batch", "length"))
    assert names == inputs + [name.replace(".", "_") for name in weights]


def test_references_distinguish_other_weights(workload, weights):
    inputs = workload.inputs(2, 4)
    reference = expected(workload, weights, inputs)
    rng = np.random.default_rng(1)
    for name, value in weights.items():
        if name.endswith("key.bias"):
            continue  # adding to all keys alike changes no softmax
        other = expected(workload, {**weights, name: value + rng.random(value.shape)}, inputs)
        assert workloads.difference(other, reference) > 100 * TOLERANCE, name


def test_published_sizes():
    """Parameters and operations of the full models are those of the papers."""
    millions = {"bert": 108.9, "resnet": 25.6, "vit": 86.6, "gpt2": 124.4, "llama": 45.4}
    gflop = {"bert": 22.4, "resnet": 8.2, "vit": 35.1, "gpt2": 31.9, "llama": 3.7}
    for name in SMALL:
        full = make(name)
        count = sum(_size(p.shape) for p in full.module().parameters())
        assert count / 1e6 == pytest.approx(millions[name], rel=0.01), name
        assert full.flop(1, full.default_length) / 1e9 == pytest.approx(gflop[name], rel=0.02), name


def _size(shape):
    total = 1
    for extent in shape:
        total *= extent
    return total
