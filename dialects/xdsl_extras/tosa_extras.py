"""The operations of `tosa`, of which xDSL has some: a class for each name, with any attributes.

    %0 = tosa.conv2d %x, %w, %b, %p, %q {pad = array<i64: 0, 0, 0, 0>, …} : (tensor<…>, …) -> tensor<…>

Their meaning is in `frontend/mlir/tosa.py`; what they accept is MLIR's to verify.
"""

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from .forms import WordAttr

NAMES = (
    "abs", "add", "argmax", "arithmetic_right_shift", "avg_pool2d", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "cast", "ceil", "clamp", "clz", "concat", "const", "const_shape", "conv2d", "conv3d", "cos",
    "depthwise_conv2d", "equal", "erf", "exp", "floor", "gather", "greater", "greater_equal", "identity", "intdiv",
    "log", "logical_and", "logical_left_shift", "logical_not", "logical_or", "logical_right_shift", "logical_xor",
    "matmul", "max_pool2d", "maximum", "minimum", "mul", "negate", "pad", "pow", "reciprocal", "reduce_all",
    "reduce_any", "reduce_max", "reduce_min", "reduce_product", "reduce_sum", "rescale", "reshape", "resize",
    "reverse", "rsqrt", "scatter", "select", "sigmoid", "sin", "slice", "sub", "table", "tanh", "tile",
    "transpose", "transpose_conv2d",
)  # fmt: skip


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """The type of a shape: `!tosa.shape<2>`, with the number of its extents."""

    name = "tosa.shape"

    rank: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.rank.data))


class TosaOp(Operation):
    """An operation with operands, results and attributes of its own."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        properties = {}
        if parser.parse_optional_punctuation("<"):
            properties = parser.parse_optional_attr_dict()
            parser.parse_punctuation(">")
        properties |= _parenthesized(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        if names is None and not properties.keys() & {"values"}:
            return cls.create(result_types=[parser.parse_type()], properties=properties, attributes=attributes)
        kind = parser.parse_function_type()
        return cls.create(
            operands=parser.resolve_operands(names or (), kind.inputs.data, parser.pos),
            result_types=kind.outputs.data,
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_op_attributes(self.properties | self.attributes)
        printer.print_string(" : ")
        if self.operands:
            printer.print_operation_type(self)
        else:
            printer.print_attribute(self.results[0].type)

    def attribute(self, name: str) -> Attribute | None:
        """Return an attribute, as a property or not."""
        return self.properties.get(name) or self.attributes.get(name)


def _parenthesized(parser: Parser) -> dict[str, Attribute]:
    """Parse `pad([0, 0]) acc_type(f32) mode<BILINEAR>`, as MLIR prints attributes since 2026."""
    found: dict[str, Attribute] = {}
    while (name := parser.parse_optional_identifier()) is not None:
        if parser.parse_optional_punctuation("<"):
            found[name] = StringAttr(parser.parse_identifier())
            parser.parse_punctuation(">")
            continue
        parser.parse_punctuation("(")
        value = parser.parse_attribute()
        elements = list(cast("ArrayAttr[Attribute]", value)) if isinstance(value, ArrayAttr) else []
        numbers = [v.value.data for v in elements if isinstance(v, IntegerAttr)]
        whole = isinstance(value, ArrayAttr) and len(numbers) == len(elements)
        found[name] = DenseArrayBase.from_list(i64, numbers) if whole else value
        parser.parse_punctuation(")")
    return found


@irdl_attr_definition
class ResizeModeAttr(WordAttr):
    """`#tosa.resize_mode<BILINEAR>`."""

    name = "tosa.resize_mode"


def _class(name: str) -> type[Operation]:
    words = "".join(word.capitalize() for word in name.split("_"))
    body = {"name": f"tosa.{name}", "__module__": __name__, "__doc__": f"`tosa.{name}`."}
    return type(f"{words}Op", (TosaOp,), body)


OPERATIONS = tuple(map(_class, NAMES))
"""What the dialect `tosa` has instead of xDSL's operations of these names."""
ATTRIBUTES = (ShapeType, ResizeModeAttr)
"""The types and attributes that `tosa` has in addition to xDSL's."""
