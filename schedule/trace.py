"""Traces: the steps of a schedule as `sched` IR; printed as Python, replayed, simplified, and converted to TVM's JSON.

The outputs of instructions (blocks, loops and sampled integers) are values of the trace, to which users have
handles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ..diagnostics import TiraxError, unknown_name
from ..dialects import sched, tir
from ..dialects.names import name_of
from ..dialects.relax.operator import OPERATORS
from ..dialects.sched import INSTRUCTIONS, Argument, Instruction, SequenceOp, Spec
from ..dialects.sym import IndexMapAttr, Sym
from ..handles.tir.block_views import BlockRealize
from ..handles.tir.buffers import Stmt
from ..handles.tir.stmt import stmt_of
from .state import ScheduleError, ancestors

_LETTERS: dict[Attribute, str] = {sched.BLOCK: "b", sched.LOOP: "l", sched.INT: "v"}
_POSTPROC = sched.OPS["enter_postproc"]
DecisionProvider = Callable[[Instruction, list[Any], list[Any], Any], Any]
"""Overrides the decision of an instruction: (instruction, inputs, attributes, its decision) -> decision or None."""


class Replayer(Protocol):
    """The interface on which a trace is replayed: a `Schedule`."""

    def step(self, name: str, arguments: dict[str, Any], decision: Any = None) -> list[Any]:
        """Run the primitive `name` and return handles to its outputs."""
        ...


class Trace:
    """The instructions of a schedule in order, as a `sched.sequence`."""

    def __init__(self, op: SequenceOp | None = None):
        self.op = op or SequenceOp()
        self._count = sum(len(i.outputs) for i in self.op.instructions)

    @property
    def insts(self) -> list[Instruction]:
        """The instructions."""
        return list(self.op.instructions)

    @property
    def decisions(self) -> dict[Instruction, Argument]:
        """The decisions by instruction."""
        return {i: i.decision for i in self.op.instructions if i.decision is not None}

    def get_decision(self, inst: Instruction) -> Argument:
        """Return the decision of an instruction, or None if it has none."""
        return inst.decision

    def __len__(self) -> int:
        return len(self.insts)

    def record(
        self, name: str, arguments: Mapping[str, Argument], outputs: int, decision: Argument = None
    ) -> Instruction:
        """Append an instruction; its outputs are named as in TVM."""
        return self.add(sched.OPS[name].of(arguments, outputs, decision))

    def add(self, inst: Instruction) -> Instruction:
        """Append an instruction that is in no trace; its outputs are named as in TVM."""
        for k, output in enumerate(inst.outputs):
            output.name_hint = f"{_LETTERS[output.type]}{self._count + k}"
        self._count += len(inst.outputs)
        self.op.body.block.add_op(inst)
        return inst

    def pop(self) -> Instruction | None:
        """Remove and return the last instruction; None if there is none."""
        last = self.op.body.block.last_op
        if not isinstance(last, Instruction):
            return None
        last.detach()
        self._count -= len(last.outputs)
        return last

    def copy(self) -> Trace:
        """Return an independent trace with the same instructions."""
        return Trace(self.op.clone())

    def with_decision(self, inst: Instruction, decision: Argument, remove_postproc: bool = False) -> Trace:
        """Return a copy with another decision for `inst`. Raises `TiraxError` if `inst` is not in this trace."""
        at = next((k for k, i in enumerate(self.insts) if i is inst), None)
        if at is None:
            raise TiraxError("the instruction is not of this trace")
        out = self.copy()
        changed = out.insts[at]
        changed.properties["decision"] = sched.encode(decision, [])
        if remove_postproc:
            out._drop_postproc()
        return out

    def _drop_postproc(self) -> None:
        insts = self.insts
        at = next((k for k, i in enumerate(insts) if isinstance(i, _POSTPROC)), len(insts))
        for inst in reversed(insts[at:]):
            inst.detach()
            self._count -= len(inst.outputs)

    def simplified(self, remove_postproc: bool = False) -> Trace:
        """Return a copy without instructions that have no effect, because their outputs are unused.

        With `remove_postproc` everything from `enter_postproc` on is removed, too.
        """
        out = self.copy()
        if remove_postproc:
            out._drop_postproc()
        for inst in reversed(out.insts):
            if inst.SPEC.only_names and not any(o.first_use for o in inst.outputs):
                inst.detach()
                inst.erase()
        return out

    def apply_to_schedule(
        self, sch: Replayer, remove_postproc: bool = False, decision_provider: DecisionProvider | None = None
    ) -> None:
        """Apply the steps of this trace to `sch`, with its decisions or those of `decision_provider`.

        Raises `ScheduleError` if a step fails, or returns another number of loops or blocks than recorded.
        """
        values: dict[SSAValue, Any] = {}
        for inst in self.insts:
            if remove_postproc and isinstance(inst, _POSTPROC):
                break
            args = {k: mapped(v, values) for k, v in inst.args.items()}
            decision = inst.decision
            if decision_provider is not None and inst.SPEC.samples:
                inputs = [args[k] for k in inst.SPEC.inputs if k in args]
                attrs = [args[k] for k in inst.SPEC.attrs if k in args]
                decision = decision_provider(inst, inputs, attrs, decision)
            results = sch.step(inst.SPEC.name, args, decision)
            if len(results) != len(inst.outputs):
                raise ScheduleError(
                    f"replaying a trace: '{inst.SPEC.name}' gives another number of results than when it was recorded",
                    expected=len(inst.outputs),
                    found=len(results),
                    hint="other decisions may leave out loops of one iteration: preserve_unit_loops=True keeps them",
                )
            values.update(zip(inst.outputs, results, strict=True))

    # text

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """Return the steps as Python statements, with `remove_postproc` without those of postprocessors."""
        if remove_postproc:
            bare = self.copy()
            bare._drop_postproc()
            return bare.as_python()
        names = self._names()
        return [_statement(inst, names) for inst in self.op.instructions]

    def __str__(self) -> str:
        lines = ["# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:"]
        return "\n".join([*lines, *(f"  {line}" for line in self.as_python() or ["pass"])])

    __repr__ = __str__

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print the trace as Python."""
        print(self)

    def mlir(self) -> str:
        """Return the trace as MLIR text."""
        return str(self.op)

    @staticmethod
    def from_mlir(text: str) -> Trace:
        """Parse a trace from MLIR text, the inverse of `mlir`.

        Raises a diagnostic if the text is not a `sched.sequence`.
        """
        from xdsl.context import Context

        from ..ir.text import TextParser, read_text

        ctx = Context()
        ctx.load_dialect(sched.Sched)
        ctx.load_dialect(Sym)
        module = read_text(ctx, text, TextParser.parse_op, "<trace>")
        op = module.body.block.first_op if isinstance(module, ModuleOp) else module
        if not isinstance(op, SequenceOp) or op.function is not None:
            raise TiraxError("not a trace", expected="sched.sequence", found=module.name)
        op.verify()
        if op.parent is not None:
            op.detach()
        return Trace(op)

    def _names(self) -> dict[SSAValue, str]:
        outputs = (o for inst in self.op.instructions for o in inst.outputs)
        return {o: f"{_LETTERS[o.type]}{k}" for k, o in enumerate(outputs)}

    # JSON

    def as_json(self, remove_postproc: bool = False) -> list[Any]:
        """Return TVM's JSON form: `[[[kind, inputs, attributes, outputs], …], [[index, decision], …]]`."""
        trace = self.simplified(remove_postproc=True) if remove_postproc else self
        names = trace._names()
        rows: list[Any] = []
        decisions: list[Any] = []
        for k, inst in enumerate(trace.op.instructions):
            args = inst.args
            inputs = [_quoted(args.get(p), names) for p in inst.SPEC.inputs]
            attrs = [a for p in inst.SPEC.attrs for a in _written(p, _plain(args.get(p), names))]
            rows.append([inst.SPEC.kind, inst.SPEC.flat(inputs), attrs, [names[o] for o in inst.outputs]])
            if inst.decision is not None:
                decisions.append([k, _plain(inst.decision, names)])
        return [rows, decisions]

    @staticmethod
    def from_json(json_obj: Any) -> Trace:
        """Return the trace of a JSON value, the inverse of `as_json`. Raises `TiraxError` if it is malformed."""
        return _from_json(json_obj)

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Replayer) -> None:
        """Apply the steps of a JSON trace to `sch`."""
        Trace.from_json(json_obj).apply_to_schedule(sch)


def map_leaves(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return an argument with `leaf` applied to it, or to all elements of its lists and dictionaries."""
    if isinstance(value, list | tuple):
        return [map_leaves(v, leaf) for v in value]
    if isinstance(value, dict):
        return {k: map_leaves(v, leaf) for k, v in value.items()}
    return leaf(value)


def mapped(value: Argument, values: Mapping[SSAValue, Any]) -> Any:
    """Return an argument of an instruction with the trace's values replaced."""
    return map_leaves(value, lambda v: values[v] if isinstance(v, SSAValue) else v)


def _quoted(value: Argument, names: Mapping[SSAValue, str]) -> Any:
    """Return an input with value names unquoted and strings quoted."""
    return f'"{value}"' if isinstance(value, str) else _plain(value, names)


def _plain(value: Argument, names: Mapping[SSAValue, str]) -> Any:
    def leaf(v: Any) -> Any:
        return names[v] if isinstance(v, SSAValue) else str(v) if isinstance(v, Attribute) else v

    return map_leaves(value, leaf)


def _statement(inst: Instruction, names: Mapping[SSAValue, str]) -> str:
    args, spec = inst.args, inst.SPEC
    shown = [(k, args[k]) for k in spec.params if k in args and not (k == "consumer_blocks" and not args[k])]
    parts: list[str] = []
    for key, value in shown:
        if spec.spread and key in spec.inputs:
            parts += [_text(v, names) for v in (value if isinstance(value, list) else [value])]
        else:
            special = _TEXTS.get(key)
            parts.append(f"{key}={_text(value, names) if special is None or value is None else special(value, args)}")
    if inst.decision is not None:
        parts.append(f"decision={_text(inst.decision, names)}")
    outputs = ", ".join(names[o] for o in inst.outputs)
    if len(inst.outputs) == 1 and spec.result.many:
        outputs += ","
    return f"{outputs} = sch.{spec.name}({', '.join(parts)})" if outputs else f"sch.{spec.name}({', '.join(parts)})"


def _alone(inst: Instruction) -> str:
    """Return the text of an instruction that is in no trace: its handles have no names."""
    values = [*inst.operands, *inst.outputs]
    return _statement(inst, dict.fromkeys(values, "_"))


Instruction.WRITTEN = staticmethod(_alone)


def _text(value: Argument, names: Mapping[SSAValue, str]) -> str:
    if isinstance(value, SSAValue):
        return names[value]
    if isinstance(value, list):
        return f"[{', '.join(_text(v, names) for v in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_string(k)}: {_text(v, names)}" for k, v in value.items()) + "}"
    if isinstance(value, float):
        return f"{value:.17g}"
    return _string(value) if isinstance(value, str) else str(value)


def _lambda(params: Sequence[str], body: str) -> str:
    return f"lambda {', '.join(params)}: {body}" if params else f"lambda: {body}"


def _parts(value: IndexMapAttr) -> tuple[list[str], list[str]]:
    """Return the parameters and the results of an index map as Python."""
    from ..script.printer.symbolic import result_texts

    return [str(p.name) for p in value.data.params], result_texts(value.data)


def _index_map_text(value: IndexMapAttr, _args: Mapping[str, Argument]) -> str:
    params, results = _parts(value)
    return _lambda(params, f"({', '.join(results)},)")


def _ranges_text(value: IndexMapAttr, _args: Mapping[str, Argument]) -> str:
    """Return the first index and the end of each dimension in turn."""
    params, results = _parts(value)
    pairs = zip(results[::2], results[1::2], strict=True)
    return _lambda(params, f"[{', '.join(f'({first}, {end})' for first, end in pairs)}]")


def _padding_text(value: Argument, args: Mapping[str, Argument]) -> str:
    """Return a padding as a function of the new indices."""
    if isinstance(value, IndexMapAttr):
        return _index_map_text(value, args)
    if isinstance(value, str):
        return value
    dtype, number = value
    new = [f"indices_{k}" for k in range(len(args["index_map"].data.results))]
    return _lambda(new, f"(T.{dtype}({number}),)")


def _buffer_text(value: Argument, _args: Mapping[str, Argument]) -> str:
    side, index = value
    return f"({_string(side)}, {index})"


_TEXTS: dict[str, Callable[[Any, Mapping[str, Argument]], str]] = {
    "buffer": _buffer_text,
    "gen_new_ranges": _ranges_text,
    "index_map": _index_map_text,
    "pad_value": _padding_text,
}
"""Formatters of arguments that are not plain values; None formats as itself."""


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _by_kind() -> dict[str, Spec]:
    """Return the instructions by their names in TVM's JSON, including those of plug-ins."""
    OPERATORS.load()
    return {spec.kind: spec for spec in INSTRUCTIONS.values()} | {"GetSBlock": INSTRUCTIONS["get_block"]}


_LISTS = frozenset({"loops", "factors", "consumer_blocks", "new_order"})
"""Inputs that are lists: TVM writes their elements individually at the end, or as a list."""


def _from_json(json_obj: Any) -> Trace:
    """Return the trace that `json_obj` describes. Raises `TiraxError`, with the instruction, if it is malformed."""
    try:
        rows, decisions = json_obj
        decided = {int(k): v for k, v in decisions}
    except (TypeError, ValueError) as error:
        raise TiraxError("not a trace", expected="[[instruction, …], [[index, decision], …]]") from error
    out, kinds = Trace(), _by_kind()
    values: dict[str, SSAValue] = {}
    for k, row in enumerate(rows):
        try:
            kind, inputs, attrs, outputs = row
        except (TypeError, ValueError) as error:
            raise TiraxError(f"instruction {k} is no [kind, inputs, attributes, outputs]", found=row) from error
        spec = kinds.get(kind)
        if spec is None:
            raise unknown_name("instruction", str(kind), kinds)
        inst = out.record(spec.name, _arguments(spec, inputs, attrs, values), len(outputs), decided.get(k))
        values.update(zip(outputs, inst.outputs, strict=True))
    return out


def _arguments(spec: Spec, inputs: list[Any], attrs: list[Any], values: dict[str, SSAValue]) -> dict[str, Any]:
    operands = [_value(v, values) for v in inputs]
    cut = len(spec.inputs) - 1
    if spec.inputs and spec.inputs[-1] in _LISTS and not (len(operands) == cut + 1 and isinstance(operands[cut], list)):
        operands = [*operands[:cut], operands[cut:]]
    attrs = _joined(spec, attrs)
    if len(operands) > len(spec.inputs) or len(attrs) > len(spec.attrs):
        raise TiraxError(
            f"{spec.kind} has too many arguments", expected=", ".join(spec.params), found=[*inputs, *attrs]
        )
    return dict(zip(spec.inputs, operands, strict=False)) | dict(zip(spec.attrs, map(_attribute, attrs), strict=False))


def _value(value: Any, values: dict[str, SSAValue]) -> Any:
    def leaf(v: Any) -> Any:
        return v if not isinstance(v, str) else v[1:-1] if v.startswith('"') else values.get(v, v)

    return map_leaves(value, leaf)


_SIDES = ("read", "write")


def _written(name: str, value: Any) -> list[Any]:
    """Return the attributes of an argument: TVM writes a buffer as its index and 0 (read) or 1 (write)."""
    return [value[1], _SIDES.index(value[0])] if name == "buffer" else [value]


def _joined(spec: Spec, attrs: list[Any]) -> list[Any]:
    """Return an argument from its attributes, the inverse of `_written`."""
    if "buffer" not in spec.attrs or len(attrs) != len(spec.attrs) + 1:
        return attrs
    at = spec.attrs.index("buffer")
    index, side = attrs[at : at + 2]
    if side not in (0, 1):
        raise TiraxError(f"{spec.kind}: which regions of the block?", expected="0 (read) or 1 (write)", found=side)
    return [*attrs[:at], [_SIDES[side], index], *attrs[at + 2 :]]


def _attribute(value: Any) -> Any:
    """Return an attribute; an index map is stored as MLIR text."""
    if not isinstance(value, str) or not value.startswith(f"#{IndexMapAttr.name}"):
        return value
    return _parsed(value)


def _parsed(text: str) -> Attribute:
    from ..ir.passes.transform import new_context
    from ..ir.text import TextParser, read_text

    return read_text(new_context(), text, TextParser.parse_attribute)


class Location(Enum):
    """Locations of a block other than loops."""

    INLINE = "inline"
    ROOT = "root"


class RV:
    """A handle to a value of a trace; two handles to the same value are equal."""

    __slots__ = ("ssa",)

    def __init__(self, ssa: SSAValue):
        self.ssa = ssa

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, RV) and self.ssa is other.ssa

    def __hash__(self) -> int:
        return hash(self.ssa)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ssa.name_hint or '?'})"


class BlockRV(RV):
    """A handle to a block; the root block is the function's full body."""


class LoopRV(RV):
    """A handle to a loop."""


class ExprRV(RV):
    """A handle to a sampled integer."""


@dataclass(unsafe_hash=True)
class StmtSRef:
    """A reference to a block, loop or function (its own root block) in its current state; `parent` encloses it."""

    op: Operation
    gone: bool = field(default=False, init=False, compare=False)

    def __repr__(self) -> str:
        op = self.op
        name = op.block_name.data if isinstance(op, tir.BlockOp) else name_of(op.regions[0].block.args[0]) or "?"
        kind = "block" if isinstance(op, tir.BlockOp) else "loop" if isinstance(op, tir.ForOp) else "function"
        return f"StmtSRef({'removed ' * self.gone}{kind}{'' if kind == 'function' else f' {name}'})"

    @property
    def stmt(self) -> Stmt | None:
        """The `For` or `Block`, for a function its root block; None if `ScheduleState.replace` has removed it."""
        if self.gone:
            return None
        stmt = stmt_of(self.op)
        return stmt.block if isinstance(stmt, BlockRealize) else stmt

    def same_as(self, other: object) -> bool:
        """Return whether both refer to the same block or loop."""
        return isinstance(other, StmtSRef) and self.op is other.op

    @property
    def parent(self) -> StmtSRef | None:
        """The enclosing block, loop or function; None for a function."""
        above = () if isinstance(self.op, tir.FuncOp) else ancestors(self.op)
        return next((StmtSRef(op) for op in above if isinstance(op, tir.BlockOp | tir.ForOp | tir.FuncOp)), None)


_CLASSES: dict[object, type[RV]] = {sched.BLOCK: BlockRV, sched.LOOP: LoopRV, sched.INT: ExprRV}


def handle_on(value: SSAValue) -> RV:
    """Return a handle to a value of a trace."""
    return _CLASSES[value.type](value)
