"""Coefficients of the polynomials that `lowering/vector_math` evaluates: `python -m tirax.dev.minimax`.

Each is the polynomial of least weighted error on its interval, by Remez' exchange algorithm in decimal
arithmetic, with the lowest degree whose error is small relative to a unit in the last place. The
coefficients are then rounded to the format one by one, from the lowest; the remaining ones are refitted
each time to compensate for the rounding, and the best of all these roundings is kept. Writes
`coefficients.py` of `lowering/vector_math`; `--check` only compares the file with what would be written.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal as D
from decimal import localcontext
from pathlib import Path

DIGITS = 50
Function = Callable[[D], D]
PI = D("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707")
FORMATS = {"f32": 24, "f64": 53}
"""Element type -> bits of the significand."""


def _series(first: D, ratio: Callable[[int], D]) -> D:
    """Return first * (1 + ratio(1) + ratio(1) ratio(2) + …), summed until it converges."""
    term = total = first
    n = 0
    while True:
        n += 1
        term *= ratio(n)
        if total + term == total:
            return total
        total += term


def sin(x: D) -> D:
    return _series(x, lambda n: -x * x / (2 * n * (2 * n + 1)))


def cos(x: D) -> D:
    return _series(D(1), lambda n: -x * x / ((2 * n - 1) * 2 * n))


def sinh(x: D) -> D:
    return _series(x, lambda n: x * x / (2 * n * (2 * n + 1)))


def atan(x: D) -> D:
    """Euler's series, for |x| < 1."""
    return _series(x / (1 + x * x), lambda n: x * x / (1 + x * x) * 2 * n / (2 * n + 1))


def asin(x: D) -> D:
    return atan(x / (1 - x * x).sqrt())


def atanh(x: D) -> D:
    return ((1 + x) / (1 - x)).ln() / 2


def asinh(x: D) -> D:
    return (x + (x * x + 1).sqrt()).ln()


def acosh_by_root(t: D) -> D:
    """acosh(1 + t) / sqrt(2 t)"""
    return (1 + t + (t * (t + 2)).sqrt()).ln() / (2 * t).sqrt()


def erf(x: D) -> D:
    return 2 / PI.sqrt() * _series(x * (-x * x).exp(), lambda n: 2 * x * x / (2 * n + 1))


def erfcx(x: D) -> D:
    """exp(x²) erfc(x): by the series below 4, by the continued fraction above."""
    if x < 4:
        return (x * x).exp() * (1 - erf(x))
    tail = x
    for n in range(400, 0, -1):
        tail = x + D(n) / 2 / tail
    return 1 / (tail * PI.sqrt())


@dataclass(frozen=True)
class Fit:
    """The polynomial P of least max |(P(x) - value(x)) weight(x)| for x between low and high."""

    value: Function
    weight: Function
    low: D
    high: D
    meaning: str
    spare_bits: int = 4
    """How many bits smaller than a unit in the last place the error must be."""
    formats: tuple[str, ...] = ("f32", "f64")


def _odd(function: Function, high: D, meaning: str) -> Fit:
    """P of function(t) = t + t z P(z), z = t²."""

    def value(z: D) -> D:
        return (function(z.sqrt()) / z.sqrt() - 1) / z

    return Fit(value, lambda z: z.sqrt() * z / function(z.sqrt()), D(0), high, meaning)


_TAN_PI_8 = D(2).sqrt() - 1
_HALF_LN2 = D("0.3466")
_NEAR = D(1) / 32
ERFC_CENTRE = D(3)
GELU_CENTRE = D("2.5")
GELU_SHARE = D("0.98")
"""A factor between the two polynomials of gelu: the best of several, since it determines how coefficients round."""
_GELU_END = D("14.5")
_ERFC_END = {"f32": D("10.1"), "f64": D("27.3")}


def _t_of(q: D) -> D:
    return ERFC_CENTRE * (1 + q) / (1 - q)


def fits(element: str) -> dict[str, Fit]:
    """Return the functions to fit for an element type, by name."""
    every = {**_exponentials(), **_logarithms(), **_odd_functions(), **_error_functions(_ERFC_END[element]), **_gelu()}
    return {name: fit for name, fit in every.items() if element in fit.formats}


def _exponentials() -> dict[str, Fit]:
    ln2 = D(2).ln()
    two_to_r = Fit(
        lambda r: ((r * ln2).exp() - 1) / r,
        lambda r: r / (r * ln2).exp(),
        D("-0.5"),
        D("0.5"),
        "2^r = 1 + r P(r)",
    )
    return {
        "EXP": Fit(
            lambda r: (r.exp() - 1 - r) / (r * r),
            lambda r: r * r / r.exp(),
            -_HALF_LN2,
            _HALF_LN2,
            "exp(r) = 1 + r + r² P(r)",
        ),
        "EXPM1": Fit(
            lambda r: (r.exp() - 1 - r) / (r * r),
            lambda r: r * r / (r.exp() - 1),
            -_HALF_LN2,
            _HALF_LN2,
            "exp(r) - 1 = r + r² P(r)",
        ),
        "EXP2": two_to_r,
        "EXP2_FOR_F32": replace(two_to_r, spare_bits=-22, formats=("f64",)),
        "EXP2_SHORT": Fit(
            lambda r: GELU_SHARE * D(2) ** r,
            lambda r: D(2) ** -r / GELU_SHARE,
            D("-0.5"),
            D("0.5"),
            f"{GELU_SHARE} 2^r = P(r)",
            spare_bits=-1,
            formats=("f32",),
        ),
        "EXP2_NEAR": replace(two_to_r, low=-_NEAR, high=_NEAR, formats=("f32",)),
    }


def _logarithms() -> dict[str, Fit]:
    log = _odd(atanh, D("0.029438"), "log((1 + s) / (1 - s)) = 2 (s + s z P(z)), z = s²")
    return {
        "LOG1P": Fit(
            lambda f: ((1 + f).ln() - f + f * f / 2) / (f * f * f),
            lambda f: f * f * f / (1 + f).ln(),
            D("0.5").sqrt() - 1,
            D(2).sqrt() - 1,
            "log(1 + f) = f - f² / 2 + f³ P(f)",
            formats=("f32",),
        ),
        "LOG_NEAR": Fit(
            lambda r: ((1 + r).ln() - r + r * r / 2) / (r * r * r),
            lambda r: r * r * r / (1 + r).ln(),
            -_NEAR,
            _NEAR,
            "log(1 + r) = r - r² / 2 + r³ P(r)",
            spare_bits=12,
            formats=("f32",),
        ),
        "LOG2_NEAR": Fit(
            lambda r: ((1 + r).ln() - r) / (r * r * D(2).ln()),
            lambda r: r * r * D(2).ln() / (1 + r).ln(),
            -_NEAR,
            _NEAR,
            "log2(1 + r) = r log2(e) + r² P(r)",
            formats=("f32",),
        ),
        "LOG": replace(log, formats=("f64",)),
        "LOG_FOR_F32": replace(log, spare_bits=-17, formats=("f64",)),
        "LOG5": Fit(
            lambda z: ((atanh(z.sqrt()) / z.sqrt() - 1) / z - D(1) / 3) / z,
            lambda z: z.sqrt() * z * z / atanh(z.sqrt()),
            D(0),
            D("0.029438"),
            "the same: 2 (s + s z / 3 + s z² P(z))",
            spare_bits=15,
            formats=("f64",),
        ),
    }


def _odd_functions() -> dict[str, Fit]:
    """Return the fits of odd functions, and of the cosine."""
    return {
        "SIN": _odd(sin, D("0.6169"), "sin(r) = r + r z P(z), z = r²"),
        "COS": Fit(
            lambda z: (cos(z.sqrt()) - 1 + z / 2) / (z * z),
            lambda z: z * z / cos(z.sqrt()),
            D(0),
            D("0.6169"),
            "cos(r) = 1 - z / 2 + z² P(z), z = r²",
        ),
        "ATAN": _odd(atan, _TAN_PI_8**2, "atan(t) = t + t z P(z), z = t²"),
        "ASIN": _odd(asin, D("0.25"), "asin(t) = t + t z P(z), z = t²"),
        "SINH": _odd(sinh, D(1), "sinh(t) = t + t z P(z), z = t²"),
        "ASINH": replace(_odd(asinh, D("1.382"), "asinh(t) = t + t z P(z), z = t²"), formats=("f32",)),
        "ATANH": replace(_odd(atanh, D("0.25"), "atanh(t) = t + t z P(z), z = t²"), formats=("f32",)),
        "ACOSH": Fit(
            lambda t: (acosh_by_root(t) - 1) / t,
            lambda t: t / acosh_by_root(t),
            D(0),
            D(1),
            "acosh(1 + t) = s + s t P(t), s = sqrt(2 t)",
            formats=("f32",),
        ),
    }


def _error_functions(end: D) -> dict[str, Fit]:
    """Return the fits of erf, and of erfc up to `end`."""
    return {
        "ERF": Fit(
            lambda z: erf(z.sqrt()) / z.sqrt() - 1,
            lambda z: z.sqrt() / erf(z.sqrt()),
            D(0),
            D("0.7657"),
            "erf(t) = t + t P(z), z = t²",
        ),
        "ERFC": Fit(
            lambda q: erfcx(_t_of(q)) * (_t_of(q) + ERFC_CENTRE),
            lambda q: 1 / (erfcx(_t_of(q)) * (_t_of(q) + ERFC_CENTRE)),
            D(-1),
            (end - ERFC_CENTRE) / (end + ERFC_CENTRE),
            f"erfc(t) = exp(-t²) P(q) / (t + {ERFC_CENTRE}), q = (t - {ERFC_CENTRE}) / (t + {ERFC_CENTRE})",
        ),
    }


def _above(q: D) -> D:
    """(t + 2.5) exp(t²/2) / 0.98 times the tail of the normal distribution above t, q = (t - 2.5) / (t + 2.5)."""
    t = GELU_CENTRE * (1 + q) / (1 - q)
    return (t + GELU_CENTRE) * erfcx(t / D(2).sqrt()) / 2 / GELU_SHARE


def _weight_above(q: D) -> D:
    """Return a weight that decreases further out, where the rounding of t² dominates."""
    t = GELU_CENTRE * (1 + q) / (1 - q)
    return 1 / _above(q) / (1 + t * t / 3)


def _gelu() -> dict[str, Fit]:
    return {
        "GELU": Fit(
            _above,
            _weight_above,
            D(-1),
            (_GELU_END - GELU_CENTRE) / (_GELU_END + GELU_CENTRE),
            f"Q(t) = {GELU_SHARE} exp(-t²/2) P(q) / (t + {GELU_CENTRE}), the error divided by 1 + t²/3",
            spare_bits=0,
            formats=("f32",),
        ),
    }


@dataclass(frozen=True)
class _Point:
    x: D
    value: D
    weight: D


def _grid(fit: Fit, count: int) -> list[_Point]:
    """Return Chebyshev points, which avoid the ends and the middle."""
    middle, half = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2
    xs = (middle - half * cos(PI * (2 * i + 1) / (2 * count)) for i in range(count))
    return [_Point(x, fit.value(x), fit.weight(x)) for x in xs]


def _solve(rows: list[list[D]]) -> list[D]:
    """Solve a linear system by Gaussian elimination with pivoting; each row ends with its right-hand side."""
    n = len(rows)
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    solution = [D(0)] * n
    for i in reversed(range(n)):
        rest = sum((rows[i][j] * solution[j] for j in range(i + 1, n)), D(0))
        solution[i] = (rows[i][n] - rest) / rows[i][i]
    return solution


def _horner(coefficients: Sequence[D], x: D) -> D:
    total = D(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def _alternation(errors: list[D], count: int) -> list[int]:
    """Return the indices of `count` extrema of the error with alternating signs."""
    places: list[int] = []
    for i, e in enumerate(errors):
        if places and (errors[places[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[places[-1]]):
                places[-1] = i
        else:
            places.append(i)
    while len(places) > count:
        places.pop(0 if abs(errors[places[0]]) < abs(errors[places[-1]]) else -1)
    return places


def remez(grid: list[_Point], fixed: Sequence[D], degree: int) -> tuple[list[D], D]:
    """Return (coefficients, error) of the best polynomial of a degree whose lowest coefficients are `fixed`."""
    free = degree + 1 - len(fixed)
    step = (len(grid) - 1) / free
    places = [round(i * step) for i in range(free + 1)]
    best: tuple[list[D], D] = ([], D("Infinity"))
    for _ in range(20):
        rows: list[list[D]] = []
        for sign, at in enumerate(places):
            p = grid[at]
            powers = [p.x**k * p.weight for k in range(len(fixed), degree + 1)]
            rows.append([*powers, D((-1) ** sign), (p.value - _horner(fixed, p.x)) * p.weight])
        *fitted, level = _solve(rows)
        coefficients = [*fixed, *fitted]
        errors = [(_horner(coefficients, p.x) - p.value) * p.weight for p in grid]
        worst = max(map(abs, errors))
        if worst < best[1]:
            best = (coefficients, worst)
        following = _alternation(errors, free + 1)
        if worst <= abs(level) * D("1.001") or len(following) < free + 1:
            break
        places = following
    return best


def _rounded(value: D, bits: int) -> D:
    return D(struct.unpack("f", struct.pack("f", float(value)))[0] if bits == 24 else float(value))


def fit_coefficients(fit: Fit, bits: int) -> tuple[list[D], D]:
    """Return (coefficients rounded to the format, error), lowest degree first."""
    with localcontext() as context:
        context.prec = DIGITS
        goal = D(2) ** -(bits + fit.spare_bits)
        degree, error = 1, D(1)
        grid: list[_Point] = []
        while error > goal:
            degree += 1
            grid = _grid(fit, 16 * (degree + 2))
            error = remez(grid, (), degree)[1]
        return min(
            (_round_all(c, grid, bits) for c in _successive(grid, degree, bits)), key=lambda candidate: candidate[1]
        )


def _successive(grid: list[_Point], degree: int, bits: int) -> Generator[list[D]]:
    """Yield the best coefficients with none, one, two, … of the lowest rounded."""
    coefficients = remez(grid, (), degree)[0]
    yield coefficients
    for i in range(degree):
        fixed = [_rounded(c, bits) for c in coefficients[: i + 1]]
        coefficients = remez(grid, fixed, degree)[0]
        yield coefficients


def _round_all(coefficients: list[D], grid: list[_Point], bits: int) -> tuple[list[D], D]:
    """Return (coefficients rounded to the format, their error)."""
    rounded = [_rounded(c, bits) for c in coefficients]
    return rounded, max(abs((_horner(rounded, p.x) - p.value) * p.weight) for p in grid)


def table(element: str, name: str) -> str:
    """Return the rows of one polynomial in the generated file."""
    fit, bits = fits(element)[name], FORMATS[element]
    coefficients, error = fit_coefficients(fit, bits)
    about = f"{fit.meaning}; {fit.low:.4f} to {fit.high:.4f}, error {error * D(2) ** bits:.3f} * 2^-{bits}"
    lines = [f"    # {about}", f'    "{name}": (', *(f"        {float(c)!r}," for c in coefficients), "    ),"]
    return "\n".join(lines) + "\n"


HEADER = '''"""Coefficients of polynomials, the lowest first; written by `python -m tirax.dev.minimax`."""

'''


def generated() -> str:
    """Return the text of the coefficients file."""
    parts = [HEADER.rstrip("\n") + "\n"]
    for element in FORMATS:
        rows = "".join(table(element, name) for name in fits(element))
        parts.append(f"{element.upper()}: dict[str, tuple[float, ...]] = {{\n{rows}}}\n")
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 1 if `--check` finds a difference."""
    parser = argparse.ArgumentParser(prog="python -m tirax.dev.minimax", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the file is as it should be")
    path = Path(__file__).parents[1] / "lowering" / "vector_math" / "coefficients.py"
    text = generated()
    if parser.parse_args(arguments).check:
        return int(path.read_text() != text)
    path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
