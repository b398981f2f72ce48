"""The `sched` dialect: schedules as IR. A trace is a `sched.sequence` of instructions on blocks and loops.

    sched.sequence {
      %b0 = sched.get_block(name = "C", func_name = "main") : block
      %l1, %l2, %l3 = sched.get_loops(block = %b0) : loop, loop, loop
      %v4, %v5 = sched.sample_perfect_tile(loop = %l2, n = 2, max_innermost_factor = 16) decision [8, 16] : int, int
      %l6, %l7 = sched.split(loop = %l2, factors = [%v4, %v5], preserve_unit_iters = true) : loop, loop
    }

One row of `INSTRUCTIONS` declares an instruction: its name here and in Python, its kind in TVM's JSON, its arguments.
Plug-ins `declare` more. Instructions are parsed by hand: their operands are mixed with other arguments, also in lists
and dictionaries.

The default schedule of a function is a sequence that names the function and has rules for its blocks:

    sched.sequence @main {
      sched.rule "register_tiles" on "C" then "D" {lane = "vj", row = "vi", lanes = 16, vectors = 4, rows = 6}
      sched.rule "panels" on "E" {rows = 6} from 24 else "register_tiles" {rows = 6}
    }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, NoneAttr, NoneType, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Dialect, Operation, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, NoTerminator
from xdsl.utils.exceptions import VerifyException

from ..diagnostics import TiraxError
from .assembly import parse_body, parse_literal, parse_name, parse_optional_value, print_literal
from .attributes import from_attr, to_attr
from .relax.operator import OPERATORS


@irdl_attr_definition
class BlockType(ParametrizedAttribute, TypeAttribute):
    """A block of a tensor function."""

    name = "sched.block"


@irdl_attr_definition
class LoopType(ParametrizedAttribute, TypeAttribute):
    """A loop of a tensor function; also one of the places `inline` and `root` that a compute location may be
    sampled as.
    """

    name = "sched.loop"


@irdl_attr_definition
class IntType(ParametrizedAttribute, TypeAttribute):
    """A sampled integer."""

    name = "sched.int"


@irdl_attr_definition
class OperandAttr(ParametrizedAttribute):
    """A placeholder for an operand among the arguments of an instruction."""

    name = "sched.operand"
    index: IntAttr


BLOCK, LOOP, INT = BlockType(), LoopType(), IntType()
TYPES: dict[str, Attribute] = {"block": BLOCK, "loop": LOOP, "int": INT}
_TYPE_NAMES = {t: name for name, t in TYPES.items()}
_NONE = NoneAttr()

Argument = Any
"""A value (block, loop, int), a Python number, string or None, an attribute, or a list or dictionary of such."""


class Result(StrEnum):
    """The result of an instruction; a list if it is `MANY`."""

    NONE = ""
    BLOCK = "block"
    LOOP = "loop"
    INT = "int"
    BLOCKS = "blocks"
    LOOPS = "loops"
    INTS = "ints"

    @property
    def many(self) -> bool:
        return self in (Result.BLOCKS, Result.LOOPS, Result.INTS)

    @property
    def type(self) -> Attribute:
        return TYPES[self.value.removesuffix("s")]


_KEPT_LISTS = frozenset({"ann_val", "consumer_blocks", "target"})
"""Inputs that TVM writes as lists."""


@dataclass(frozen=True)
class Spec:
    """An instruction: `inputs` may be values, `attrs` are constants.

    With `spread` the inputs are written one by one, without their name; with `samples` it makes a random decision.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    attrs: tuple[str, ...]
    result: Result
    spread: bool = False
    samples: bool = False
    order: tuple[str, ...] = ()
    """The parameters in Python, if the attributes do not follow the inputs."""

    @property
    def params(self) -> tuple[str, ...]:
        return self.order or (*self.inputs, *self.attrs)

    def flat(self, inputs: list[Any]) -> list[Any]:
        """Return the inputs as TVM writes them: the elements of a trailing list are written individually."""
        if inputs and inputs[-1] is None:
            inputs = [*inputs[:-1], []]
        if not inputs or not isinstance(inputs[-1], list) or self.inputs[-1] in _KEPT_LISTS:
            return inputs
        return [*inputs[:-1], *inputs[-1]]

    @property
    def only_names(self) -> bool:
        """True if it only names things or draws random numbers, without changing the program."""
        return self.samples or self.name.startswith("get_")


@dataclass(frozen=True)
class InstructionKind:
    """TVM's kind of an instruction; `is_pure` if it only names things or draws random numbers."""

    name: str
    is_pure: bool

    def same_as(self, other: object) -> bool:
        """Return whether both are the same kind."""
        return self == other


def encode(value: Argument, operands: list[SSAValue]) -> Attribute:
    """Return an argument as an attribute; values are appended to `operands`."""
    if isinstance(value, SSAValue):
        operands.append(cast("SSAValue[Attribute]", value))
        return OperandAttr(IntAttr(len(operands) - 1))
    if value is None:
        return _NONE
    if isinstance(value, list | tuple):
        return ArrayAttr([encode(v, operands) for v in cast("Sequence[Argument]", value)])
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Argument]", value)
        return DictionaryAttr({k: encode(v, operands) for k, v in items.items()})
    return cast(Attribute, to_attr(value))


def decode(attr: Attribute, operands: Sequence[SSAValue]) -> Argument:
    """Return the argument for an attribute: the inverse of `encode`."""
    if isinstance(attr, OperandAttr):
        return operands[attr.index.data]
    if isinstance(attr, NoneAttr | NoneType):  # the text `none` is read as the type
        return None
    if isinstance(attr, ArrayAttr):
        return [decode(a, operands) for a in cast("ArrayAttr[Attribute]", attr)]
    if isinstance(attr, DictionaryAttr):
        return {k: decode(v, operands) for k, v in attr.data.items()}
    return from_attr(attr)


@irdl_op_definition
class SequenceOp(IRDLOperation):
    """A schedule: instructions in order or, with the name of a function, the rules for its blocks.

        sched.sequence {…}
        sched.sequence @main {…}

    Results of instructions are only visible inside it.
    """

    name = "sched.sequence"
    function = opt_prop_def(SymbolRefAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    def __init__(self, body: Region | None = None, function: str | None = None):
        name = None if function is None else SymbolRefAttr(function)
        super().__init__(properties={"function": name}, regions=[body or Region(Block())])

    @property
    def instructions(self) -> Iterator[Instruction]:
        return (op for op in self.body.block.ops if isinstance(op, Instruction))

    @property
    def rules(self) -> list[RuleOp]:
        """The rules for the blocks of a function."""
        return [op for op in self.body.block.ops if isinstance(op, RuleOp)]

    @property
    def function_name(self) -> str | None:
        """The function whose blocks the rules are for; None for a trace."""
        return None if self.function is None else self.function.root_reference.data

    def verify_(self) -> None:
        for op in self.body.block.ops:
            if isinstance(op, RuleOp) is (self.function is None):
                raise VerifyException(
                    "rules are for the blocks of a function: sched.sequence @f { … }"
                    if self.function is None
                    else f"{op.name} is no rule for blocks of @{self.function_name}"
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if self.function_name is not None:
            printer.print_symbol_name(self.function_name)
            printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        function = parser.parse_optional_symbol_name()
        return cls(parse_body(parser), None if function is None else function.data)


Number = int | str | list[int]
"""A parameter of a rule: a number, numbers, or the name of an iterator."""


@dataclass(frozen=True)
class Version:
    """A rule with its parameters; if another version follows, for sizes from `least` on."""

    rule: str
    numbers: Mapping[str, Number]
    least: int | None = None


@irdl_op_definition
class RuleOp(IRDLOperation):
    """A rule of the default schedule for a block, and for the elementwise block `then` that follows it:

        sched.rule "register_tiles" on "C" then "D" {lane = "vj", rows = 6, vectors = 4}
        sched.rule "panels" on "C" {rows = 6} from 24 else "register_tiles" {rows = 6}

    With `else`, the first version is used from that number of rows on, decided at run time.
    """

    name = "sched.rule"
    block_name = prop_def(StringAttr)
    then_name = opt_prop_def(StringAttr)
    version_attrs = prop_def(ArrayAttr[DictionaryAttr])
    traits = traits_def(HasParent(SequenceOp))

    def __init__(self, block: str, versions: Sequence[Version], then: str | None = None):
        super().__init__(
            properties={
                "block_name": StringAttr(block),
                "then_name": None if then is None else StringAttr(then),
                "version_attrs": ArrayAttr([_version_attr(v) for v in versions]),
            }
        )

    @property
    def then(self) -> str | None:
        """The elementwise block that follows, or None."""
        return None if self.then_name is None else self.then_name.data

    @property
    def versions(self) -> list[Version]:
        """The versions, those for larger sizes first."""
        rows = cast("list[dict[str, Any]]", [decode(v, ()) for v in self.version_attrs])
        return [Version(row["rule"], row["numbers"], row["least"]) for row in rows]

    def verify_(self) -> None:
        versions = self.versions
        if not versions or any((v.least is None) is not (v is versions[-1]) for v in versions):
            raise VerifyException(f"{self.name}: each rule but the last has a size from which on it is meant")
        for version in versions:
            for name, value in version.numbers.items():
                numbers = value if isinstance(value, list) else [value]
                if any(isinstance(n, int) and n < 1 for n in numbers):
                    raise VerifyException(f"{self.name}: {name} = {value}; numbers are positive")

    def print(self, printer: Printer) -> None:
        first, *others = self.versions
        printer.print_string(" ")
        printer.print_string_literal(first.rule)
        printer.print_string(" on ")
        printer.print_string_literal(self.block_name.data)
        if self.then is not None:
            printer.print_string(" then ")
            printer.print_string_literal(self.then)
        _print_numbers(printer, first)
        for version in others:
            printer.print_string(" else ")
            printer.print_string_literal(version.rule)
            _print_numbers(printer, version)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        rule = parser.parse_str_literal()
        parser.parse_keyword("on")
        block = parser.parse_str_literal()
        then = parser.parse_str_literal() if parser.parse_optional_keyword("then") is not None else None
        versions = [_parse_version(parser, rule)]
        while parser.parse_optional_keyword("else") is not None:
            versions.append(_parse_version(parser, parser.parse_str_literal()))
        return cls(block, versions, then)


def _version_attr(version: Version) -> DictionaryAttr:
    row = {"rule": version.rule, "numbers": version.numbers, "least": version.least}
    return cast(DictionaryAttr, encode(row, []))


def _print_numbers(printer: Printer, version: Version) -> None:
    if version.numbers:
        printer.print_string(" {")
        printer.print_list(version.numbers.items(), lambda pair: _print_pair(printer, *pair))
        printer.print_string("}")
    if version.least is not None:
        printer.print_string(f" from {version.least}")


def _parse_version(parser: Parser, rule: str) -> Version:
    pairs = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_number(parser))
    least = _positive(parser, "from") if parser.parse_optional_keyword("from") is not None else None
    return Version(rule, dict(pairs or ()), least)


def _parse_number(parser: Parser) -> tuple[str, Number]:
    name = parser.parse_identifier()
    parser.parse_punctuation("=")
    text = parser.parse_optional_str_literal()
    if text is not None:
        return name, text
    numbers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _positive(parser, name))
    return name, _positive(parser, name) if numbers is None else numbers


def _positive(parser: Parser, name: str) -> int:
    """Parse a positive number; otherwise the error points at it."""
    pos = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if value < 1:
        parser.raise_error(f"{name} = {value}: numbers of a schedule are positive", pos)
    return value


class Instruction(IRDLOperation):
    """A step of a schedule: `%l6, %l7 = sched.split(loop = %l2, factors = [8, 16]) : loop, loop`."""

    SPEC: ClassVar[Spec]
    WRITTEN: ClassVar[Callable[[Any], str] | None] = None
    """The text of an instruction that is in no trace, which the traces set: `_, _ = sch.get_loops(block=_)`."""
    values = var_operand_def()
    arguments = prop_def(DictionaryAttr)
    decision_attr = opt_prop_def(Attribute, prop_name="decision")
    outputs = var_result_def()

    @classmethod
    def of(cls, arguments: Mapping[str, Argument], outputs: int, decision: Argument = None) -> Self:
        """Return the instruction with `arguments` by name, with `outputs` results."""
        operands: list[SSAValue] = []
        encoded = {k: encode(arguments[k], operands) for k in cls.SPEC.params if k in arguments}
        return cls._created(operands, encoded, [cls.SPEC.result.type] * outputs if outputs else [], decision)

    @classmethod
    def _created(
        cls, operands: list[SSAValue], arguments: dict[str, Attribute], types: list[Attribute], decision: Argument
    ) -> Self:
        properties: dict[str, Attribute | None] = {"arguments": DictionaryAttr(arguments)}
        properties["decision"] = None if decision is None else encode(decision, [])
        return cls(operands=[operands], properties=properties, result_types=[types])

    def __str__(self) -> str:
        written = type(self).WRITTEN
        return super().__str__() if self.parent is not None or written is None else written(self)

    @property
    def args(self) -> dict[str, Argument]:
        """The arguments by name."""
        return {k: decode(v, self.operands) for k, v in self.arguments.data.items()}

    @property
    def kind(self) -> InstructionKind:
        """The instruction by TVM's name."""
        return InstructionKind(self.SPEC.kind, self.SPEC.only_names)

    @property
    def inputs(self) -> list[Argument]:
        """The arguments that may be values, in order; the elements of a trailing list one by one, as in TVM."""
        args = self.args
        return self.SPEC.flat([args[k] for k in self.SPEC.inputs if k in args])

    @property
    def attrs(self) -> list[Argument]:
        """The arguments that are constants, in order."""
        args = self.args
        return [args[k] for k in self.SPEC.attrs if k in args]

    @property
    def decision(self) -> Argument:
        """The decision of a sampling instruction, None if it is open."""
        return None if self.decision_attr is None else decode(self.decision_attr, [])

    def verify_(self) -> None:
        unknown = sorted(set(self.arguments.data) - set(self.SPEC.params))
        if unknown:
            raise VerifyException(f"{self.name} has no argument {', '.join(unknown)}")
        if self.decision_attr is not None and not self.SPEC.samples:
            raise VerifyException(f"{self.name} decides nothing")
        allowed = self.SPEC.result is not Result.NONE and self.SPEC.result.type
        for output in self.outputs:
            if output.type != allowed:
                raise VerifyException(f"{self.name} gives {self.SPEC.result.value or 'nothing'}, not {output.type}")

    def print(self, printer: Printer) -> None:
        args = self.args
        with printer.in_parens():
            printer.print_list(
                [(k, args[k]) for k in self.SPEC.params if k in args], lambda p: _print_pair(printer, *p)
            )
        if self.decision_attr is not None:
            printer.print_string(" decision ")
            _print_argument(printer, self.decision)
        if self.outputs:
            printer.print_string(" : " + ", ".join(_TYPE_NAMES[r.type] for r in self.outputs))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands: list[SSAValue] = []
        arguments: dict[str, Attribute] = {}

        def pair() -> None:
            name = parse_name(parser, f"{cls.name} has no argument", cls.SPEC.params)
            arguments[name] = encode(_parse_argument(parser), operands)

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, pair)
        decided = parser.parse_optional_keyword("decision") is not None
        decision = _parse_argument(parser) if decided else None
        types: list[Attribute] = []
        if parser.parse_optional_punctuation(":") is not None:
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_type(parser))
        return cls._created(operands, arguments, types, decision)


def _print_pair(printer: Printer, name: str, value: Argument) -> None:
    printer.print_string(f"{name} = ")
    _print_argument(printer, value)


def _print_argument(printer: Printer, value: Argument) -> None:
    if isinstance(value, SSAValue):
        printer.print_ssa_value(cast("SSAValue[Attribute]", value))
    elif isinstance(value, dict):
        with printer.in_braces():
            items = cast("dict[str, Argument]", value).items()
            printer.print_list(items, lambda p: _print_key(printer, *p))
    else:
        print_literal(printer, value, _print_argument)


def _print_key(printer: Printer, key: str, value: Argument) -> None:
    printer.print_string_literal(key)
    printer.print_string(" = ")
    _print_argument(printer, value)


def _parse_argument(parser: Parser) -> Argument:
    operand = parse_optional_value(parser)
    if operand is not None:
        return operand
    pairs = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_key(parser))
    return parse_literal(parser, _parse_argument) if pairs is None else dict(pairs)


def _parse_key(parser: Parser) -> tuple[str, Argument]:
    key = parser.parse_str_literal()
    parser.parse_punctuation("=")
    return key, _parse_argument(parser)


def _parse_type(parser: Parser) -> Attribute:
    pos = parser.pos
    word = parser.parse_identifier()
    if word not in TYPES:
        parser.raise_error(f"expected a type: {', '.join(TYPES)}", pos)
    return TYPES[word]


def _spec(name: str, inputs: str = "", attrs: str = "", result: Result = Result.NONE, **options: Any) -> Spec:
    options["order"] = tuple(options.pop("order", "").split())
    kind = options.pop("kind", None) or "".join(part.capitalize() for part in name.split("_"))
    return Spec(name, kind, tuple(inputs.split()), tuple(attrs.split()), result, **options)


INSTRUCTIONS: dict[str, Spec] = {
    spec.name: spec
    for spec in (
        _spec("get_block", "", "name func_name", Result.BLOCK),
        _spec("get_loops", "block", "", Result.LOOPS),
        _spec("get_child_blocks", "block_or_loop", "", Result.BLOCKS, spread=True),
        _spec("get_producers", "block", "", Result.BLOCKS),
        _spec("get_consumers", "block", "", Result.BLOCKS),
        _spec("get_output_blocks", "scope_block", "", Result.BLOCKS),
        _spec("sample_categorical", "", "candidates probs", Result.INT, samples=True),
        _spec("sample_perfect_tile", "loop", "n max_innermost_factor", Result.INTS, samples=True),
        _spec("sample_partitioned_tile", "loop", "n partition_pos innerpart_factor", Result.INTS, samples=True),
        _spec("sample_compute_location", "block", "", Result.LOOP, samples=True),
        _spec("merge", "loops", "", Result.LOOP, spread=True),
        _spec("fuse", "loops", "preserve_unit_iters", Result.LOOP, spread=True),
        _spec("split", "loop factors", "preserve_unit_iters disable_predication", Result.LOOPS),
        _spec("loop_partition", "loop factors", "preserve_unit_iters", Result.LOOPS),
        _spec("reorder", "loops", "", spread=True),
        _spec("reorder_block_iter_var", "block new_order", "", kind="ReorderBlockIterVar"),
        _spec("add_unit_loop", "block_or_loop", "", Result.LOOP),
        _spec("parallel", "loop"),
        _spec("vectorize", "loop"),
        _spec("unroll", "loop"),
        _spec("bind", "loop", "thread_axis"),
        _spec(
            "cache_read",
            "block consumer_blocks",
            "read_buffer_index storage_scope",
            Result.BLOCK,
            order="block read_buffer_index storage_scope consumer_blocks",
        ),
        _spec(
            "cache_write",
            "block consumer_blocks",
            "write_buffer_index storage_scope",
            Result.BLOCK,
            order="block write_buffer_index storage_scope consumer_blocks",
        ),
        _spec("reindex_cache_read", "block", "read_buffer_index storage_scope index_map", Result.BLOCK),
        _spec("reindex_cache_write", "block", "write_buffer_index storage_scope index_map", Result.BLOCK),
        _spec("cache_inplace", "block", "read_buffer_index storage_scope", Result.BLOCKS),
        _spec("cache_index", "block", "storage_scope cse_thresh", Result.BLOCKS),
        _spec("reindex", "block", "buffer", Result.BLOCK, kind="ReIndex"),
        _spec("read_at", "loop block", "read_buffer_index storage_scope", Result.BLOCK),
        _spec("write_at", "loop block", "write_buffer_index storage_scope", Result.BLOCK),
        _spec("compute_at", "block loop", "preserve_unit_loops index"),
        _spec("reverse_compute_at", "block loop", "preserve_unit_loops index"),
        _spec("compute_inline", "block"),
        _spec("reverse_compute_inline", "block"),
        _spec("decompose_reduction", "block loop", "", Result.BLOCK),
        _spec("rfactor", "loop", "factor_axis", Result.BLOCK, kind="RFactor"),
        _spec("storage_align", "block", "buffer_index axis factor offset"),
        _spec("set_scope", "block", "buffer_index storage_scope"),
        _spec("unsafe_set_dtype", "block", "buffer_index dtype", kind="UnsafeSetDType"),
        _spec("blockize", "target", "preserve_unit_iters", Result.BLOCK),
        _spec("tensorize", "block_or_loop", "tensor_intrin preserve_unit_iters"),
        _spec("annotate", "block_or_loop ann_val", "ann_key", order="block_or_loop ann_key ann_val"),
        _spec("unannotate", "block_or_loop", "ann_key"),
        _spec("transform_layout", "block", "buffer index_map pad_value assume_injective_transform"),
        _spec("transform_block_layout", "block", "index_map"),
        _spec("set_axis_separator", "block", "buffer axis_separators"),
        _spec("annotate_buffer_access", "block", "buffer_index buf_type gen_new_ranges"),
        _spec("unsafe_hide_buffer_access", "block", "buf_type buf_index_array"),
        _spec("pad_einsum", "block", "padding"),
        _spec("decompose_padding", "block loop", "", Result.BLOCK),
        _spec("rolling_buffer", "block", "write_buffer_index"),
        _spec("enter_postproc"),
    )
}
"""Every instruction by name."""


def spec_of(name: str, inputs: Sequence[str], attrs: Sequence[str], result: Result, order: Sequence[str]) -> Spec:
    """Return the row of an instruction of a plug-in; `order` are its parameters in Python."""
    return _spec(name, " ".join(inputs), " ".join(attrs), result, order=" ".join(order))


def declare(spec: Spec) -> None:
    """Add an instruction to the dialect. Raises `TiraxError` if it already has one with that name or kind."""
    taken = next((s for s in INSTRUCTIONS.values() if spec.name == s.name or spec.kind == s.kind), None)
    if taken is not None and taken != spec:
        hint = f"begin its name with that of the package: acme_{spec.name}"
        raise TiraxError(f"the dialect sched has an instruction {taken.name} already", hint=hint)
    if taken is None:
        INSTRUCTIONS[spec.name] = spec
        OPS[spec.name] = _instruction(spec)


def _instruction(spec: Spec) -> type[Instruction]:
    body = {"__doc__": f"`{spec.name}` of a schedule.", "name": f"sched.{spec.name}"}
    undefined: Any = type(f"{spec.kind}Op", (Instruction,), {**body, "traits": traits_def(HasParent(SequenceOp))})
    defined: type[Instruction] = irdl_op_definition(undefined)
    defined.SPEC = spec
    return defined


OPS: dict[str, type[Instruction]] = {name: _instruction(spec) for name, spec in INSTRUCTIONS.items()}
"""The operation of each instruction."""


class _SchedDialect(Dialect):
    """The dialect; the instructions of plug-ins are loaded when its operations are first requested."""

    @property
    def operations(self) -> Iterator[type[Operation]]:
        OPERATORS.load()
        return iter([SequenceOp, RuleOp, *OPS.values()])


Sched = _SchedDialect("sched", _attributes=[BlockType, LoopType, IntType, OperandAttr])
