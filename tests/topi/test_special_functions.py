"""Bessel functions, gamma functions, polynomials and digits of numbers, element by element, beside PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
from strength import thinned

from tirax.driver.build import build
from tirax.frontend.block_builder import BlockBuilder
from tirax.handles.relax.expr import Var
from tirax.handles.struct_info import TensorStructInfo
from tirax.interpreter import interpret
from tirax.topi import bessel, gamma, normal, number_parts
from tirax.topi.orthogonal import POLYNOMIALS

torch = pytest.importorskip("torch", reason="the functions that are compared with are PyTorch's")
special = torch.special
rng = np.random.default_rng(0)

WIDE = np.concatenate([np.linspace(-40, 60, 400), [0.0, 1e-9, 1e-3, 300.0, np.nan]])
POSITIVE = np.abs(WIDE[WIDE != 0])
SHAPES, PLACES = rng.uniform(0, 300, 300), rng.uniform(0, 300, 300)
EDGES = np.array([(0, 1), (1, 0), (1, np.inf), (np.inf, 1), (0, 0), (-1, 2), (2, -1), (5e4, 5.01e4)]).T
SHAPES, PLACES = (
    np.concatenate([SHAPES, SHAPES[:99], EDGES[0]]),
    np.concatenate([PLACES, SHAPES[:99] * rng.uniform(0.8, 1.2, 99), EDGES[1]]),
)
DEGREES, POINTS = np.arange(-1.0, 12).repeat(20), rng.uniform(-1.5, 1.5, 260)
TAILS = np.concatenate([rng.uniform(0, 1, 99), 10.0 ** -np.arange(1, 300, 7), [0, 0.5, 1, -1, 2]])
NUMBERS = np.array([1.0, -1, 0, -0.0, 5e-324, 2.5e-310, np.inf, -np.inf, np.nan, 3.7, -1e300])

CASES = {
    **{f"bessel_{n}": (getattr(bessel, f"bessel_{n}"), getattr(special, f"bessel_{n}"), [POSITIVE])
       for n in ("j0", "j1", "y0", "y1")},
    "bessel_j1 of both signs": (bessel.bessel_j1, special.bessel_j1, [WIDE]),
    **{f"bessel_{n}": (getattr(bessel, f"bessel_{n}"), getattr(special, n), [WIDE])
       for n in ("i0e", "i1e", "i0", "i1")},
    **{f"bessel_k{n}": (getattr(bessel, f"bessel_k{n}"), getattr(special, f"modified_bessel_k{n}"), [POSITIVE])
       for n in (0, 1)},
    **{f"bessel_k{n}e": (getattr(bessel, f"bessel_k{n}e"), getattr(special, f"scaled_modified_bessel_k{n}"), [POSITIVE])
       for n in (0, 1)},
    "airy_ai": (bessel.airy_ai, special.airy_ai, [WIDE[WIDE > -30]]),
    "spherical_bessel_j0": (bessel.spherical_bessel_j0, special.spherical_bessel_j0, [WIDE]),
    "igamma": (gamma.igamma, torch.igamma, [SHAPES, PLACES]),
    "igammac": (gamma.igammac, torch.igammac, [SHAPES, PLACES]),
    "zeta": (gamma.zeta, special.zeta, [np.r_[rng.uniform(1, 20, 200), 2, 1, 3, 2.5, 3],
                                       np.r_[rng.uniform(0, 30, 200), 0, 1, -1, -2, -0.5]]),
    **{f"polygamma_{n}": (gamma.polygamma(n), lambda x, n=n: torch.polygamma(n, x), [rng.uniform(-5, 30, 200)])
       for n in (1, 2, 5)},
    **{name: (POLYNOMIALS[name], getattr(special, name), [POINTS, DEGREES]) for name in POLYNOMIALS},
    "erfcx": (normal.erfcx, special.erfcx, [np.concatenate([WIDE[WIDE > -26], [1e9, np.inf, -np.inf]])]),
    "ndtri": (normal.ndtri, special.ndtri, [TAILS]),
    "gcd": (number_parts.gcd, torch.gcd, [rng.integers(-99, 99, 200), rng.integers(-99, 99, 200) // 3]),
    "nextafter": (number_parts.nextafter, torch.nextafter, [NUMBERS.repeat(len(NUMBERS)),
                                                            np.tile(NUMBERS, len(NUMBERS))]),
    "frexp_significand": (number_parts.frexp_significand, lambda x: torch.frexp(x)[0], [NUMBERS[:6]]),
    "frexp_exponent": (number_parts.frexp_exponent, lambda x: torch.frexp(x)[1], [NUMBERS[:6]]),
}  # fmt: skip


_LOOSE = {"bessel_j": 1e-6, "bessel_y": 1e-6, "airy_ai": 3e-5}
"""Of functions that PyTorch computes to six digits, far from the origin."""


def module_of(function, arrays):
    bb = BlockBuilder()
    params = [Var(f"x{i}", TensorStructInfo(a.shape, str(a.dtype))) for i, a in enumerate(arrays)]
    with bb.function("main", params):
        with bb.dataflow():
            result = bb.emit_output(bb.emit_te(function, *params))
        bb.emit_func_output(result)
    return bb.get()


@thinned("name", CASES, 9)
def test_functions_agree_with_pytorch(name):
    function, reference, arrays = CASES[name]
    expected = reference(*map(torch.tensor, arrays)).numpy()
    result = np.asarray(build(module_of(function, arrays))["main"](*arrays))
    assert result.dtype == expected.dtype
    near = _LOOSE.get(name[:8], 3e-9)
    np.testing.assert_allclose(result, expected, rtol=near, atol=near if expected.dtype.kind == "f" else 0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_signs_of_zeros_and_nan_are_signs(dtype):
    numbers = np.concatenate([NUMBERS, [np.copysign(np.nan, -1.0)]]).clip(-1e4, 1e4).astype(dtype)
    x, y = numbers.repeat(len(numbers)), np.tile(numbers, len(numbers))
    result = np.asarray(build(module_of(number_parts.copysign, [x, y]))["main"](x, y))
    np.testing.assert_array_equal(result, np.copysign(x, y))
    np.testing.assert_array_equal(np.signbit(result), np.signbit(y))
    negative = np.asarray(build(module_of(number_parts.signbit, [x]))["main"](x))
    np.testing.assert_array_equal(negative, np.signbit(x))


@pytest.mark.parametrize("name", ["bessel_y0", "igamma", "zeta", "laguerre_polynomial_l", "ndtri", "gcd", "nextafter"])
def test_the_interpreter_agrees(name):
    function, _, arrays = CASES[name]
    arrays = [a[:5] for a in arrays]
    mod = module_of(function, arrays)
    np.testing.assert_allclose(interpret(mod, "main", arrays), build(mod)["main"](*arrays), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_narrow_numbers_are_computed_in_double_precision(dtype):
    x = torch.linspace(-20, 20, 101).to(getattr(torch, dtype))
    arrays = [x.float().numpy().astype(dtype) if dtype != "bfloat16" else as_bfloat16(x)]
    result = build(module_of(bessel.bessel_j0, arrays))["main"](*arrays)
    expected = special.bessel_j0(x.double()).to(x.dtype).float().numpy()
    np.testing.assert_allclose(np.asarray(result).astype("float32"), expected, rtol=1e-6, atol=1e-6)


def as_bfloat16(x):
    from tirax.frontend.torch.tensors import array_of

    return array_of(x)
