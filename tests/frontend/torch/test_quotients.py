"""Sizes that are multiples: results at several sizes, kernels without divisions of elements' indices, refusals."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models are PyTorch's")

from torch_models import exported  # noqa: E402

import tirax  # noqa: E402
from tirax.diagnostics import ShapeError  # noqa: E402
from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
AUTO, Dim = torch.export.Dim.AUTO, torch.export.Dim


def windows(x):
    b, h, w, c = x.shape
    return x.view(b, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, 4, c)


def halves(x):
    return torch.cat([part * i for i, part in enumerate(x.reshape(x.shape[0], 2, x.shape[1] // 2).unbind(1))], 1)


def shuffled(x):
    return torch.nn.functional.channel_shuffle(x, 4)


def shuffled_and_split(x):
    return torch.nn.functional.channel_shuffle(x, 4), x.reshape(x.shape[0], x.shape[1] // 6, 6, -1).sum(1)


CASES = {
    "a remainder": (shuffled, (2, 8, 6, 6), {0: AUTO, 1: AUTO, 2: AUTO, 3: AUTO}, [(3, 20, 5, 7), (5, 12, 3, 1)]),
    "a quotient of the size": (windows, (2, 8, 12, 3), {0: AUTO, 1: AUTO, 2: AUTO}, [(3, 16, 20, 3), (1, 20, 8, 3)]),
    "a declared multiple": (windows, (2, 8, 12, 3), {0: AUTO, 1: 4 * Dim("h"), 2: 4 * Dim("w")}, [(3, 16, 20, 3)]),
    "a product": (halves, (3, 8), {0: AUTO, 1: AUTO}, [(2, 12), (5, 6)]),
    "two divisors": (shuffled_and_split, (2, 24, 6, 6), {0: AUTO, 1: AUTO, 2: AUTO, 3: AUTO}, [(3, 36, 5, 7)]),
}


def program(name):
    function, shape, sizes, _ = CASES[name]
    return exported(function, (torch.randn(shape),), dynamic_shapes=((sizes,),))


@pytest.mark.parametrize("name", CASES)
def test_results(name):
    function, shape, _, others = CASES[name]
    compiled = tirax.compile(program(name))
    for sizes in (shape, *others):
        x = torch.randn(sizes)
        expected, results = function(x), compiled(x)
        pairs = zip(expected, results, strict=True) if isinstance(expected, tuple) else [(expected, results)]
        for one, other in pairs:
            np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["a remainder", "a quotient of the size", "a declared multiple"])
def test_sizes_are_products_of_variables(name):
    text = from_exported_program(program(name)).script()
    reshapes = [line for line in text.splitlines() if "R.reshape(" in line]
    assert reshapes and not any("//" in line for line in reshapes)


@pytest.mark.parametrize("name", ["a remainder", "a quotient of the size", "a declared multiple"])
def test_the_result_has_sizes_of_the_inputs(name):
    mod = from_exported_program(program(name), unwrap_unit_return_tuple=True)
    assert "ndim=" not in mod.script().split("->")[1].split(":")[0]


@pytest.mark.parametrize(("name", "shape"), [("a remainder", (2, 9, 6, 6)), ("a declared multiple", (2, 9, 12, 3))])
def test_another_size_is_refused(name, shape):
    compiled = tirax.compile(program(name))
    with pytest.raises(ShapeError, match="dimension 1"):
        compiled(torch.randn(shape))
