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
    (r"\bT\.alloc_(shared|local)\((\([^()]*\)(?:, \"\w+\")?)", r'T.decl_buffer(\2, scope="\1"'),
    (r"\bT\.s_tir\.cp_async_raw\b", "T.ptx_cp_async"),
    (r"\bT\.alloc_buffer\(", "T.decl_buffer("),
    (r"\bT\.sblock_alloc_buffer\(", "T.alloc_buffer("),
    (r"\bT\.sblock\(", "T.block("),
    (r"\bT\.sblock_attr\(", "T.block_attr("),
    (r"@T\.prim_func\(([^)]*)\)", lambda m: "@T.prim_func(private=True)" if "private=True" in m[1] else "@T.prim_func"),
    (r"\bout_ty=", "out_sinfo="),
    (r"\bty_args=", "sinfo_args="),
    (r"\bR\.Any\b", "R.Object"),
    (r"R\.Callable\(\(T\.int64, ", 'R.Callable((R.Prim("int64"), '),
    (r"\bT\.let\[([\w.]+)\]", r"\1"),
    (r'"reduce_scope", 0\)', '"reduce_scope", T.reinterpret("handle", T.uint64(0)))'),
    (r', annotations=\{"tir\.volatile": True\}', ""),
    (r', annotations=\{"tirx\.volatile": True\}', ""),
    (r"\bT\.handle\(\)\.ty\b", '"handle"'),
    (r"tirx\.", "tir."),
    (r', mode="fast"', ""),
    (r'"tir\.noalias": True', '"tir.noalias": T.bool(True)'),
    (r"ir\.GenericConst", "relax.expr.Constant"),
    (r"\"s_tir\.", '"tir.'),
)


_ALIKE = (
    (
        r"(?m)^( *)(\w+) = T\.allocate\(.*\)\n *(\w+) = T\.decl_buffer\((.*), data=\2((?:, scope=.*)?)\)$",
        r"\1\3 = T.decl_buffer(\4\5)",
    ),
    (r"\bR\.prim_value\((-?\d+)\)", r"\1"),
    (r"(\bR\.memory\.alloc_tensor\(.*\)), 0\)", r"\1)"),
    (r"(\bT\.match_buffer\(.*\)), [\"']float32[\"']\)", r"\1)"),
    (r"(\bR\.builtin\.alloc_tensor\(.*), sinfo_args=\(.*\)\)", r"\1)"),
)
"""What 0.27 writes in another way, or adds, that says the same."""


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


def _viewed(match: re.Match[str]) -> str:
    """Return the view of a buffer under another shape, `B = A.view(4, n)`, as a declaration."""
    indent, name, source, extents = match.groups()
    found = re.search(
        rf'\b{source}(?:: T\.Buffer| = T\.\w*buffer)\([^"]*(?:"[^"]*[*+/ ][^"]*"[^"]*)*"(\w+)"', match.string
    )
    dtype = f', "{found[1]}"' if found else ""
    return f"{indent}{name} = T.decl_buffer(({extents},){dtype}, data={source}.data)"


def older(text: str) -> str:
    """Return a program of TVM 0.27 in the words of 0.20."""
    text = re.sub(r"(?m)^( *)(with |)T\.attr\(\{(.*)\}\)(:?)$", _attributes, text)
    text = re.sub(r"(?m)^( *)(\w+) = (\w+)\.view\((.*)\)$", _viewed, text)
    for pattern, word in _OLDER:
        text = re.sub(pattern, word, text)
    text = _own_variables(text) if "TypeVar(" in text else text
    return _without_declarations(text) if re.search(r"(?m)^ *\w+: R\.\w+\(.*\)$", text) else text


def _without_declarations(text: str) -> str:
    """Return a program without declarations that have no value, which the branches of a condition bind."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = [s for s in node.body if not isinstance(s, ast.AnnAssign) or s.value is not None]
    return ast.unparse(tree)


def _own_variables(text: str) -> str:
    """Return a module whose symbolic variables belong to its functions, as in 0.20, instead of to the module."""
    tree = ast.parse(text)
    names = {
        node.targets[0].id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and "TypeVar(" in ast.unparse(node)
    }
    tree.body = [node for node in tree.body if not isinstance(node, ast.Assign)]
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        matches = [] if "R.function" in ast.unparse(function.decorator_list[0]) else _matched_buffers(function)
        inside = [*([] if function.returns is None else _in_order(function.returns)), *_in_order(function)]
        inside += [node for match in matches for node in _in_order(match)]
        used = dict.fromkeys(n.id for n in inside if isinstance(n, ast.Name) and n.id in names)
        head = 1 if ast.unparse(function.body[0]).startswith("T.func_attr(") else 0
        function.body[head:head] = matches
        for annotation in [*(a.annotation for a in function.args.args), function.returns]:
            _quote_extents(annotation)
        function.body[head:head] = ast.parse("\n".join(f"{name} = T.int64()" for name in used)).body
    return ast.unparse(tree)


def _matched_buffers(function: ast.FunctionDef) -> list[ast.stmt]:
    """Make parameters that are buffers of symbolic extents handles, and return the statements that match them."""
    matches = list[ast.stmt]()
    for arg in function.args.args:
        call = arg.annotation
        if not isinstance(call, ast.Call) or all(isinstance(n, ast.Constant) for n in call.args[:1]):
            continue
        shape = call.args[0]
        elements = shape.elts if isinstance(shape, ast.Tuple) else []
        texts = [
            e.value if isinstance(e, ast.Constant) and isinstance(e.value, str) else ast.unparse(e) for e in elements
        ]
        if re.search(r"(?<![\w.])(?!T\b)[A-Za-z_]\w*", " ".join(texts).replace("T.int64", "")) is None:
            continue
        call.args[0] = ast.parse(f"({', '.join(texts)},)", mode="eval").body
        match = (
            f"{arg.arg} = T.match_buffer(var_{arg.arg}, {', '.join(map(ast.unparse, (*call.args, *call.keywords)))})"
        )
        arg.arg, arg.annotation = f"var_{arg.arg}", ast.parse("T.handle", mode="eval").body
        matches += ast.parse(match).body
    return matches


def _quote_extents(annotation: ast.expr | None) -> None:
    """Turn the symbolic extents of struct info in a signature into strings."""
    for call in ast.walk(annotation or ast.Constant(None)):
        if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Tuple | ast.List):
            shape = call.args[0]
            named = ast.unparse(call.func) in ("R.Tensor", "R.Shape")
            shape.elts = [
                ast.Constant(ast.unparse(e)) if named and not isinstance(e, ast.Constant) else e for e in shape.elts
            ]


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
    for pattern, word in _ALIKE:
        text = re.sub(pattern, word, text)
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
