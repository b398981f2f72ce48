"""Print the llvm dialect as `.ll` text, in one pass over the operations, by a table from operation class to line
(`llvm_instructions.py`).

Conventions:
- Constants, undef, poison, zero and addresses of symbols are written at their uses, not as instructions.
- Block arguments become phis. If one terminator has two edges to the same block, the second edge gets a block of its
  own, so that each edge can pass other values. Blocks may be in any order.
- Names of values are kept, made unique within the function.
- Intrinsics are called without type suffix and without declaration: LLVM's parser adds both.
- On loads and stores, the property `nontemporal` is kept. On branches, `loop_annotation` is a property
  `#llvm.loop_annotation<vectorize = <width = 16 : i32>, unroll = <disable = true>>` (`loop_annotation.py`).
- `llvm.call` without a callee calls the pointer that is its first argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation

from ..diagnostics import UnsupportedError
from ..dialects.names import name_of
from ..dialects.xdsl_extras.type_guards import is_integer_attr
from .llvm_instructions import LINES, FunctionText, Metadata
from .llvm_literals import Initialiser, constant_text, literal_of, quoted, symbol, type_text

_UNNAMED_ADDR = {1: "local_unnamed_addr ", 2: "unnamed_addr "}
_VISIBILITY = {1: "hidden ", 2: "protected "}
_ARGUMENT_FLAGS = {
    "noalias", "nocapture", "readonly", "readnone", "writeonly", "nonnull", "noundef", "signext", "zeroext", "returned",
    "nofree", "inreg", "nest",
}  # fmt: skip
_ARGUMENT_NUMBERS = {
    "align": "align {}",
    "dereferenceable": "dereferenceable({})",
    "dereferenceable_or_null": "dereferenceable_or_null({})",
}


def _value_attributes(attributes: DictionaryAttr | None) -> str:
    """Return the `llvm.*` attributes of an argument or a result; those of other dialects mean nothing to LLVM."""
    parts: list[str] = []
    for key, value in attributes.data.items() if attributes is not None else ():
        dialect, _, name = key.partition(".")
        if dialect != "llvm":
            continue
        if name in _ARGUMENT_FLAGS:
            parts.append(name)
        elif name in _ARGUMENT_NUMBERS and is_integer_attr(value):
            parts.append(_ARGUMENT_NUMBERS[name].format(value.value.data))
        else:
            raise UnsupportedError(f"argument attribute '{key}'", expected=", ".join(sorted(_ARGUMENT_FLAGS)))
    return "".join(f"{part} " for part in parts)


_FLAG_PROPERTIES = {"no_unwind": "nounwind", "no_inline": "noinline", "optimize_none": "optnone"}
_STRING_PROPERTIES = {"target_cpu": "target-cpu", "tune_cpu": "tune-cpu"}


def _function_attributes(op: llvm.FuncOp) -> str:
    """Return the text after the signature; the parser of `llvm.func` keeps these among the attributes."""
    get = op.get_attr_or_prop
    parts = [word for key, word in _FLAG_PROPERTIES.items() if get(key) is not None]
    for key, word in _STRING_PROPERTIES.items():
        value = get(key)
        if isinstance(value, StringAttr):
            parts.append(f'"{word}"={quoted(value.data.encode())}')
    features, frame_pointer, passthrough = get("target_features"), get("frame_pointer"), get("passthrough")
    if isinstance(features, llvm.TargetFeaturesAttr):
        parts.append(f'"target-features"={quoted(",".join(f.data for f in features.features).encode())}')
    if isinstance(frame_pointer, llvm.FramePointerKindAttr):
        parts.append(f'"frame-pointer"={quoted(str(frame_pointer.data).encode())}')
    if isinstance(passthrough, ArrayAttr):
        parts += [_passthrough(item) for item in cast("ArrayAttr[Attribute]", passthrough)]
    return "".join(f" {part}" for part in parts)


def _passthrough(item: Attribute) -> str:
    if isinstance(item, StringAttr):
        return item.data
    if isinstance(item, ArrayAttr):
        texts = [v.data for v in cast("ArrayAttr[Attribute]", item) if isinstance(v, StringAttr)]
        if len(texts) == 2:
            return "=".join(quoted(t.encode()) for t in texts)
    raise UnsupportedError(f"passthrough attribute {item}", expected="a name, or an array of name and value")


def _attribute_list(attributes: ArrayAttr[DictionaryAttr] | None, count: int) -> Sequence[DictionaryAttr | None]:
    return attributes.data if attributes is not None else [None] * count


def _signature(op: llvm.FuncOp, names: Sequence[str]) -> str:
    inputs = op.function_type.inputs.data
    attributes = _attribute_list(op.arg_attrs, len(inputs))
    parts = [
        f"{type_text(type_)} {_value_attributes(attrs)}{name}".rstrip()
        for type_, attrs, name in zip(inputs, attributes, names, strict=True)
    ]
    if op.function_type.is_variadic:
        parts.append("...")
    result = _value_attributes(_attribute_list(op.res_attrs, 1)[0]) + type_text(op.function_type.output)
    convention = op.CConv.convention.data
    convention = "" if convention == "ccc" else f"{convention} "
    address = _UNNAMED_ADDR.get(op.unnamed_addr.value.data, "") if op.unnamed_addr is not None else ""
    visibility = _VISIBILITY.get(op.visibility_.value.data, "")
    tail = f"{address}{_function_attributes(op).lstrip()}".rstrip()
    return f"{visibility}{convention}{result} {symbol(op.sym_name.data)}({', '.join(parts)})" + (
        f" {tail}" if tail else ""
    )


def _print_function(
    op: llvm.FuncOp, metadata: Metadata, out: list[str], placed: dict[int, Operation] | None = None
) -> None:
    linkage = op.linkage.linkage.data
    entry = op.body.first_block
    if entry is None:
        weak = "extern_weak " if linkage == "extern_weak" else ""
        out.append(f"declare {weak}{_signature(op, [''] * len(op.function_type.inputs))}\n")
        return
    f = FunctionText(metadata, placed)
    f.name_values(op.body)
    f.find_edges(op.body)
    arguments = [f.names[a] for a in entry.args]
    head: list[str] = []
    if f.incoming[entry]:  # LLVM allows no branch to the entry block: give the function another one
        label = f.fresh(None, "entry")
        arguments = ["%" + f.fresh(name_of(a)) for a in entry.args]
        head = [f"{label}:", f"  br label %{f.labels[entry]}"]
        outer = [(f"%{label}", arguments)]
    else:
        outer = []
    keyword = "" if linkage == "external" else f"{linkage} "
    out.append(f"define {keyword}{_signature(op, arguments)} {{")
    out += head
    for block in op.body.blocks:
        _print_block(f, block, out, outer if block is entry else (), block is entry and not head)
    out.append("}\n")


def _print_phis(f: FunctionText, block: Block, out: list[str], outer: Sequence[tuple[str, Sequence[str]]]) -> None:
    edges = f.incoming[block]
    for i, argument in enumerate(block.args):
        ways = [f"[ {names[i]}, {label} ]" for label, names in outer]
        ways += [f"[ {f.names[values[i]]}, %{label} ]" for label, values in edges]
        if ways:
            out.append(f"  {f.names[argument]} = phi {type_text(argument.type)} {', '.join(ways)}")
        else:  # nothing leads here
            out.append(f"  {f.names[argument]} = freeze {type_text(argument.type)} poison")


def _print_block(
    f: FunctionText, block: Block, out: list[str], outer: Sequence[tuple[str, Sequence[str]]], is_entry: bool
) -> None:
    out.append(f"{f.labels[block]}:")
    if not is_entry:
        _print_phis(f, block, out, outer)
    names = f.names
    for op in block.ops:
        line = LINES.get(type(op))
        if line is None:
            if literal_of(op) is None:
                raise UnsupportedError(f"'{op.name}' cannot be written as LLVM text", hint="run convert-to-llvm first")
            continue
        if f.placed is not None:
            f.placed[len(out)] = op
        if op.results:
            out.append(f"  {names[op.results[0]]} = {line(f, op)}")
        else:
            out.append(f"  {line(f, op)}")
    for label, target in f.splits.get(block, ()):
        out += [f"{label}:", f"  br label %{target}"]


def _print_global(op: llvm.GlobalOp, out: list[str]) -> None:
    linkage = op.linkage.linkage.data
    type_ = type_text(op.global_type)
    if op.value is not None:
        initial = constant_text(op.value, op.global_type)
    elif op.body.first_block is not None:
        initial = Initialiser().text(list(op.body.block.ops))
    else:
        initial = ""
    keyword = "" if linkage == "external" and initial else f"{linkage} "
    words = keyword + _VISIBILITY.get(op.visibility_.value.data if op.visibility_ is not None else 0, "")
    words += "dso_local " if op.dso_local is not None else ""
    words += "thread_local " if op.thread_local_ is not None else ""
    words += _UNNAMED_ADDR.get(op.unnamed_addr.value.data, "") if op.unnamed_addr is not None else ""
    kind = "constant" if op.constant is not None else "global"
    section = f", section {quoted(op.section.data.encode())}" if op.section is not None else ""
    align = f", align {op.alignment.value.data}" if op.alignment is not None else ""
    out.append(f"{symbol(op.sym_name.data)} = {words}{kind} {type_} {initial}".rstrip() + section + align)


def unprintable(module: ModuleOp) -> list[str]:
    """Return the distinct names of the operations that have no LLVM text, in order."""
    allowed = (llvm.FuncOp, llvm.GlobalOp)
    names: dict[str, None] = {}
    for top in module.body.block.ops:
        if not isinstance(top, allowed):
            names[top.name] = None
        if not isinstance(top, llvm.FuncOp):
            continue
        for block in top.body.blocks:
            for op in block.ops:
                if type(op) not in LINES and literal_of(op) is None:
                    names[op.name] = None
    return list(names)


def _height(entry: str) -> int:
    return entry.count("\n") + 1


def print_llvm(module: ModuleOp, placed: dict[int, Operation] | None = None) -> str:
    """Return the `.ll` text of a module of `llvm.func` and `llvm.mlir.global`; `placed` receives the op of each line
    (from 0).

    Raises `UnsupportedError` that lists every operation of another dialect.
    """
    metadata = Metadata()
    out: list[str] = []
    functions: list[str] = []
    entries: dict[int, Operation] | None = None if placed is None else {}
    try:
        for op in module.body.block.ops:
            if isinstance(op, llvm.FuncOp):
                _print_function(op, metadata, functions, entries)
            elif isinstance(op, llvm.GlobalOp):
                _print_global(op, out)
            else:
                raise UnsupportedError(f"'{op.name}' cannot be written as LLVM text")
    except UnsupportedError:
        names = unprintable(module)
        if not names:
            raise
        raise UnsupportedError(
            f"cannot write {', '.join(repr(n) for n in names)} as LLVM text",
            hint="run convert-to-llvm first; what it cannot lower it names",
        ) from None
    if out:
        out.append("")
    if placed is not None and entries is not None:
        firsts = list(accumulate(map(_height, functions), initial=sum(map(_height, out))))
        placed.update({firsts[entry]: op for entry, op in entries.items()})
    return "\n".join([*out, *functions, *sorted(metadata.declarations), *metadata.lines]) + "\n"
