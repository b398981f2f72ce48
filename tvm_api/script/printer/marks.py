"""What `script()` underlines and annotates: nodes, and paths from the printed object, as operations of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from xdsl.ir import Operation

from ....diagnostics import TiraxError
from ....dialects import relax, tir
from ....handles.base_func import BaseFunc
from ....handles.module import IRModule
from ....handles.object_path import ArrayIndexPath, AttributeAccessPath, MapValuePath, ObjectPath

_FUNCTIONS = (tir.FuncOp, relax.FuncOp)


def _at(root: Any, path: ObjectPath) -> Any:
    """Return the node at a path. Raises `TiraxError` for a step that no node has."""
    if path.parent is None:
        return root
    node = _at(root, path.parent)
    try:
        if isinstance(path, AttributeAccessPath):
            return getattr(node, path.step)
        if isinstance(path, ArrayIndexPath | MapValuePath):
            return node[path.step]
    except (AttributeError, IndexError, KeyError, TypeError, TiraxError) as error:
        raise TiraxError("the path leads nowhere", found=str(path)) from error
    raise TiraxError("a path leads by attributes, places and keys", found=str(path))


def _op_in(root: Operation, node: Any) -> Operation | None:
    """Return the operation of a node in the printed object; that of a copy of its function is at the same place."""
    op = node if isinstance(node, Operation) else getattr(node, "op", None)
    if not isinstance(op, Operation):
        return None
    top = op
    while isinstance(top.parent_op(), Operation) and not isinstance(top, _FUNCTIONS):
        top = top.parent_op() or top
    inside = list(root.walk())
    if any(each is op for each in inside):
        return op
    place = next((k for k, each in enumerate(top.walk()) if each is op), 0)
    count = sum(1 for _ in top.walk())
    for func in (each for each in inside if isinstance(each, _FUNCTIONS)):
        copies = list(func.walk())
        if len(copies) == count and type(copies[place]) is type(op):
            return copies[place]
    return None


def _ops_in(root: Operation, nodes: Iterable[Any]) -> list[Operation]:
    return [op for node in nodes if (op := _op_in(root, node)) is not None]


def _resolved(self: BaseFunc | IRModule, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with nodes and paths replaced by operations."""
    new = dict(options)
    paths: Iterable[ObjectPath] = new.pop("path_to_underline", None) or ()
    notes: Mapping[ObjectPath, str] = new.pop("path_to_annotate", None) or {}
    marked = [*(new.pop("obj_to_underline", None) or ()), *(_at(self, path) for path in paths)]
    remarks = [*(new.pop("obj_to_annotate", None) or {}).items(), *((_at(self, path), n) for path, n in notes.items())]
    if marked:
        new["obj_to_underline"] = _ops_in(self.op, marked)
        new["underline_all_lines"] = True
    if remarks:
        found = ((_op_in(self.op, node), note) for node, note in remarks)
        new["notes_at_line_ends"] = True
        new["obj_to_annotate"] = {op: note for op, note in found if op is not None}
    return new


def _with_marks(script: Callable[..., str]) -> Callable[..., str]:
    @wraps(script)
    def marked(self: Any, **options: Any) -> str:
        return script(self, **_resolved(self, options))

    return marked


def attach() -> None:
    """Let functions and modules take nodes and paths in the options of `script`."""
    for cls in (BaseFunc, IRModule):
        if not hasattr(cls.script, "__wrapped__"):
            cls.script = _with_marks(cls.script)


__all__ = ["attach"]
