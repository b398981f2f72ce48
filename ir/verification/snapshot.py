"""Whether an operation, and all inside of it, is as it was: `Snapshot`."""

from __future__ import annotations

from operator import attrgetter

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

_OP = attrgetter("_operands", "results", "_next_op", "regions", "_successors")
"""What an operation is but for attributes and the types of results. Its tuples are new ones where they change."""

_PROPERTIES = attrgetter("properties")
_ATTRIBUTES = attrgetter("attributes")
_BLOCK = attrgetter("_args", "_first_op", "_next_block")
_REGION = attrgetter("_first_block")
_TYPE = attrgetter("_type")


class Snapshot:
    """An operation and all inside of it, as it was when this was made.

    It holds what it compares, so that nothing else can have the `id` of one of its operations. Comparing takes half a
    microsecond an operation: the same objects are equal without a look, and the loops are Python's own.
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
        """Whether all is as it was: then the same ops are reached, by the same ways."""
        return (
            (list(map(_BLOCK, self._blocks)), list(map(_REGION, self._regions))) == self._order
            and list(map(_TYPE, self._values)) == self._types
            and list(map(_OP, self.ops)) == self._contents
            and list(map(_PROPERTIES, self.ops)) == self._properties
            and list(map(_ATTRIBUTES, self.ops)) == self._attributes
        )


_NOTHING: dict[str, Attribute] = {}
