"""Relax functions: of a module, of other modules and of functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, cast

from xdsl.dialects.builtin import (
    DictionaryAttr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
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
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from ..assembly import parse_attr_dict, print_attr_dict
from ..attributes import PyValue, function_attrs
from .types import (
    STRUCT_INFO,
    CallableType,
    is_base_of,
)

if TYPE_CHECKING:
    pass

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
