"""A roofline plot: speed of kernels over their operations per byte, below the limits of the machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from .limits import Limits
from .rows import Row

_WIDTH, _HEIGHT = 900, 560
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 250, 40, 60
_LABELS = 12
"""Number of kernels labeled beside the plot, the slowest ones."""
_STYLE = (
    "text{font:12px sans-serif;fill:#333}.grid{stroke:#ddd}.roof{stroke:#06c;fill:none;stroke-width:2}"
    ".dot{fill:#d62728;fill-opacity:.6;stroke:#900}"
)


@dataclass(frozen=True)
class _Axes:
    """Logarithmic axes: powers of ten from the lower to the upper one, `x` in operations per byte, `y` per second."""

    x: tuple[int, int]
    y: tuple[int, int]

    def at(self, intensity: float, speed: float) -> tuple[float, float]:
        """Return a point in pixels, clamped to the edge if it lies outside."""
        width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return _LEFT + width * _part(intensity, *self.x), _HEIGHT - _BOTTOM - height * _part(speed, *self.y)


def _part(value: float, low: int, high: int) -> float:
    return min(1.0, max(0.0, (math.log10(value) - low) / (high - low)))


def roofline(title: str, rows: Sequence[Row], limits: Limits) -> str:
    """Return the plot as SVG; the area of a dot is the kernel's share of the time."""
    rows = [row for row in rows if row.operations and row.bytes and row.seconds]
    axes = _axes(limits, rows)
    body = [*_grid(axes), *_roofs(limits, axes), *_dots(axes, rows)]
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    white = '<rect width="100%" height="100%" fill="#fff"/>'
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', f"<style>{_STYLE}</style>", white]
    return "\n".join([*head, _text(_LEFT, 22, title), *body, "</svg>"])


def _axes(limits: Limits, rows: Sequence[Row]) -> _Axes:
    ridge = [limits.operations / speed for _, speed in limits.bandwidth]
    intensities = [_intensity(row) for row in rows] + [min(ridge) / 10, max(ridge) * 10]
    speeds = [_speed(row) for row in rows] + [limits.operations * 1.5, limits.operations / 1e3]
    return _Axes(_decades(intensities), _decades(speeds))


def _decades(values: list[float]) -> tuple[int, int]:
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))


def _intensity(row: Row) -> float:
    return (row.operations or 0) / (row.bytes or 1)


def _speed(row: Row) -> float:
    return (row.operations or 0) / row.seconds


def _grid(axes: _Axes) -> Iterator[str]:
    bottom, right = 10.0 ** axes.y[0], 10.0 ** axes.x[1]
    for power in range(axes.x[0], axes.x[1] + 1):
        x, y = axes.at(10.0**power, bottom)
        yield _line("grid", x, _TOP, x, y)
        yield _text(x, y + 18, _power(power), "middle")
    for power in range(axes.y[0], axes.y[1] + 1):
        x, y = axes.at(right, 10.0**power)
        yield _line("grid", _LEFT, y, x, y)
        yield _text(_LEFT - 8, y + 4, _power(power - 9), "end")
    yield _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, "operations a byte", "middle")
    yield _text(_LEFT - 60, _TOP - 12, "GFLOP/s")


def _roofs(limits: Limits, axes: _Axes) -> Iterator[str]:
    """Yield a line for each level of memory: its slope up to the compute limit, then flat."""
    for speed, size in {speed: size for size, speed in limits.bandwidth}.items():
        low = max(10.0 ** axes.x[0], 10.0 ** axes.y[0] / speed)
        points = [(low, low * speed), (limits.operations / speed, limits.operations)]
        corners = [axes.at(*point) for point in (*points, (10.0 ** axes.x[1], limits.operations))]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        title = f"<title>up to {size} bytes: {speed / 1e9:.0f} GB/s</title>"
        yield f'<polyline class="roof" points="{path}">{title}</polyline>'
        (x, y), (x1, y1) = corners[:2]
        yield _text(x + (x1 - x) * 0.3, y + (y1 - y) * 0.3 - 6, f"{speed / 1e9:.0f} GB/s", "end")
    x, y = axes.at(10.0 ** axes.x[1], limits.operations)
    yield _text(x, y - 6, f"{limits.operations / 1e9:.0f} GFLOP/s", "end")


def _dots(axes: _Axes, rows: Sequence[Row]) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        x, y = axes.at(_intensity(row), _speed(row))
        radius = 4 + 16 * math.sqrt(row.share)
        title = escape(f"{row.name}: {row.share:.1%}, {_speed(row) / 1e9:.3g} GFLOP/s, {row.place}")
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{title}</title></circle>'
        if number <= _LABELS:
            yield _text(x, y + 4, str(number), "middle")
            name = row.name if len(row.name) < 28 else row.name[:26] + "…"
            yield _text(_WIDTH - _RIGHT + 16, _TOP + 18 * number, f"{number}  {name} {row.share:.0%}")


def _line(kind: str, x: float, y: float, x1: float, y1: float) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _power(power: int) -> str:
    return f"{10.0**power:g}"
