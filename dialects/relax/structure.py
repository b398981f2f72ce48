"""The structure of Relax programs: functions, dataflow blocks, branches, bindings, tuples and leaves.

Leaves (`constant`, `shape`, `prim_value`, `string`, `extern_func`, `function_ref`, `null_value`) and tuples print
inline in TVMScript if they have no name, and as a binding if they have one. Ops with untyped operands, results whose
type follows from a region or an attribute, or symbolic expressions have hand-written parsers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    DictionaryAttr,
    FloatAttr,
    IntAttr,
    NoneType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TupleType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from .. import assembly as asm
from ..assembly import parse_attr_dict, print_attr_dict
from ..attributes import PyValue, function_attrs
from ..dtypes import dtype_name
from ..sym import SymAttr
from ..sym.expr import ExprLike
from ..sym.text import exprs_part, parse_expr
from ..sym.writing import expr_text
from .data import CONTENTS, TensorDataAttr
from .types import (
    OBJECT,
    STRUCT_INFO,
    CallableType,
    Dims,
    PrimType,
    ShapeType,
    TensorType,
    dims_attr,
    is_base_of,
    tuple_type,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PRIVATE = StringAttr("private")


def check_visibility(name: str, visibility: StringAttr | None) -> None:
    """Raise `VerifyException` unless a function is private or, without an attribute, public."""
    if visibility is not None and visibility != PRIVATE:
        raise VerifyException(f'the visibility of @{name} must be "private", or left out, not {visibility}')


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A Relax function.

        relax.func private @f(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes {a = 1 : i64} {…}

    `impure` precedes the body if calls of it may have effects. Symbolic variables are scoped to the function.
    """

    name = "relax.func"
    sym_name = prop_def(StringAttr)
    sym_visibility = opt_prop_def(StringAttr)
    ret_type = prop_def(Attribute)
    func_attrs = opt_prop_def(DictionaryAttr)
    impure = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        body: Region,
        ret_type: Attribute,
        *,
        private: bool = False,
        attrs: dict[str, PyValue] | DictionaryAttr | None = None,
        pure: bool = True,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "sym_visibility": PRIVATE if private else None,
                "ret_type": ret_type,
                "func_attrs": function_attrs(attrs),
                "impure": None if pure else UnitAttr(),
            },
            regions=[body],
        )

    @property
    def private(self) -> bool:
        return self.sym_visibility == PRIVATE

    @property
    def pure(self) -> bool:
        return self.impure is None

    @property
    def params(self) -> Sequence[SSAValue]:
        return self.body.block.args

    @property
    def return_op(self) -> ReturnOp:
        return cast(ReturnOp, self.body.block.last_op)

    @property
    def callable_type(self) -> CallableType:
        return CallableType.of([p.type for p in self.params], self.ret_type, self.pure)

    def verify_(self) -> None:
        check_visibility(self.sym_name.data, self.sym_visibility)
        for i, p in enumerate(self.params):
            if not isinstance(p.type, STRUCT_INFO):
                raise VerifyException(
                    f"parameter {i} of @{self.sym_name.data} has type {p.type}, which is no struct info"
                )
        last = self.body.block.last_op
        if not isinstance(last, ReturnOp):
            raise VerifyException(f"the body of @{self.sym_name.data} must end with relax.return")
        if not is_base_of(self.ret_type, last.value.type):
            raise VerifyException(
                f"@{self.sym_name.data} declares the result {self.ret_type} and returns {last.value.type}"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" private " if self.private else " ")
        printer.print_symbol_name(self.sym_name.data)
        _print_function(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        private = parser.parse_optional_keyword("private") is not None
        name = parser.parse_symbol_name().data
        params, ret, attrs, pure = _parse_signature(parser)
        return cls(name, parser.parse_region(params), ret, private=private, attrs=attrs, pure=pure)


def _print_function(printer: Printer, op: FuncOp | ClosureOp) -> None:
    """Print parameters, result type, attributes and body."""
    with printer.in_parens():
        printer.print_list(op.body.block.args, printer.print_block_argument)
    printer.print_string(" -> ")
    printer.print_attribute(op.ret_type)
    if op.impure is not None:
        printer.print_string(" impure")
    print_attr_dict(printer, op.func_attrs)
    printer.print_string(" ")
    printer.print_region(op.body, print_entry_block_args=False, print_empty_block=False)


def _parse_signature(parser: Parser) -> tuple[list[Parser.Argument], Attribute, DictionaryAttr | None, bool]:
    """Parse the output of `_print_function` before the body: parameters, result type, attributes, and purity."""
    args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
    parser.parse_punctuation("->")
    params = [a.resolve(a.type) if isinstance(a, Parser.UnresolvedArgument) else a for a in args]
    ret = parser.parse_type()
    pure = parser.parse_optional_keyword("impure") is None
    return params, ret, parse_attr_dict(parser), pure


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """`relax.return %gv`: ends the body of a function."""

    name = "relax.return"
    value = operand_def()
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(FuncOp, ClosureOp)))
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


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
class ClosureOp(IRDLOperation):
    """A local function: a value that `relax.call_value` calls.

        %f = relax.closure(%a: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {…}

    It may use values from outside. `impure` precedes the body if calls of it may have effects. A recursive one repeats
    its name, so that its text can be parsed in one pass:

        %f = relax.closure itself %f(%a: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {… %f …}
    """

    name = "relax.closure"
    ret_type = prop_def(Attribute)
    func_attrs = opt_prop_def(DictionaryAttr)
    impure = opt_prop_def(UnitAttr)
    result = result_def(CallableType)
    body = region_def("single_block")
    traits = traits_def(Pure())

    def __init__(
        self,
        body: Region,
        ret_type: Attribute,
        *,
        attrs: dict[str, PyValue] | DictionaryAttr | None = None,
        pure: bool = True,
    ):
        super().__init__(
            properties={
                "ret_type": ret_type,
                "func_attrs": function_attrs(attrs),
                "impure": None if pure else UnitAttr(),
            },
            regions=[body],
            result_types=[CallableType.of([a.type for a in body.block.args], ret_type, pure)],
        )

    @property
    def is_recursive(self) -> bool:
        """True if it uses itself."""
        return any(self.is_ancestor(use.operation) for use in self.result.uses)

    def print(self, printer: Printer) -> None:
        if self.is_recursive:
            printer.print_string(" itself ")
            printer.print_operand(self.result)
        _print_function(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        recursive = parser.parse_optional_keyword("itself") is not None
        name = parser.parse_unresolved_operand() if recursive else None
        params, ret, attrs, pure = _parse_signature(parser)
        if name is None:
            return cls(parser.parse_region(params), ret, attrs=attrs, pure=pure)
        if name.operand_name in parser.ssa_values:
            parser.raise_error(f"%{name.operand_name} is defined already", name.span.start, name.span.end)
        itself = Block(arg_types=[CallableType.of([p.type for p in params], ret, pure)]).args[0]
        parser.ssa_values[name.operand_name] = (itself,)
        body = parser.parse_region(params)
        del parser.ssa_values[name.operand_name]
        op = cls(body, ret, attrs=attrs, pure=pure)
        itself.replace_all_uses_with(op.result)
        return op


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


@irdl_op_definition
class ConstantOp(asm.FormattedOp):
    """`%c = relax.constant #relax.data<f32 [] 1.0>`: a constant tensor."""

    name = "relax.constant"
    value = prop_def(TensorDataAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (CONTENTS,)

    def __init__(self, value: TensorDataAttr):
        result = TensorType.of(value.data.shape, value.data.dtype)
        super().__init__(properties={"value": value}, result_types=[result])

    @classmethod
    def of(cls, array: ArrayLike, dtype: Attribute) -> Self:
        """Return the constant with the contents of `array`, converted to `dtype`."""
        return cls(TensorDataAttr.from_numpy(array, dtype))

    def named_after(self, *values: SSAValue) -> Self:
        """Name the constant after the first named constant from which `values` are computed, and return it."""
        key = next(filter(None, map(_key, values)), None)
        if key is not None:
            self.value = TensorDataAttr(replace(self.value.data, key=key))
        return self

    def verify_(self) -> None:
        data = self.value.data
        if self.result.type != TensorType.of(data.shape, data.dtype):
            raise VerifyException(f"a constant of {data.dtype} {list(data.shape)} has the type {self.result.type}")


def _key(value: SSAValue) -> str | None:
    """Return the model's name of the constant that a value is, or is computed from by its first operands."""
    op = value.owner
    while isinstance(op, Operation) and op.operands:
        op = op.operands[0].owner
    return op.value.data.key if isinstance(op, ConstantOp) else None


@irdl_op_definition
class ShapeOp(asm.FormattedOp):
    """`%s = relax.shape [n, 4]`: a shape value."""

    name = "relax.shape"
    values_ = prop_def(Dims)
    result = result_def(ShapeType)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (exprs_part("values", "values_"),)

    def __init__(self, values: Iterable[ExprLike | str]):
        dims = dims_attr(values)
        super().__init__(properties={"values_": dims}, result_types=[ShapeType.of(d.data for d in dims)])

    def verify_(self) -> None:
        if self.result.type != ShapeType.of(d.data for d in self.values_):
            raise VerifyException("the type of relax.shape must hold its values")


@irdl_op_definition
class PrimValueOp(IRDLOperation):
    """`%v = relax.prim_value n + 1`: a symbolic integer as a value; `relax.prim_value float 1.5 : f32` a float."""

    name = "relax.prim_value"
    value = prop_def(SymAttr | FloatAttr)
    result = result_def(PrimType)
    traits = traits_def(Pure())

    def __init__(self, value: SymAttr | FloatAttr | ExprLike | str):
        attr = value if isinstance(value, SymAttr | FloatAttr) else SymAttr.of(value)
        result = PrimType.of(attr.data.dtype, attr.data) if isinstance(attr, SymAttr) else PrimType.of(attr.type)
        super().__init__(properties={"value": attr}, result_types=[result])

    def print(self, printer: Printer) -> None:
        if isinstance(self.value, SymAttr):
            printer.print_string(" " + expr_text(self.value.data))
        else:
            printer.print_string(" float ")
            printer.print_attribute(self.value)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if parser.parse_optional_keyword("float") is None:
            return cls(parse_expr(parser))
        number = parser.parse_attribute()
        if not isinstance(number, FloatAttr):
            parser.raise_error(f"expected a float such as 1.0 : f32, found {number}")
        return cls(cast("FloatAttr", number))


@irdl_op_definition
class StringOp(IRDLOperation):
    """`%s = relax.string "text"`."""

    name = "relax.string"
    value = prop_def(StringAttr)
    result = result_def(OBJECT)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict"

    def __init__(self, value: str):
        super().__init__(properties={"value": StringAttr(value)}, result_types=[OBJECT])


@irdl_op_definition
class DataTypeOp(asm.FormattedOp):
    """`%d = relax.dtype f32`: a data type as a value; `none` is the unknown one, void in TVM."""

    name = "relax.dtype"
    value = prop_def(Attribute)
    result = result_def()
    traits = traits_def(Pure())
    FORMAT: ClassVar = (asm.type_of("value"),)

    def __init__(self, value: Attribute | None):
        super().__init__(properties={"value": NoneType() if value is None else value}, result_types=[OBJECT])

    @property
    def is_void(self) -> bool:
        """True if it is unknown."""
        return isinstance(self.value, NoneType)

    @property
    def text(self) -> str:
        """TVM's name of the data type."""
        return "void" if self.is_void else dtype_name(self.value)


@irdl_op_definition
class NullValueOp(IRDLOperation):
    """`%n = relax.null_value`: the null object."""

    name = "relax.null_value"
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self) -> None:
        super().__init__(result_types=[OBJECT])


@irdl_op_definition
class FunctionRefOp(IRDLOperation):
    """`%f = relax.function_ref @f : !relax.callable<…>`: a function of the module as a value."""

    name = "relax.function_ref"
    callee = prop_def(SymbolRefAttr)
    result = result_def(CallableType)
    traits = traits_def(Pure())
    assembly_format = "$callee attr-dict `:` type($result)"

    def __init__(self, callee: str, result_type: CallableType):
        super().__init__(properties={"callee": SymbolRefAttr(callee)}, result_types=[result_type])


@irdl_op_definition
class ExternFuncOp(IRDLOperation):
    """`%f = relax.extern_func "name" : !relax.callable<…>`: a packed function as a value."""

    name = "relax.extern_func"
    global_symbol = prop_def(StringAttr)
    result = result_def(CallableType)
    traits = traits_def(Pure())
    assembly_format = "$global_symbol attr-dict `:` type($result)"

    def __init__(self, name: str, result_type: CallableType | None = None):
        result = result_type or CallableType.of(None, OBJECT, pure=False)
        super().__init__(properties={"global_symbol": StringAttr(name)}, result_types=[result])


@irdl_op_definition
class ExternOp(IRDLOperation):
    """`relax.extern @f = "name" : !relax.callable<…>`: a packed function as a member of the module.

    Functions call it by its own name, like any packed function: `relax.call_packed "name"`.
    """

    name = "relax.extern"
    sym_name = prop_def(SymbolNameConstraint())
    global_symbol = prop_def(StringAttr)
    callable_type = prop_def(CallableType)
    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name `=` $global_symbol attr-dict `:` $callable_type"

    def __init__(self, sym_name: str, global_symbol: str, callable_type: CallableType):
        super().__init__(
            properties={
                "sym_name": StringAttr(sym_name),
                "global_symbol": StringAttr(global_symbol),
                "callable_type": callable_type,
            }
        )


LEAVES: tuple[type[Operation], ...] = (
    ConstantOp,
    ShapeOp,
    PrimValueOp,
    StringOp,
    DataTypeOp,
    NullValueOp,
    FunctionRefOp,
    ExternFuncOp,
)
"""Ops that print as an operand in TVMScript if they have no name."""
INLINE_OPS: tuple[type[Operation], ...] = (*LEAVES, TupleOp)
"""Leaves and tuples: without a name they are not bindings, but part of the bindings that use them."""
_INLINE = frozenset(INLINE_OPS)


def is_inline(op: Operation) -> bool:
    """Return whether an op is part of the bindings that use it: a leaf or tuple without a name."""
    return type(op) in _INLINE and op.results[0].name_hint is None
