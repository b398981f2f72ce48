"""The lines of LLVM's instructions, and the names, edges and metadata of the function that they are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    IntegerAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..diagnostics import UnsupportedError
from ..dialects.names import name_of
from ..dialects.xdsl_extras import llvm_extras
from ..dialects.xdsl_extras.loop_annotation import LoopAnnotationAttr
from .llvm_literals import constant_text, literal_of, quoted, symbol, type_text

_FASTMATH_ALL = 7
_ORDERINGS = {1: "unordered", 2: "monotonic", 4: "acquire", 5: "release", 6: "acq_rel", 7: "seq_cst"}

Edge = tuple[Block, Sequence[SSAValue]]


class Metadata:
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


class FunctionText:
    """The names and control-flow edges of the function being printed."""

    def __init__(self, metadata: Metadata, placed: dict[int, Operation] | None = None):
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


Line = Callable[[FunctionText, Any], str]


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
    def line(f: FunctionText, op: Operation) -> str:
        lhs, rhs = op._operands  # pyright: ignore[reportPrivateUsage]
        exact = "exact " if "isExact" in op.properties else ""
        disjoint = "disjoint " if "isDisjoint" in op.properties else ""
        return f"{word} {_overflow(op)}{exact}{disjoint}{type_text(lhs.type)} {f.names[lhs]}, {f.names[rhs]}"

    return line


def _float_binary(word: str) -> Line:
    def line(f: FunctionText, op: Operation) -> str:
        lhs, rhs = op._operands  # pyright: ignore[reportPrivateUsage]
        return f"{word} {_fastmath(op)}{type_text(lhs.type)} {f.names[lhs]}, {f.names[rhs]}"

    return line


def _cast(word: str) -> Line:
    def line(f: FunctionText, op: Operation) -> str:
        nneg = "nneg " if "nonNeg" in op.properties else ""
        flags = _overflow(op) if word == "trunc" else ""
        return f"{word} {flags}{nneg}{f.typed(op.operands[0])} to {type_text(op.results[0].type)}"

    return line


def _intrinsic(name: str) -> Line:
    def line(f: FunctionText, op: Operation) -> str:
        result = type_text(op.results[0].type) if op.results else "void"
        return f"call {_fastmath(op)}{result} @{name}({f.list(op.operands)})"

    return line


def _icmp(f: FunctionText, op: llvm.ICmpOp) -> str:
    predicate = llvm.ICmpPredicateFlag.from_int(op.predicate.value.data)
    return f"icmp {predicate} {f.typed(op.lhs)}, {f.names[op.rhs]}"


def _fcmp(f: FunctionText, op: llvm.FCmpOp) -> str:
    predicate = str(llvm.FCmpPredicateFlag.from_int(op.predicate.value.data)).lstrip("_")
    return f"fcmp {_fastmath(op)}{predicate} {f.typed(op.lhs)}, {f.names[op.rhs]}"


def _fneg(f: FunctionText, op: llvm.FNegOp) -> str:
    return f"fneg {_fastmath(op)}{f.typed(op.arg)}"


def _select(f: FunctionText, op: Operation) -> str:
    return f"select {_fastmath(op)}{f.list(op.operands)}"


def _gep(f: FunctionText, op: llvm.GEPOp) -> str:
    rest = iter(op.ssa_indices)
    indices = [
        f.typed(next(rest)) if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}"
        for index in op.rawConstantIndices.iter_values()
    ]
    flags = "inbounds " if op.inbounds is not None else ""
    return f"getelementptr {flags}{type_text(op.elem_type)}, {f.typed(op.ptr)}, {', '.join(indices)}"


def _ordering(op: llvm.LoadOp | llvm.StoreOp) -> int:
    return op.ordering.value.data if op.ordering is not None else 0


def _memory_suffix(f: FunctionText, op: llvm.LoadOp | llvm.StoreOp) -> str:
    ordering = _ORDERINGS.get(_ordering(op))
    suffix = f" {ordering}" if ordering else ""
    if op.alignment is not None:
        suffix += f", align {op.alignment.value.data}"
    if "nontemporal" in op.properties:
        suffix += f", !nontemporal !{f.metadata.node('i32 1')}"
    return suffix


def _load(f: FunctionText, op: llvm.LoadOp) -> str:
    atomic = "atomic " if _ordering(op) else ""
    return f"load {atomic}{type_text(op.dereferenced_value.type)}, {f.typed(op.ptr)}{_memory_suffix(f, op)}"


def _store(f: FunctionText, op: llvm.StoreOp) -> str:
    atomic = "atomic " if _ordering(op) else ""
    return f"store {atomic}{f.typed(op.value)}, {f.typed(op.ptr)}{_memory_suffix(f, op)}"


def _alloca(f: FunctionText, op: llvm.AllocaOp) -> str:
    align = f", align {op.alignment.value.data}" if op.alignment is not None else ""
    return f"alloca {type_text(op.elem_type)}, {f.typed(op.size)}{align}"


def _call(f: FunctionText, op: llvm.CallOp) -> str:
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


def _call_intrinsic(f: FunctionText, op: llvm.CallIntrinsicOp) -> str:
    if op.op_bundle_operands:
        raise UnsupportedError(f"operand bundles on {op.intrin.data}")
    result = type_text(op.ress.type) if op.ress is not None else "void"
    if op.intrin.data.startswith("llvm.x86."):
        # LLVM changes what these take from time to time, and accepts the types of before where they are declared.
        types = ", ".join(type_text(a.type) for a in op.args)
        f.metadata.declarations.add(f"declare {result} @{op.intrin.data}({types})")
    return f"call {_fastmath(op)}{result} @{op.intrin.data}({f.list(op.args)})"


def _masked_store(f: FunctionText, op: llvm.MaskedStoreOp) -> str:
    align = f"i32 {op.alignment.value.data}"
    return f"call void @llvm.masked.store({f.typed(op.value)}, {f.typed(op.data)}, {align}, {f.typed(op.mask)})"


def _insert_element(f: FunctionText, op: llvm.InsertElementOp) -> str:
    return f"insertelement {f.list((op.vector, op.value, op.index))}"


def _extract_element(f: FunctionText, op: llvm_extras.ExtractElementOp) -> str:
    return f"extractelement {f.list((op.vector, op.position))}"


def _shuffle(f: FunctionText, op: llvm.ShuffleVectorOp) -> str:
    lanes = [int(i) for i in op.mask.get_values()]
    if not any(lanes):
        mask = "zeroinitializer"
    else:
        mask = "<" + ", ".join("i32 poison" if i < 0 else f"i32 {i}" for i in lanes) + ">"
    return f"shufflevector {f.list((op.v1, op.v2))}, <{len(lanes)} x i32> {mask}"


def _extract_value(f: FunctionText, op: llvm.ExtractValueOp) -> str:
    return f"extractvalue {f.typed(op.container)}, {', '.join(str(i) for i in op.position.get_values())}"


def _insert_value(f: FunctionText, op: llvm.InsertValueOp) -> str:
    return f"insertvalue {f.list((op.container, op.value))}, {', '.join(str(i) for i in op.position.get_values())}"


def _inline_asm(f: FunctionText, op: llvm.InlineAsmOp) -> str:
    result = type_text(op.res.type) if op.res is not None else "void"
    flags = ("sideeffect " if op.has_side_effects is not None else "") + (
        "alignstack " if op.is_align_stack is not None else ""
    )
    flags += "inteldialect " if op.asm_dialect is not None and op.asm_dialect.value.data == 1 else ""
    strings = f"{quoted(op.asm_string.data.encode())}, {quoted(op.constraints.data.encode())}"
    return f"call {result} asm {flags}{strings}({f.list(op.operands_)})"


def _return(f: FunctionText, op: llvm.ReturnOp) -> str:
    return f"ret {f.typed(op.arg)}" if op.arg is not None else "ret void"


def _loop_suffix(f: FunctionText, op: Operation) -> str:
    annotation = op.properties.get("loop_annotation")
    if annotation is None:
        return ""
    if not isinstance(annotation, LoopAnnotationAttr):
        raise UnsupportedError(f"loop_annotation is {annotation}", expected="#llvm.loop_annotation<…>")
    return f", !llvm.loop !{f.metadata.loop(annotation)}"


def _br(f: FunctionText, op: llvm.BrOp) -> str:
    return f"br label %{f.targets[op][0]}{_loop_suffix(f, op)}"


def _cond_br(f: FunctionText, op: llvm.CondBrOp) -> str:
    then, other = f.targets[op]
    return f"br i1 {f.names[op.cond]}, label %{then}, label %{other}{_loop_suffix(f, op)}"


def _switch(f: FunctionText, op: llvm_extras.SwitchOp) -> str:
    default, *rest = f.targets[op]
    kind = type_text(op.value.type)
    cases = " ".join(f"{kind} {case}, label %{label}" for case, label in zip(op.cases, rest, strict=True))
    return f"switch {f.typed(op.value)}, label %{default} [{cases}]"


def _unreachable(f: FunctionText, op: llvm.UnreachableOp) -> str:
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
LINES: dict[type[Operation], Line] = {
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
"""A function and an operation of it  ->  text without the name of the result, by the class of the operation."""
