"""Errors of importers: what is wrong with a model, and at which node."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnostics import SourceLocation, TiraxError, UnsupportedError


class ModelError(TiraxError, ValueError):
    """A model that is damaged, inconsistent or unreadable.

    `node` is the name of the faulty node of the graph, or None for the model as a whole.
    """

    def __init__(
        self,
        message: str,
        *,
        node: str | None = None,
        location: SourceLocation | None = None,
        expected: object = None,
        found: object = None,
        hint: str | None = None,
        notes: Sequence[str] = (),
    ):
        self.node = node
        text = message if node is None else f"{message} (node '{node}')"
        super().__init__(text, location=location, expected=expected, found=found, hint=hint, notes=notes)


class UnsupportedOperators(ModelError, UnsupportedError):
    """A model with unsupported operators: each is listed in a note, with its places.

    `operators` are their names, sorted.
    """

    def __init__(self, operators: Sequence[str], notes: Sequence[str], hint: str | None = None):
        self.operators = tuple(sorted(operators))
        count = len(self.operators)
        what = "an operator has" if count == 1 else f"{count} operators have"
        super().__init__(f"{what} no converter: {', '.join(self.operators)}", hint=hint, notes=notes)


class NotInferred(ModelError):
    """A rank, shape or data type must be known at import but is not; the model may still be valid."""


class InputError(ModelError):
    """An argument of an importer does not match the model: an unknown input, or a wrong shape or dtype."""
