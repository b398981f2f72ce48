"""Random programs as hypothesis strategies: hypothesis makes the choices, the generators are those of the fuzzers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from tirax.dev.fuzz.operator_programs import operator_program
from tirax.dev.fuzz.relax_programs import relax_program
from tirax.dev.fuzz.tensor_programs import tensor_program


@dataclass(frozen=True)
class Program:
    """A module that is shown as text where a test fails: by its fields it would be gigabytes, as values are shared."""

    module: ModuleOp

    def __repr__(self) -> str:
        return f"\n{self.module}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def _strategy(generate: Callable[..., ModuleOp], **options: Any) -> st.SearchStrategy[Program]:
    return st.randoms(use_true_random=False).map(lambda rng: Program(generate(rng, **options)))


def programs(**options: Any) -> st.SearchStrategy[Program]:
    """Relax modules with a public function `main`; options of `relax_program`."""
    return _strategy(relax_program, **options)


def operator_programs(**options: Any) -> st.SearchStrategy[Program]:
    """Relax modules whose `main` computes several operators; options of `operator_program`."""
    return _strategy(operator_program, **options)


def tensor_programs(**options: Any) -> st.SearchStrategy[Program]:
    """Modules with one tensor function, `main`; options of `tensor_program`."""
    return _strategy(tensor_program, **options)
