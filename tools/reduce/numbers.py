"""Reductions of numbers: extents and constants, each replaced everywhere at once."""

from __future__ import annotations

import re
from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from ...ir.verification.verify import Verifier
from ...script.mlir_text import parse_mlir
from .search import ReductionRule

_NUMBER = re.compile(r"(?<![\w.%@#!\"+-])\d+(?![\w.])")
_MAX_TEXT = 1 << 20
"""Limit on the characters of a program; the numbers of longer ones, which have large constants, are kept."""


def _numbers(module: ModuleOp, above: int) -> list[int]:
    """Return the integers of the text that are larger than `above`, largest first."""
    text = str(module)
    return (
        sorted({n for n in map(int, _NUMBER.findall(text)) if n > above}, reverse=True) if len(text) < _MAX_TEXT else []
    )


def _lowered(above: int, lower: Callable[[int], int]) -> ReductionRule[ModuleOp]:
    def smaller(module: ModuleOp, start: int, _size: int) -> ModuleOp | None:
        old = _numbers(module, above)[start]
        new = str(lower(old))
        text = _NUMBER.sub(lambda match: new if int(match[0]) == old else match[0], str(module))
        try:
            changed = parse_mlir(text)
            Verifier().verify(changed)
        except DiagnosticException:
            return None
        return changed

    return ReductionRule(lambda module: len(_numbers(module, above)), smaller, runs=False)


RULES: tuple[ReductionRule[ModuleOp], ...] = (
    _lowered(1, lambda value: 1),
    _lowered(2, lambda value: 2),
    _lowered(4, lambda value: value // 2),
)
