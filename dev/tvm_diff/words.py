"""TVM 0.27's words for what TVM 0.20 writes, both ways, and texts without the names of local variables."""

from __future__ import annotations

import ast
import re

_NEWER = (
    (r"(?m)^from tvm.*$", ""),
    (r"@T\.prim_func(\(private=True\))?", r"@T.prim_func(s_tir=True, check_well_formed=False, private=PRIVATE\1)"),
    (r"PRIVATE\(private=(True)\)", r"\1"),
    (r"PRIVATE", "False"),
    (r"\bT\.alloc_buffer\(", "T.sblock_alloc_buffer("),
    (r"\bT\.block\(", "T.sblock("),
    (r"\bT\.block_attr\(", "T.sblock_attr("),
    (r"\bT\.decl_buffer\((?!.*data=)(?=.*scope=)", "T.alloc_buffer("),
)
_OLDER = (
    (r', annotations=\{"buffer_allocated_addr": \[\], "buffer_data_alignment": 64\}', ""),
    (r"\bT\.alloc_(shared|local)\((\([^()]*\))", r'T.decl_buffer(\2, scope="\1"'),
    (r"\bT\.alloc_buffer\(", "T.decl_buffer("),
    (r"\bT\.sblock_alloc_buffer\(", "T.alloc_buffer("),
    (r"\bT\.sblock\(", "T.block("),
    (r"\bT\.sblock_attr\(", "T.block_attr("),
    (r"@T\.prim_func\(([^)]*)\)", lambda m: "@T.prim_func(private=True)" if "private=True" in m[1] else "@T.prim_func"),
    (r'"reduce_scope", 0\)', '"reduce_scope", T.reinterpret("handle", T.uint64(0)))'),
    (r"tirx\.", "tir."),
    (r"\"s_tir\.", '"tir.'),
)


def newer(text: str) -> str:
    """Return a program in TVM 0.27's words."""
    for pattern, word in _NEWER:
        text = re.sub(pattern, word, text)
    return text


def _attributes(match: re.Match[str]) -> str:
    """Return several attributes of a body, `T.attr({"a": 1, "b": 2})`, as one in the other."""
    indent, start, end = match[1], match[2], match[4]
    pairs = re.findall(r'("[\w.]+"): ((?:[^,()]|\([^()]*(?:\([^()]*\)[^()]*)*\))+)', match[3])
    calls = [f"T.attr(0, {key}, {value})" for key, value in pairs]
    if start:
        return f"{indent}{start}{', '.join(calls)}{end}"
    return "\n".join(indent + call for call in calls)


def older(text: str) -> str:
    """Return a program of TVM 0.27 in the words of 0.20."""
    text = re.sub(r"(?m)^( *)(with |)T\.attr\(\{(.*)\}\)(:?)$", _attributes, text)
    for pattern, word in _OLDER:
        text = re.sub(pattern, word, text)
    return text


class _Renamer(ast.NodeTransformer):
    """Renames what functions bind, in order of appearance."""

    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:  # noqa: N802 - a name of ast
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        annotation = None if node.annotation is None else self.visit(node.annotation)
        return ast.arg(self.names.get(node.arg, node.arg), annotation)


def nameless(text: str) -> str:
    """Return a program with its local variables numbered, without comments and imports."""
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        found: dict[str, str] = {}
        for node in _in_order(function):
            bound = node.arg if isinstance(node, ast.arg) else None
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound = node.id
            if bound is not None:
                found.setdefault(bound, f"v{len(found)}")
        function.args = _Renamer(found).visit(function.args)
        function.body = [_Renamer(found).visit(s) for s in function.body]
    return ast.unparse(tree)


def _in_order(node: ast.AST) -> list[ast.AST]:
    return [node, *(inner for child in ast.iter_child_nodes(node) for inner in _in_order(child))]
