"""Read the public names of TVM's Python package from its sources, without importing it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...tvm_api._refused import REFUSED

_SPECIAL = frozenset(("__call__", "__getitem__", "__len__", "__iter__", "__enter__", "__exit__", "__contains__"))


@dataclass
class Definition:
    """A function (`def`), a class (`class`) or another value (`let`), with the text of its parameters.

    `members` are the methods, properties and annotated fields of a class; `bases` are names of its bases.
    """

    kind: str
    path: str
    parameters: str = ""
    members: dict[str, str] = field(default_factory=dict[str, str])
    bases: list[str] = field(default_factory=list[str])


@dataclass
class Module:
    """A source file: what it defines, and what it imports: (module, name or `*`) by local name."""

    path: str
    is_package: bool
    definitions: dict[str, Definition] = field(default_factory=dict[str, Definition])
    imports: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    stars: list[str] = field(default_factory=list[str])
    exported: list[str] | None = None


def read(root: Path) -> dict[str, Module]:
    """Return the modules below `python/tvm`, without those that are private or refused as a whole."""
    modules: dict[str, Module] = {}
    for file in sorted(root.rglob("*.py")):
        parts = [*file.relative_to(root).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        parts = parts[:-1] if is_package else parts
        if any(p.startswith("_") for p in parts) or _is_refused(parts):
            continue
        module = Module(".".join(parts), is_package)
        for statement in _statements(ast.parse(file.read_text(encoding="utf-8")).body):
            _add(module, statement)
        modules[module.path] = module
    return modules


def _is_refused(parts: list[str]) -> bool:
    return any(".".join(parts[:end]) in REFUSED for end in range(1, len(parts) + 1))


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, also those under conditions."""
    for statement in body:
        if isinstance(statement, ast.If | ast.Try):
            yield from _statements(statement.body)
        else:
            yield statement


def _add(module: Module, statement: ast.stmt) -> None:
    if isinstance(statement, ast.FunctionDef):
        _define(module, Definition("def", statement.name, _parameters(statement)))
    elif isinstance(statement, ast.ClassDef):
        _define(module, _class(statement))
    elif isinstance(statement, ast.ImportFrom):
        _import(module, statement)
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, ast.Name):
                _assign(module, target.id, statement.value)


def _assign(module: Module, name: str, value: ast.expr | None) -> None:
    if name == "__all__" and isinstance(value, ast.List):
        module.exported = [e.value for e in value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        return
    is_alias = isinstance(value, ast.Name) and value.id in module.definitions
    parameters = module.definitions[value.id].parameters if is_alias and isinstance(value, ast.Name) else ""
    _define(module, Definition("def" if is_alias and parameters else "let", name, parameters))


def _define(module: Module, definition: Definition) -> None:
    if not definition.path.startswith("_"):
        name = definition.path
        definition.path = f"{module.path}.{name}".removeprefix(".")
        module.definitions[name] = definition


def _import(module: Module, statement: ast.ImportFrom) -> None:
    if statement.level:
        parts = module.path.split(".") if module.path else []
        parts = parts[: len(parts) - statement.level + module.is_package]
        source = ".".join([*parts, *(statement.module or "").split(".")]).strip(".")
    elif statement.module and statement.module.split(".")[0] == "tvm":
        source = statement.module.removeprefix("tvm").removeprefix(".")
    else:
        return
    for alias in statement.names:
        if alias.name == "*":
            module.stars.append(source)
        else:
            module.imports[alias.asname or alias.name] = (source, alias.name)


def _class(node: ast.ClassDef) -> Definition:
    out = Definition("class", node.name, bases=[ast.unparse(base) for base in node.bases])
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            _member(out, statement.target.id, "")
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    _member(out, target.id, "")
        elif isinstance(statement, ast.FunctionDef):
            decorators = {ast.unparse(d).split("(")[0] for d in statement.decorator_list}
            is_property = any(d.endswith(("property", ".setter")) for d in decorators)
            is_static = "staticmethod" in decorators
            parameters = "" if is_property else _parameters(statement, drop_first=not is_static)
            if statement.name == "__init__":
                out.parameters = parameters
            else:
                _member(out, statement.name, parameters)
    return out


def _member(of: Definition, name: str, parameters: str) -> None:
    if not name.startswith("_") or name in _SPECIAL:
        of.members[name] = parameters


def _parameters(node: ast.FunctionDef, drop_first: bool = False) -> str:
    """Return the parameters without annotations; defaults that are not literals are `...`."""
    args = node.args
    plain = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(args.defaults)), *args.defaults]
    out = [_parameter(a.arg, d) for a, d in zip(plain, defaults, strict=True)][drop_first:]
    if args.vararg:
        out.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        out.append("*")
    out += [_parameter(a.arg, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg:
        out.append(f"**{args.kwarg.arg}")
    return f"({', '.join(out)})"


def _parameter(name: str, default: ast.expr | None) -> str:
    if default is None:
        return name
    try:
        return f"{name}={ast.literal_eval(default)!r}"
    except ValueError:
        return f"{name}=..."


def definition_of(
    modules: dict[str, Module], module: str, name: str, seen: frozenset[str] = frozenset()
) -> Definition | None:
    """Return the definition of a public name of a module, through imports; None for modules and for names of others."""
    at = modules.get(module)
    if at is None or module in seen:
        return None
    if name in at.definitions:
        return at.definitions[name]
    if name in at.imports:
        return definition_of(modules, *at.imports[name], seen | {module})
    for star in at.stars:
        found = definition_of(modules, star, name, seen | {module})
        if found is not None:
            return found
    return None


def names_of(modules: dict[str, Module], module: str, seen: frozenset[str] = frozenset()) -> set[str]:
    """Return the public names that a module has by itself, and a package by its imports."""
    at = modules.get(module)
    if at is None or module in seen:
        return set()
    out = set(at.definitions)
    if at.is_package:
        out |= {name for name in at.imports if not name.startswith("_")}
    for star in at.stars:
        exported = modules[star].exported if star in modules else None
        out |= set(exported) if exported is not None else names_of(modules, star, seen | {module})
    return out


def table(modules: dict[str, Module]) -> str:
    """Return the text of the table: a line for each definition, one for its other paths, one for each member."""
    paths: dict[str, list[str]] = {}
    found: dict[str, Definition] = {}
    for module in sorted(modules):
        for name in sorted(names_of(modules, module)):
            definition = definition_of(modules, module, name)
            path = f"{module}.{name}".removeprefix(".")
            if definition is not None and not name.startswith("_"):
                found[definition.path] = definition
                if path != definition.path:
                    paths.setdefault(definition.path, []).append(path)
    lines: list[str] = []
    for path, definition in sorted(found.items()):
        lines.append(f"{definition.kind} {path}{_own_parameters(modules, definition)}")
        if path in paths:
            lines.append(f"  = {' '.join(paths[path])}")
        lines += [f"  .{name}{parameters}" for name, parameters in sorted(definition.members.items())]
    return "\n".join([*lines, ""])


def _own_parameters(modules: dict[str, Module], definition: Definition) -> str:
    """Return the parameters of a definition; a class without a constructor has that of its first base."""
    if definition.kind != "class" or definition.parameters:
        return definition.parameters
    module = definition.path.rpartition(".")[0]
    for base in definition.bases:
        parent = definition_of(modules, module, base)
        if parent is not None and parent.path != definition.path:
            return _own_parameters(modules, parent)
    return ""


__all__ = ["Definition", "Module", "definition_of", "names_of", "read", "table"]
