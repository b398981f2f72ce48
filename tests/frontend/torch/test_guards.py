"""Programs traced for some sizes only: a call computes what PyTorch computes, or is refused as PyTorch refuses it."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="models are PyTorch's")

import tirax  # noqa: E402
from tirax.diagnostics import ShapeError, UnsupportedError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")


class Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def branch(condition):
    return lambda x: x * 2 if condition(x.shape[1]) else x + 1


FUNCTIONS = {
    "a part of a size": lambda x: torch.arange(int(x.shape[1] * 0.5)) + x.sum(),
    "a quarter, rounded down": lambda x: torch.arange(int(x.shape[1] * 0.25)) + x.sum(),
    "chunks": lambda x: torch.stack([c.sum() for c in x.chunk(3, dim=1)]),
    "a size that is even": branch(lambda n: n % 2 == 0),
    "a size below another": lambda x: x * 2 if x.shape[1] < 8 else x + 1,
    "two conditions": branch(lambda n: 4 < n <= 9),
    "either of two": branch(lambda n: n < 3 or n > 5),
    "a half compared": branch(lambda n: n / 2 > 2.5),
    "a floor of a quotient": branch(lambda n: n // 3 == 2),
    "an extremum": branch(lambda n: max(n, 5) == n),
    "a decomposed operator beside it": lambda x: torch.addcmul(x, x, x) * 2 if x.shape[1] != 7 else x,
}


def compiled(function):
    program = torch.export.export(
        Model(function), (torch.ones(2, 6),), dynamic_shapes={"x": {1: torch.export.Dim.AUTO}}
    )
    return program, tirax.compile(program)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_call_is_silently_wrong(name):
    function = FUNCTIONS[name]
    program, f = compiled(function)
    checked = program.module()
    compared = refused = 0
    for size in (2, 3, 4, 5, 6, 7, 8, 9, 12, 13):
        x = torch.arange(2.0 * size).reshape(2, size)
        try:
            expected = checked(x)
        except (AssertionError, RuntimeError):
            refused += 1
            with pytest.raises(ShapeError):
                f(x)
            continue
        torch.testing.assert_close(expected, function(x))
        torch.testing.assert_close(f(x), expected)
        compared += 1
    assert compared and compared + refused == 10


def test_a_condition_that_is_not_understood_is_an_error():
    program = torch.export.export(
        Model(lambda x: x + 1), (torch.ones(2, 6),), dynamic_shapes=({1: torch.export.Dim("n")},)
    )
    for code in ("math.sqrt(L['x'].size()[1]) < 3", "L['y'].size()[0] == 2", "0.7 * L['x'].size()[1] == 119"):
        program._guards_code = [code]
        with pytest.raises(UnsupportedError, match="not understood") as raised:
            tirax.compile(program)
        assert code in str(raised.value)
    program._guards_code = ["L['x'].dtype == torch.float32"]  # of no size: the signature checks it
    assert tirax.compile(program)(torch.ones(2, 9)).shape == (2, 9)


class Several(torch.nn.Module):
    def forward(self, a, *others, named):
        return a.sum() + others[1].reshape(-1, 2) + named["pair"][0].sum()


def test_conditions_on_nested_and_variadic_arguments():
    def arguments(n):
        return (torch.ones(2), torch.ones(3), torch.arange(float(n))), {"named": {"pair": [torch.ones(n)]}}

    dim = 2 * torch.export.Dim("n")
    shapes = {"a": None, "others": (None, {0: dim}), "named": {"pair": [{0: dim}]}}
    args, kwargs = arguments(6)
    f = tirax.compile(torch.export.export(Several(), args, kwargs, dynamic_shapes=shapes))
    for n in (4, 6, 10):
        args, kwargs = arguments(n)
        torch.testing.assert_close(f(*args, **kwargs), Several()(*args, **kwargs))
    args, kwargs = arguments(7)
    with pytest.raises(ShapeError):
        f(*args, **kwargs)
