"""The structure of Relax programs: dataflow blocks, branches, bindings and tuples.

Leaves and tuples print inline in TVMScript if they have no name, and as a binding if they have one. Ops with untyped
operands, results whose type follows from a region or an attribute, or symbolic expressions have hand-written parsers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from xdsl.dialects.builtin import (
    IntAttr,
    TupleType,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.traits import (
    HasParent,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from .. import assembly as asm
from .types import (
    OBJECT,
    TensorType,
    is_base_of,
    tuple_type,
)

if TYPE_CHECKING:
    pass
from .leaves import LEAVES


@irdl_op_definition
class DataflowOp(asm.FormattedOp):
    """A dataflow block: a region of pure bindings. Its results are the operands of `relax.output`."""

    name = "relax.dataflow"
    outputs = var_result_def()
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())
    FORMAT: ClassVar = (asm.region("body"),)

    def __init__(self, body: Region):
        last = body.block.last_op
        types = [v.type for v in last.operands] if isinstance(last, OutputOp) else []
        super().__init__(regions=[body], result_types=[types])

    @property
    def output_op(self) -> OutputOp:
        return cast(OutputOp, self.body.block.last_op)

    def verify_(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, OutputOp):
            raise VerifyException("a dataflow block must end with relax.output")
        if [v.type for v in last.values_] != [r.type for r in self.outputs]:
            raise VerifyException("the results of a dataflow block must have the types of what relax.output names")
        for op in self.body.block.ops:
            if isinstance(op, IfOp | DataflowOp):
                raise VerifyException(f"{op.name} must not stand in a dataflow block")
            if not getattr(op, "PURE", True):
                raise VerifyException(f"{op.name} may have effects and must not stand in a dataflow block")


@irdl_op_definition
class OutputOp(IRDLOperation):
    """`relax.output %a, %b`: ends a dataflow block and returns its results."""

    name = "relax.output"
    values_ = var_operand_def()
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(DataflowOp)))
    assembly_format = "($values_^ `:` type($values_))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])


@irdl_op_definition
class IfOp(asm.FormattedOp):
    """A branch on a bool tensor of rank 0 (or an i1 prim value); both regions end with `relax.yield`.

    %r = relax.if %c : !relax.tensor<[n], f32> {…} else {…}
    """

    name = "relax.if"
    cond = operand_def()
    result = result_def()
    then_region = region_def("single_block")
    else_region = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())
    FORMAT: ClassVar = (
        asm.value("cond"),
        asm.typed("result_type", "result.type"),
        asm.region("then_region"),
        " else",
        asm.region("else_region"),
    )

    def __init__(self, cond: SSAValue, result_type: Attribute, then_region: Region, else_region: Region):
        super().__init__(operands=[cond], result_types=[result_type], regions=[then_region, else_region])

    def verify_(self) -> None:
        for region in (self.then_region, self.else_region):
            last = region.block.last_op
            if not isinstance(last, YieldOp):
                raise VerifyException("both branches of relax.if must end with relax.yield")
            if not is_base_of(self.result.type, last.value.type):
                raise VerifyException(f"a branch gives {last.value.type} where relax.if declares {self.result.type}")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`relax.yield %v`: the value of a branch."""

    name = "relax.yield"
    value = operand_def()
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(IfOp)))
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


@irdl_op_definition
class BindOp(IRDLOperation):
    """`%y = relax.bind %x : T`: another name for a value (`y = x` in TVMScript)."""

    name = "relax.bind"
    value = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, result_type: Attribute | None = None):
        super().__init__(operands=[value], result_types=[result_type or value.type])

    def verify_(self) -> None:
        if not is_base_of(self.result.type, self.value.type):
            raise VerifyException(f"relax.bind gives {self.result.type} to a value of {self.value.type}")


@irdl_op_definition
class MatchCastOp(IRDLOperation):
    """`%y = relax.match_cast %x : T -> U`: checks at run time that x has type U and binds U's new symbolic
    variables.
    """

    name = "relax.match_cast"
    value = operand_def()
    result = result_def()
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, result_type: Attribute):
        super().__init__(operands=[value], result_types=[result_type])

    def verify_(self) -> None:
        actual, declared = self.value.type, self.result.type
        impossible = type(actual) is not type(declared) and OBJECT not in (actual, declared)
        if isinstance(actual, TensorType) and isinstance(declared, TensorType):
            ranks = {actual.rank, declared.rank} - {None}
            elements = {actual.element, declared.element} - {None}
            impossible = len(ranks) > 1 or len(elements) > 1
        if impossible:
            raise VerifyException(f"a value of {actual} can never be of {declared}")


@irdl_op_definition
class TupleOp(asm.FormattedOp):
    """`%t = relax.tuple(%a, %b) : tuple<A, B>`."""

    name = "relax.tuple"
    fields_ = var_operand_def()
    result = result_def(TupleType)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (asm.values("values", "fields_"),)

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values], result_types=[tuple_type(v.type for v in values)])

    def verify_(self) -> None:
        if list(self.result.type.types) != [v.type for v in self.fields_]:
            raise VerifyException("the type of a tuple must list the types of its fields")


def _parse_index(parser: Parser) -> int:
    with parser.in_square_brackets():
        return parser.parse_integer(allow_boolean=False, allow_negative=False)


_INDEX = asm.kind_of_part(lambda printer, index: printer.print_string(f"[{index.data}]"), _parse_index, "[{}]")("index")


@irdl_op_definition
class TupleGetItemOp(asm.FormattedOp):
    """`%a = relax.tuple_get_item %t[0] : A`."""

    name = "relax.tuple_get_item"
    tuple_ = operand_def()
    index = prop_def(IntAttr)
    result = result_def()
    traits = traits_def(Pure())
    FORMAT: ClassVar = (asm.value("value", "tuple_"), _INDEX, asm.typed("result_type", "result.type"))

    def __init__(self, value: SSAValue, index: int, result_type: Attribute | None = None):
        result_type = result_type or self.infer(value.type, index)
        super().__init__(operands=[value], properties={"index": IntAttr(index)}, result_types=[result_type])

    @staticmethod
    def infer(tuple_type: Attribute, index: int) -> Attribute:
        """Return the struct info of a field of `tuple_type`; object if it is unknown."""
        fields = tuple_type.types.data if isinstance(tuple_type, TupleType) else ()
        return fields[index] if 0 <= index < len(fields) else OBJECT

    def verify_(self) -> None:
        t = self.tuple_.type
        if isinstance(t, TupleType):
            if not 0 <= self.index.data < len(t.types):
                raise VerifyException(f"index {self.index.data} of a tuple of {len(t.types)} fields")
            if not is_base_of(self.result.type, t.types.data[self.index.data]):
                raise VerifyException(
                    f"field {self.index.data} is {t.types.data[self.index.data]}, not {self.result.type}"
                )
        elif t != OBJECT:
            raise VerifyException(f"relax.tuple_get_item takes a tuple, found {t}")


INLINE_OPS: tuple[type[Operation], ...] = (*LEAVES, TupleOp)
"""Leaves and tuples: without a name they are not bindings, but part of the bindings that use them."""

_INLINE = frozenset(INLINE_OPS)


def is_inline(op: Operation) -> bool:
    """Return whether an op is part of the bindings that use it: a leaf or tuple without a name."""
    return type(op) in _INLINE and op.results[0].name_hint is None
