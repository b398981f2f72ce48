"""Arithmetic whose results depend on the last digit, beside PyTorch: one program of each dtype has all of it."""

import math
from itertools import product

import pytest

torch = pytest.importorskip("torch")

from tirax.driver.build import build  # noqa: E402
from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402
from tirax.frontend.torch.fx import from_fx  # noqa: E402
from tirax.frontend.torch.fx_as_tvm import from_fx as from_fx_as_tvm  # noqa: E402

NUMBERS = [0.0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 0.1, 1 / 3, 3, 6, 7, 100, 1e4, -1e4, math.inf, -math.inf, math.nan]
INTEGERS = [-(2**31), -(2**31) + 1, -7, -1, 0, 1, 2, 3, 7, 100, 2**31 - 1]
BOUNDS = [(2.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (0.0, math.nan), (None, 1.0), (1.0, None), (3, -math.inf)]
DIVISIONS = {
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "floor_divide": torch.floor_divide,
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
}
SCALARS = (0.1, -0.1, 3, math.inf)


def pairs(numbers, dtype):
    """Each number beside each."""
    x, y = torch.tensor(list(product(numbers, repeat=2)), dtype=torch.float64).T
    return x.to(dtype).contiguous(), y.to(dtype).contiguous()


class Several(torch.nn.Module):
    """What each of some functions of the same arguments gives."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, *args):
        return tuple(function(*args) for function in self.functions.values())


def check(functions, *args, dynamic_shapes=None, rtol=0):
    """The program gives what PyTorch gives, with its dtypes; signs of zeros are not compared."""
    model = Several(functions)
    program = from_exported_program(torch.export.export(model, args, dynamic_shapes=dynamic_shapes))
    results = build(program, opt_level=1).jit()["main"](*(a.clone() for a in args))
    for name, got, expected in zip(functions, results, model(*args), strict=True):
        torch.testing.assert_close(torch.from_dlpack(got), expected, rtol=rtol, atol=0, equal_nan=True, msg=name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_divisions_of_floats(dtype):
    scalars = {f"{n} {s}": (lambda x, y, f=f, s=s: f(x, s)) for n, f in DIVISIONS.items() for s in SCALARS}
    reflected = {"5 %": lambda x, y: 5.0 % x, "5 //": lambda x, y: 5.0 // x}
    check(DIVISIONS | scalars | reflected, *pairs(NUMBERS, dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_divisions_of_floats_of_16_bits(dtype):
    """PyTorch rounds the remainder of a rounded quotient of float16 first: it may be off by a unit."""
    check(DIVISIONS, *pairs(NUMBERS, dtype), rtol=2**-10 if dtype == torch.float16 else 0)


def test_divisions_of_integers():
    x, y = (v.to(torch.int64) for v in pairs(INTEGERS, torch.float64))
    keep = (y != 0) & ((x != INTEGERS[0]) | (y != -1))
    check(DIVISIONS, x[keep].to(torch.int32), y[keep].to(torch.int32))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_upper_bound_of_a_clamp_is_the_stronger(dtype):
    constant = {f"{a}, {b}": (lambda x, y, a=a, b=b: torch.clamp(x, a, b)) for a, b in BOUNDS}
    tensors = {
        "y, -y": lambda x, y: torch.clamp(x, y, -y),
        "min y": lambda x, y: torch.clamp(x, min=y),
        "of rank 0": lambda x, y: torch.clamp(x, torch.tensor(2.0, dtype=dtype), torch.tensor(1.0, dtype=dtype)),
    }
    check(constant | tensors, *pairs(NUMBERS, dtype))


def test_clamp_of_integers():
    bounds = [(2, 1), (-1, 5), (-1.5, 2.5), (3.7, 1.2), (None, 2), (2**31 - 1, None)]
    functions = {f"{a}, {b}": (lambda x, a=a, b=b: torch.clamp(x, a, b)) for a, b in bounds}
    check(functions, torch.tensor(INTEGERS, dtype=torch.int32))


def test_a_size_is_a_bound():
    functions = {"size": lambda x: torch.clamp(x, x.size(0) - 1, 1)}
    check(functions, torch.tensor(NUMBERS), dynamic_shapes={"args": ({0: torch.export.Dim("n", min=2)},)})


@pytest.mark.filterwarnings("ignore::tirax.frontend.torch.fx_as_tvm.TvmDifference")
@pytest.mark.parametrize("importer", [from_fx, from_fx_as_tvm])
def test_clamps_of_fx(importer):
    class Clamps(torch.nn.Module):
        def forward(self, x):
            return torch.clamp(x, 2.0, 1.0)

    x = torch.tensor(NUMBERS)
    program = importer(torch.fx.symbolic_trace(Clamps()), [((len(x),), "float32")])
    got = torch.from_dlpack(build(program, opt_level=1).jit()["main"](x.clone()))
    torch.testing.assert_close(got, Clamps()(x), rtol=0, atol=0, equal_nan=True)


def test_erfc_keeps_the_digits_of_its_tail():
    for dtype, bound in ((torch.float32, 1e-6), (torch.float64, 1e-14)):
        x = torch.tensor([-9, -1, 0, 0.5, 1.5, 2.5, 3, 7, 9, math.inf], dtype=dtype)
        program = from_exported_program(torch.export.export(Several({"erfc": torch.erfc}), (x,)))
        (got,) = build(program, opt_level=1).jit()["main"](x.clone())
        torch.testing.assert_close(torch.from_dlpack(got), torch.erfc(x), rtol=bound, atol=0)
