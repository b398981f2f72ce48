"""Where a builder inserts bindings: scopes, and those that are open until they are closed."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import relax
from .expr import Var


@dataclass
class Scope:
    """The insertion point of bindings: a block, inside or outside a dataflow block, with the outputs so far."""

    block: Block
    dataflow: relax.DataflowOp | None = None
    outputs: list[tuple[SSAValue, Var]] = field(default_factory=list[tuple[SSAValue, Var]])
    first: Operation | None = None
    """The op before the current binding block; None at the start of the block."""
    detached: bool = False
    """True if it belongs to no function: blocks of bindings may be built on their own."""


class OpenScope:
    """A scope opened by `Builder.begin_scope`; as a context manager it returns its block and closes at the end."""

    def __init__(self, scopes: list[Scope], block: Block):
        self._scopes = scopes
        self._depth = len(scopes)
        self.block = block
        self.is_open = True
        scopes.append(Scope(block))

    def close(self) -> None:
        """Close the scope, and those opened inside it."""
        self.is_open = False
        del self._scopes[self._depth :]

    def __enter__(self) -> Block:
        return self.block

    def __exit__(self, *_: object) -> None:
        self.close()


class PendingOutput(Var):
    """An output of a dataflow block under construction: the inner value until the block ends."""

    __slots__ = ("_name",)

    def __init__(self, inner: SSAValue, name: str):
        self._name = name
        self.point_at(inner)

    @property
    def name_hint(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return self._name
