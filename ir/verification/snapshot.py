"""Detection of changes to an operation and everything inside it: `Snapshot`."""

from __future__ import annotations

from operator import attrgetter

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

_OP = attrgetter("_operands", "results", "_next_op", "regions", "_successors")
"""The contents of an operation except attributes and result types. Its tuples are replaced when they change."""

_PROPERTIES = attrgetter("properties")
_ATTRIBUTES = attrgetter("attributes")
_BLOCK = attrgetter("_args", "_first_op", "_next_block")
_REGION = attrgetter("_first_block")
_TYPE = attrgetter("_type")


class Snapshot:
    """The state of an operation and everything inside it at creation time.

    It holds references to what it compares, so that an `id` cannot be reused. Comparing takes half a microsecond for
    each operation: identical objects compare equal at once, and the loops run inside Python's builtins.
    """

    def __init__(self, root: Operation):
        self.ops = [root]
        """Each before those inside of it."""
        self._regions: list[Region] = []
        self._blocks: list[Block] = []
        self._collect(root)
        self._values: list[SSAValue] = [result for op in self.ops for result in op.results]
        self._values += [argument for block in self._blocks for argument in block.args]
        self._types = list(map(_TYPE, self._values))
        self._contents = list(map(_OP, self.ops))
        self._properties = [op.properties.copy() for op in self.ops]
        self._attributes = [op.attributes.copy() if op.attributes else _NOTHING for op in self.ops]
        self._order = list(map(_BLOCK, self._blocks)), list(map(_REGION, self._regions))

    def _collect(self, op: Operation) -> None:
        add = self.ops.append
        for region in op.regions:
            self._regions.append(region)
            block = region.first_block
            while block is not None:
                self._blocks.append(block)
                inner = block.first_op
                while inner is not None:
                    add(inner)
                    if inner.regions:
                        self._collect(inner)
                    inner = inner._next_op
                block = block.next_block

    def holds(self) -> bool:
        """Return whether nothing has changed: the same ops are reached in the same way."""
        return (
            (list(map(_BLOCK, self._blocks)), list(map(_REGION, self._regions))) == self._order
            and list(map(_TYPE, self._values)) == self._types
            and list(map(_OP, self.ops)) == self._contents
            and list(map(_PROPERTIES, self.ops)) == self._properties
            and list(map(_ATTRIBUTES, self.ops)) == self._attributes
        )


_NOTHING: dict[str, Attribute] = {}
