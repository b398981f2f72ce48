"""`tvm.topi.tag`: the tags of tensors by what their operators do."""

from __future__ import annotations

ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"


def is_broadcast(tag: str) -> bool:
    """Return whether a tag is that of an operator that works element by element, perhaps with broadcasting."""
    return tag in (ELEMWISE, BROADCAST) or tag.startswith((f"{ELEMWISE},", f"{BROADCAST},"))


def is_injective(tag: str) -> bool:
    """Return whether a tag is that of an operator whose elements each come from one element of each operand."""
    return is_broadcast(tag) or tag == INJECTIVE or tag.startswith(f"{INJECTIVE},")


__all__ = ["BROADCAST", "COMM_REDUCE", "COMM_REDUCE_IDX", "ELEMWISE", "INJECTIVE", "is_broadcast", "is_injective"]
