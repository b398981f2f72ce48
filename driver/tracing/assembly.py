"""Assembly of LLVM text by function, with the line of the text that each instruction comes from.

Lines are tracked as line numbers of debug information, which LLVM keeps through its passes and writes into assembly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from ...lowering.machine import emit_assembly
from ...target import Target

_FIRST = 1_000_000
"""The first number of added metadata nodes, far above those of the text."""
_DEFINE = re.compile(r'^define [^@]*@(?:"(?P<quoted>[^"]*)"|(?P<plain>[\w.$-]+))\(')
_LOC = re.compile(r"\s*\.loc\s+\d+\s+(\d+)")
_LABEL = re.compile(r'^(?:"(?P<quoted>[^"]+)"|(?P<plain>[^"\s#:]+)):')
_FUNCTION = re.compile(r'^\s*\.type\s+"?([^",]+)"?\s*,\s*[@%]function')
_TEMPORARY = re.compile(r"^\.?L(tmp|func|dbg|cfi|info|str|line|section)\w*:")
_HEAD = """
!llvm.dbg.cu = !{{!{unit}}}
!llvm.module.flags = !{{!{version}}}
!{unit} = distinct !DICompileUnit(language: DW_LANG_C, file: !{file}, emissionKind: LineTablesOnly)
!{version} = !{{i32 2, !"Debug Info Version", i32 3}}
!{file} = !DIFile(filename: "text", directory: "")
!{type} = !DISubroutineType(types: !{{}})
"""

Instruction = tuple[str, int | None]
"""A line of assembly, and the line of LLVM text (from 0) that it comes from."""


def function_lines(text: str) -> dict[str, range]:
    """Return the range of lines of each function that LLVM text defines."""
    lines = text.split("\n")
    ranges: dict[str, range] = {}
    for first, line in enumerate(lines):
        match = _DEFINE.match(line)
        if match is not None:
            ranges[match["quoted"] or match["plain"]] = range(first, lines.index("}", first) + 1)
    return ranges


def with_lines(text: str) -> str:
    """Return LLVM text with its own line numbers (from 1) as debug information of each instruction."""
    lines, numbers = text.split("\n"), count(_FIRST)
    names = {name: next(numbers) for name in ("unit", "version", "file", "type")}
    nodes: list[str] = []
    for name, span in function_lines(text).items():
        scope, first = next(numbers), span.start
        nodes.append(
            f'!{scope} = distinct !DISubprogram(name: "{name}", scope: !{names["file"]}, file: !{names["file"]}, '
            f"line: {first + 1}, type: !{names['type']}, spFlags: DISPFlagDefinition, unit: !{names['unit']})"
        )
        lines[first] = f"{lines[first].removesuffix(' {')} !dbg !{scope} {{"
        for at in span:
            if lines[at].startswith("  "):
                lines[at] += f", !dbg !DILocation(line: {at + 1}, scope: !{scope})"
    return "\n".join(lines) + _HEAD.format(**names) + "\n".join(nodes) + "\n"


def assembly_of(text: str, target: Target, opt_level: int) -> dict[str, list[Instruction]]:
    """Return the assembly of each function of LLVM text. Raises `LLVMError`."""
    return dict(_functions(emit_assembly(with_lines(text), target, opt_level)))


def _functions(assembly: str) -> Iterator[tuple[str, list[Instruction]]]:
    names: set[str] = set()
    body: list[Instruction] | None = None
    place: int | None = None
    for line in assembly.split("\n"):
        function, label = _FUNCTION.match(line), _label(line)
        if function is not None:
            names.add(function[1])
        if label in names:
            body, place = [(line, None)], None
            yield label, body
        elif line.startswith(".Lfunc_end"):
            body = None
        elif body is not None:
            place = _add(line, body, place)


def _label(line: str) -> str:
    match = _LABEL.match(line)
    return "" if match is None else match["quoted"] or match["plain"]


def _add(line: str, body: list[Instruction], place: int | None) -> int | None:
    """Append a line of assembly to a function; return the line of the text that applies from here on."""
    at = _LOC.match(line)
    if at is not None:
        return int(at[1]) - 1 if at[1] != "0" else None
    stripped = line.strip()
    is_label = line[:1] not in ("\t", " ", "#", "")
    if is_label and not _TEMPORARY.match(line):
        body.append((line.partition("#")[0].rstrip(), None))
    elif not is_label and stripped and stripped[0] not in ".#":
        body.append((line.partition("#")[0].rstrip().replace("\t", "    ", 1).replace("\t", " "), place))
    return place
