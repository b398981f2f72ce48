"""Values that no file should have: integers, shapes, paths, others."""

from __future__ import annotations

INTEGERS = [0, 1, -1, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**70, 10**4000]
OTHERS = [None, True, 1.5, float("nan"), float("inf"), "4", "", "\ud800", "a\0b", [], {}, [[]], "x" * 300, "x" * 5000]
SHAPES = [
    *([n] for n in INTEGERS),
    *([0, n] for n in INTEGERS),
    *([n, n, n] for n in INTEGERS),
    [1] * 65,
    [0] * 65,
    [1] * 64,
]
VALUES = [*INTEGERS, *OTHERS, *SHAPES]

PATHS = [
    *("", ".", "..", "../file", "/etc/passwd", "pipe", "to_pipe", "loop", "directory", "nowhere", "a\0b"),
    *("x" * 5000, "x/" * 5000),
]
