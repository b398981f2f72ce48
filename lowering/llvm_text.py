"""Print the llvm dialect as `.ll` text, in one pass over the operations, by a table from operation class to line.

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

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..diagnostics import UnsupportedError
from ..dialects.names import name_of
from ..dialects.xdsl_extras import llvm_extras
from ..dialects.xdsl_extras.loop_annotation import LoopAnnotationAttr
from ..dialects.xdsl_extras.type_guards import is_integer_attr
from .llvm_literals import Initialiser, constant_text, literal_of, quoted, symbol, type_text

_FASTMATH_ALL = 7
_UNNAMED_ADDR = {1: "local_unnamed_addr ", 2: "unnamed_addr "}
_VISIBILITY = {1: "hidden ", 2: "protected "}
_ORDERINGS = {1: "unordered", 2: "monotonic", 4: "acquire", 5: "release", 6: "acq_rel", 7: "seq_cst"}

Edge = tuple[Block, Sequence[SSAValue]]


class _Metadata:
    """The end of a module: the numbered metadata nodes, and declarations of intrinsics."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.shared: dict[str, int] = {}

    def node(self, text: str) -> int:
        """Return the number of the node with this content; equal nodes share a number."""
        known = self.shared.get(text)
        if known is None:
            known = self.shared[text] = len(self.lines)
            self.lines.append(f"!{known} = !{{{text}}}")
        return known

    def loop(self, annotation: LoopAnnotationAttr) -> int:
        """Return the number of a new loop node with these properties."""
        parts: list[str] = []
        for key, value in annotation.metadata():
            text = f'!"llvm.loop.{key}"'
            if isinstance(value, IntegerAttr):
                text += f", {type_text(value.type)} {constant_text(value, value.type)}"
            parts.append(f"!{self.node(text)}")
        number = len(self.lines)
        self.lines.append(f"!{number} = distinct !{{{', '.join([f'!{number}', *parts])}}}")
        return number


_MOST_NAME = 512
"""Maximum length of a name hint: LLVM truncates names of more than 1,024 characters, which may then collide."""


class _Function:
    """The names and control-flow edges of the function being printed."""

    def __init__(self, metadata: _Metadata, placed: dict[int, Operation] | None = None):
        self.metadata = metadata
        self.placed = placed
        self.names: dict[SSAValue, str] = {}
        self.labels: dict[Block, str] = {}
        self.used: set[str] = set()
        self.counters: dict[str, int] = {}
        self.incoming: dict[Block, list[tuple[str, Sequence[SSAValue]]]] = {}
        self.targets: dict[Operation, list[str]] = {}
        self.splits: dict[Block, list[tuple[str, str]]] = {}

    def fresh(self, hint: str | None, prefix: str = "v") -> str:
        """Return a name that no value or block of the function has yet."""
        used = self.used
        hint = hint if hint is None or len(hint) <= _MOST_NAME else hint[:_MOST_NAME]
        if hint is not None and hint not in used:
            used.add(hint)
            return hint
        prefix = prefix if hint is None else hint + "."
        number = self.counters.get(prefix, 0)
        while (name := f"{prefix}{number}") in used:
            number += 1
        self.counters[prefix] = number + 1
        used.add(name)
        return name

    def name_values(self, region: Region) -> None:
        """Name every block and value; constants are named by their text."""
        names, fresh = self.names, self.fresh
        for block in region.blocks:
            self.labels[block] = fresh(None, "bb")
            for argument in block.args:
                names[argument] = "%" + fresh(name_of(argument))
            for op in block.ops:
                if op.results:
                    names[op.results[0]] = literal_of(op) or "%" + fresh(name_of(op.results[0]))

    def find_edges(self, region: Region) -> None:
        """Collect the predecessors of each block, splitting second edges of one terminator to the same block."""
        for block in region.blocks:
            self.incoming.setdefault(block, [])
        for block in region.blocks:
            terminator = block.last_op
            if terminator is None or not terminator.successors:
                continue
            seen: set[Block] = set()
            targets = self.targets[terminator] = []
            for target, values in _edges(terminator):
                label = self.labels[block]
                if target in seen and target.args:
                    label = self.fresh(None, "edge")
                    self.splits.setdefault(block, []).append((label, self.labels[target]))
                    targets.append(label)
                else:
                    targets.append(self.labels[target])
                seen.add(target)
                self.incoming[target].append((label, values))

    def typed(self, value: SSAValue) -> str:
        """Return `type name` of a value."""
        return f"{type_text(value.type)} {self.names[value]}"

    def list(self, values: Sequence[SSAValue]) -> str:
        """Return values with their types, separated by commas."""
        names = self.names
        return ", ".join([f"{type_text(v.type)} {names[v]}" for v in values])


def _edges(op: Operation) -> list[Edge]:
    if isinstance(op, llvm.BrOp):
        return [(op.successor, op.arguments)]
    if isinstance(op, llvm.CondBrOp):
        return [(op.then_block, op.then_arguments), (op.else_block, op.else_arguments)]
    if isinstance(op, llvm_extras.SwitchOp):
        return [(block, values) for _, block, values in op.edges()]
    raise UnsupportedError(f"'{op.name}' is not a branch that can be written as LLVM text")


# --- instructions: (function, operation) -> text without the result's name ---

Line = Callable[[_Function, Any], str]


def _fastmath(op: Operation) -> str:
    flags = op.properties.get("fastmathFlags")
    if flags is None:
        return ""
    known = _fastmath_texts.get(flags)
    if known is None:
        names = sorted(str(f) for f in cast(llvm.FastMathAttr, flags).data)
        known = "fast " if len(names) == _FASTMATH_ALL else "".join(f"{n} " for n in names)
        _fastmath_texts[flags] = known
    return known


_fastmath_texts: dict[Attribute, str] = {}


def _overflow(op: Operation) -> str:
    flags = op.properties.get("overflowFlags")
    if flags is None:
        return ""
    bits = cast("IntegerAttr[Any]", flags).value.data
    return ("nsw " if bits & 1 else "") + ("nuw " if bits & 2 else "")


def _int_binary(word: str) -> Line:
    def line(f: _Function, op: Operation) -> str:
        lhs, rhs = op._operands  # pyright: ignore[reportPrivateUsage]
        exact = "exact " if "isExact" in op.properties else ""
        disjoint = "disjoint " if "isDisjoint" in op.properties else ""
        return f"{word} {_overflow(op)}{exact}{disjoint}{type_text(lhs.type)} {f.names[lhs]}, {f.names[rhs]}"

    return line


def _float_binary(word: str) -> Line:
    def line(f: _Function, op: Operation) -> str:
        lhs, rhs = op._operands  # pyright: ignore[reportPrivateUsage]
        return f"{word} {_fastmath(op)}{type_text(lhs.type)} {f.names[lhs]}, {f.names[rhs]}"

    return line


def _cast(word: str) -> Line:
    def line(f: _Function, op: Operation) -> str:
        nneg = "nneg " if "nonNeg" in op.properties else ""
        flags = _overflow(op) if word == "trunc" else ""
        return f"{word} {flags}{nneg}{f.typed(op.operands[0])} to {type_text(op.results[0].type)}"

    return line


def _intrinsic(name: str) -> Line:
    def line(f: _Function, op: Operation) -> str:
        result = type_text(op.results[0].type) if op.results else "void"
        return f"call {_fastmath(op)}{result} @{name}({f.list(op.operands)})"

    return line


def _icmp(f: _Function, op: llvm.ICmpOp) -> str:
    predicate = llvm.ICmpPredicateFlag.from_int(op.predicate.value.data)
    return f"icmp {predicate} {f.typed(op.lhs)}, {f.names[op.rhs]}"


def _fcmp(f: _Function, op: llvm.FCmpOp) -> str:
    predicate = str(llvm.FCmpPredicateFlag.from_int(op.predicate.value.data)).lstrip("_")
    return f"fcmp {_fastmath(op)}{predicate} {f.typed(op.lhs)}, {f.names[op.rhs]}"


def _fneg(f: _Function, op: llvm.FNegOp) -> str:
    return f"fneg {_fastmath(op)}{f.typed(op.arg)}"


def _select(f: _Function, op: Operation) -> str:
    return f"select {_fastmath(op)}{f.list(op.operands)}"


def _gep(f: _Function, op: llvm.GEPOp) -> str:
    rest = iter(op.ssa_indices)
    indices = [
        f.typed(next(rest)) if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}"
        for index in op.rawConstantIndices.iter_values()
    ]
    flags = "inbounds " if op.inbounds is not None else ""
    return f"getelementptr {flags}{type_text(op.elem_type)}, {f.typed(op.ptr)}, {', '.join(indices)}"


def _ordering(op: llvm.LoadOp | llvm.StoreOp) -> int:
    return op.ordering.value.data if op.ordering is not None else 0


def _memory_suffix(f: _Function, op: llvm.LoadOp | llvm.StoreOp) -> str:
    ordering = _ORDERINGS.get(_ordering(op))
    suffix = f" {ordering}" if ordering else ""
    if op.alignment is not None:
        suffix += f", align {op.alignment.value.data}"
    if "nontemporal" in op.properties:
        suffix += f", !nontemporal !{f.metadata.node('i32 1')}"
    return suffix


def _load(f: _Function, op: llvm.LoadOp) -> str:
    atomic = "atomic " if _ordering(op) else ""
    return f"load {atomic}{type_text(op.dereferenced_value.type)}, {f.typed(op.ptr)}{_memory_suffix(f, op)}"


def _store(f: _Function, op: llvm.StoreOp) -> str:
    atomic = "atomic " if _ordering(op) else ""
    return f"store {atomic}{f.typed(op.value)}, {f.typed(op.ptr)}{_memory_suffix(f, op)}"


def _alloca(f: _Function, op: llvm.AllocaOp) -> str:
    align = f", align {op.alignment.value.data}" if op.alignment is not None else ""
    return f"alloca {type_text(op.elem_type)}, {f.typed(op.size)}{align}"


def _call(f: _Function, op: llvm.CallOp) -> str:
    args = list(op.args)
    callee = symbol(op.callee.string_value()) if op.callee is not None else f.names[args.pop(0)]
    result = type_text(op.returned.type) if op.returned is not None else "void"
    if op.var_callee_type is not None:
        result = type_text(op.var_callee_type)
    kind = str(op.TailCallKind.data)
    tail = "" if kind == "none" else f"{kind} "
    convention = op.CConv.convention.data
    convention = "" if convention == "ccc" else f"{convention} "
    return f"{tail}call {_fastmath(op)}{convention}{result} {callee}({f.list(args)})"


def _call_intrinsic(f: _Function, op: llvm.CallIntrinsicOp) -> str:
    if op.op_bundle_operands:
        raise UnsupportedError(f"operand bundles on {op.intrin.data}")
    result = type_text(op.ress.type) if op.ress is not None else "void"
    if op.intrin.data.startswith("llvm.x86."):
        # LLVM changes what these take from time to time, and accepts the types of before where they are declared.
        types = ", ".join(type_text(a.type) for a in op.args)
        f.metadata.declarations.add(f"declare {result} @{op.intrin.data}({types})")
    return f"call {_fastmath(op)}{result} @{op.intrin.data}({f.list(op.args)})"


def _masked_store(f: _Function, op: llvm.MaskedStoreOp) -> str:
    align = f"i32 {op.alignment.value.data}"
    return f"call void @llvm.masked.store({f.typed(op.value)}, {f.typed(op.data)}, {align}, {f.typed(op.mask)})"


def _insert_element(f: _Function, op: llvm.InsertElementOp) -> str:
    return f"insertelement {f.list((op.vector, op.value, op.index))}"


def _extract_element(f: _Function, op: llvm_extras.ExtractElementOp) -> str:
    return f"extractelement {f.list((op.vector, op.position))}"


def _shuffle(f: _Function, op: llvm.ShuffleVectorOp) -> str:
    lanes = [int(i) for i in op.mask.get_values()]
    if not any(lanes):
        mask = "zeroinitializer"
    else:
        mask = "<" + ", ".join("i32 poison" if i < 0 else f"i32 {i}" for i in lanes) + ">"
    return f"shufflevector {f.list((op.v1, op.v2))}, <{len(lanes)} x i32> {mask}"


def _extract_value(f: _Function, op: llvm.ExtractValueOp) -> str:
    return f"extractvalue {f.typed(op.container)}, {', '.join(str(i) for i in op.position.get_values())}"


def _insert_value(f: _Function, op: llvm.InsertValueOp) -> str:
    return f"insertvalue {f.list((op.container, op.value))}, {', '.join(str(i) for i in op.position.get_values())}"


def _inline_asm(f: _Function, op: llvm.InlineAsmOp) -> str:
    result = type_text(op.res.type) if op.res is not None else "void"
    flags = ("sideeffect " if op.has_side_effects is not None else "") + (
        "alignstack " if op.is_align_stack is not None else ""
    )
    flags += "inteldialect " if op.asm_dialect is not None and op.asm_dialect.value.data == 1 else ""
    strings = f"{quoted(op.asm_string.data.encode())}, {quoted(op.constraints.data.encode())}"
    return f"call {result} asm {flags}{strings}({f.list(op.operands_)})"


def _return(f: _Function, op: llvm.ReturnOp) -> str:
    return f"ret {f.typed(op.arg)}" if op.arg is not None else "ret void"


def _loop_suffix(f: _Function, op: Operation) -> str:
    annotation = op.properties.get("loop_annotation")
    if annotation is None:
        return ""
    if not isinstance(annotation, LoopAnnotationAttr):
        raise UnsupportedError(f"loop_annotation is {annotation}", expected="#llvm.loop_annotation<…>")
    return f", !llvm.loop !{f.metadata.loop(annotation)}"


def _br(f: _Function, op: llvm.BrOp) -> str:
    return f"br label %{f.targets[op][0]}{_loop_suffix(f, op)}"


def _cond_br(f: _Function, op: llvm.CondBrOp) -> str:
    then, other = f.targets[op]
    return f"br i1 {f.names[op.cond]}, label %{then}, label %{other}{_loop_suffix(f, op)}"


def _switch(f: _Function, op: llvm_extras.SwitchOp) -> str:
    default, *rest = f.targets[op]
    kind = type_text(op.value.type)
    cases = " ".join(f"{kind} {case}, label %{label}" for case, label in zip(op.cases, rest, strict=True))
    return f"switch {f.typed(op.value)}, label %{default} [{cases}]"


def _unreachable(f: _Function, op: llvm.UnreachableOp) -> str:
    return "unreachable"


_INT_BINARY = {
    llvm.AddOp: "add", llvm.SubOp: "sub", llvm.MulOp: "mul", llvm.UDivOp: "udiv", llvm.SDivOp: "sdiv",
    llvm.URemOp: "urem", llvm.SRemOp: "srem", llvm.AndOp: "and", llvm.OrOp: "or", llvm.XOrOp: "xor",
    llvm.ShlOp: "shl", llvm.LShrOp: "lshr", llvm.AShrOp: "ashr",
}  # fmt: skip
_FLOAT_BINARY = {
    llvm.FAddOp: "fadd", llvm.FSubOp: "fsub", llvm.FMulOp: "fmul", llvm.FDivOp: "fdiv", llvm.FRemOp: "frem",
}  # fmt: skip
_CASTS = {
    llvm.TruncOp: "trunc", llvm.ZExtOp: "zext", llvm.SExtOp: "sext", llvm.SIToFPOp: "sitofp",
    llvm.FPExtOp: "fpext", llvm.FPTruncOp: "fptrunc", llvm.BitcastOp: "bitcast", llvm.PtrToIntOp: "ptrtoint",
    llvm.IntToPtrOp: "inttoptr", llvm_extras.FPToSIOp: "fptosi", llvm_extras.FPToUIOp: "fptoui",
    llvm_extras.UIToFPOp: "uitofp",
}  # fmt: skip
_INTRINSICS = {
    llvm.FAbsOp: "llvm.fabs", llvm.FCeilOp: "llvm.ceil", llvm.FSqrtOp: "llvm.sqrt", llvm.FFloorOp: "llvm.floor",
    llvm.FExp2Op: "llvm.exp2", llvm.FLogOp: "llvm.log", llvm.FExpOp: "llvm.exp", llvm.FSinOp: "llvm.sin",
    llvm.FCosOp: "llvm.cos", llvm.FLog2Op: "llvm.log2", llvm.VectorFMaxOp: "llvm.maxnum",
    llvm.VectorFMinOp: "llvm.minnum", llvm.FCopySignOp: "llvm.copysign", llvm.FMAOp: "llvm.fma",
    llvm.FPowOp: "llvm.pow", llvm.StackSaveOp: "llvm.stacksave", llvm.StackRestoreOp: "llvm.stackrestore",
    llvm.VectorReduceFAddOp: "llvm.vector.reduce.fadd", llvm.VectorReduceFMulOp: "llvm.vector.reduce.fmul",
}  # fmt: skip
_LINES: dict[type[Operation], Line] = {
    **{op: _int_binary(word) for op, word in _INT_BINARY.items()},
    **{op: _float_binary(word) for op, word in _FLOAT_BINARY.items()},
    **{op: _cast(word) for op, word in _CASTS.items()},
    **{op: _intrinsic(name) for op, name in _INTRINSICS.items()},
    llvm.ICmpOp: _icmp,
    llvm.FCmpOp: _fcmp,
    llvm_extras.FCmpOp: _fcmp,
    llvm.FNegOp: _fneg,
    llvm.SelectOp: _select,
    llvm_extras.SelectOp: _select,
    llvm.GEPOp: _gep,
    llvm_extras.GEPOp: _gep,
    llvm.LoadOp: _load,
    llvm_extras.LoadOp: _load,
    llvm.StoreOp: _store,
    llvm.AllocaOp: _alloca,
    llvm.CallOp: _call,
    llvm.CallIntrinsicOp: _call_intrinsic,
    llvm.MaskedStoreOp: _masked_store,
    llvm.InsertElementOp: _insert_element,
    llvm_extras.ExtractElementOp: _extract_element,
    llvm.ShuffleVectorOp: _shuffle,
    llvm.ExtractValueOp: _extract_value,
    llvm.InsertValueOp: _insert_value,
    llvm.InlineAsmOp: _inline_asm,
    llvm.ReturnOp: _return,
    llvm.BrOp: _br,
    llvm_extras.BrOp: _br,
    llvm.CondBrOp: _cond_br,
    llvm_extras.CondBrOp: _cond_br,
    llvm_extras.SwitchOp: _switch,
    llvm.UnreachableOp: _unreachable,
}

# --- functions and globals ---

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
    op: llvm.FuncOp, metadata: _Metadata, out: list[str], placed: dict[int, Operation] | None = None
) -> None:
    linkage = op.linkage.linkage.data
    entry = op.body.first_block
    if entry is None:
        weak = "extern_weak " if linkage == "extern_weak" else ""
        out.append(f"declare {weak}{_signature(op, [''] * len(op.function_type.inputs))}\n")
        return
    f = _Function(metadata, placed)
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


def _print_phis(f: _Function, block: Block, out: list[str], outer: Sequence[tuple[str, Sequence[str]]]) -> None:
    edges = f.incoming[block]
    for i, argument in enumerate(block.args):
        ways = [f"[ {names[i]}, {label} ]" for label, names in outer]
        ways += [f"[ {f.names[values[i]]}, %{label} ]" for label, values in edges]
        if ways:
            out.append(f"  {f.names[argument]} = phi {type_text(argument.type)} {', '.join(ways)}")
        else:  # nothing leads here
            out.append(f"  {f.names[argument]} = freeze {type_text(argument.type)} poison")


def _print_block(
    f: _Function, block: Block, out: list[str], outer: Sequence[tuple[str, Sequence[str]]], is_entry: bool
) -> None:
    out.append(f"{f.labels[block]}:")
    if not is_entry:
        _print_phis(f, block, out, outer)
    names = f.names
    for op in block.ops:
        line = _LINES.get(type(op))
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
                if type(op) not in _LINES and literal_of(op) is None:
                    names[op.name] = None
    return list(names)


def _height(entry: str) -> int:
    return entry.count("\n") + 1


def print_llvm(module: ModuleOp, placed: dict[int, Operation] | None = None) -> str:
    """Return the `.ll` text of a module of `llvm.func` and `llvm.mlir.global`; `placed` receives the op of each line
    (from 0).

    Raises `UnsupportedError` that lists every operation of another dialect.
    """
    metadata = _Metadata()
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
