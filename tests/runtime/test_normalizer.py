"""Tensors of PyTorch as arguments of a compiled function: results and errors are those of arrays."""

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.runtime.arguments import normalize_arguments
from tirax.runtime.normalizer import Normalizer
from tirax.script import parse_source

torch = pytest.importorskip("torch", reason="the tensors are torch's")

PROGRAM = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        z = R.subtract(x, y)
        return z
"""
ARGUMENTS = {
    "dense": lambda: (torch.ones(4, 3), torch.zeros(4, 3)),
    "no rows": lambda: (torch.ones(0, 3), torch.zeros(0, 3)),
    "a transposed one": lambda: (torch.ones(3, 4).T, torch.zeros(4, 3)),
    "a negated one": lambda: (torch._neg_view(torch.ones(4, 3)), torch.zeros(4, 3)),
    "an array": lambda: (torch.ones(4, 3), np.zeros((4, 3), "float32")),
    "an array first": lambda: (np.ones((4, 3), "float32"), torch.zeros(4, 3)),
}
WRONG = {
    "another number of rows": lambda: (torch.ones(4, 3), torch.zeros(5, 3)),
    "another width": lambda: (torch.ones(4, 2), torch.zeros(4, 3)),
    "another rank": lambda: (torch.ones(4), torch.zeros(4, 3)),
    "another dtype": lambda: (torch.ones(4, 3).double(), torch.zeros(4, 3)),
    "a gradient": lambda: (torch.ones(4, 3, requires_grad=True), torch.zeros(4, 3)),
    "another count": lambda: (torch.ones(4, 3),),
    "no tensor": lambda: (torch.ones(4, 3), None),
}


@pytest.fixture(scope="module")
def executable():
    return build(parse_source(PROGRAM))


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_arguments_are_those_of_the_slower_way(executable, kind):
    args = ARGUMENTS[kind]()
    info = executable.functions["main"]
    for ours, theirs in zip(Normalizer(info)(*args), normalize_arguments(info, *args), strict=True):
        assert isinstance(ours, np.ndarray) and np.array_equal(ours, theirs)
    x, y = (np.asarray(a.resolve_neg()) if isinstance(a, torch.Tensor) else a for a in args)
    assert np.array_equal(executable["main"](*args), x - y)


@pytest.mark.parametrize("kind", WRONG)
def test_errors_are_those_of_the_slower_way(executable, kind):
    args, info = WRONG[kind](), executable.functions["main"]
    errors = []
    for call in (lambda *a: normalize_arguments(info, *a), Normalizer(info), executable["main"]):
        with pytest.raises(ValueError if "rows" in kind else Exception) as caught:  # noqa: PT011 (compared below)
            call(*args)
        errors.append((type(caught.value), str(caught.value)))
    assert errors[0] == errors[1] == errors[2]
