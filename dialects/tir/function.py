"""Tensor functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    NoTerminator,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from ..assembly import parse_attr_dict, print_attr_dict
from ..attributes import PyValue, function_attrs
from ..relax.function import PRIVATE, check_visibility
from .types import BufferType, HandleType


def body_region(*arg_types: Attribute) -> Region:
    """Return a region of one empty block with arguments of `arg_types`."""
    return Region(Block(arg_types=arg_types))


class IsolatedFromProgram(IsolatedFromAbove):
    """Trait: a function uses no values of the surrounding program; it may use detached values (TVM's free
    variables), which lowering and the interpreter reject.
    """

    def verify(self, op: Operation) -> None:
        inside = set[int]()
        for inner in op.walk():
            inside.update(map(id, inner.results), *(map(id, b.args) for r in inner.regions for b in r.blocks))
        for inner in op.walk():
            for operand in inner.operands:
                if id(operand) not in inside and is_defined_beside(operand, op):
                    raise VerifyException(f"Operation using value defined out of its IsolatedFromAbove parent: {inner}")


def is_defined_beside(value: SSAValue, user: Operation) -> bool:
    """Return whether a value belongs to a program, that of its user or another one, rather than being detached."""
    owner = _outermost(value.owner)
    return isinstance(owner, ModuleOp) or owner is _outermost(user)


def _outermost(node: Operation | Block) -> Operation | Block:
    """Return the outermost operation or block that contains a node."""
    while True:
        around = node.parent if isinstance(node, Operation) else node.parent_op()
        if around is None:
            return node
        node = around


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A tensor function (TVM's PrimFunc).

        tir.func private @relu(%X: !tir.buffer<[n], f32>, %Y: !tir.buffer<[n], f32>) attributes {tir.noalias = true} {…}

    A buffer parameter corresponds to TVM's handle and its `match_buffer`; `handle_names` are the names of those handles
    if known (`var_` and the buffer's name otherwise). An integer parameter binds the symbolic variable of its name if a
    buffer's type mentions one that no single extent determines. `-> f32` if the function returns a scalar.
    """

    name = "tir.func"
    sym_name = prop_def(StringAttr)
    sym_visibility = opt_prop_def(StringAttr)
    func_attrs = opt_prop_def(DictionaryAttr)
    handle_names = opt_prop_def(ArrayAttr[StringAttr])
    ret_type = opt_prop_def(Attribute)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromProgram(), SymbolOpInterface(), NoTerminator())

    def __init__(
        self,
        name: str,
        body: Region,
        *,
        private: bool = False,
        attrs: dict[str, PyValue] | DictionaryAttr | None = None,
        handle_names: Sequence[str] | ArrayAttr[StringAttr] | None = None,
        ret_type: Attribute | None = None,
    ):
        names = handle_names
        if names is not None and not isinstance(names, ArrayAttr):
            names = ArrayAttr(StringAttr(n) for n in names)
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "sym_visibility": PRIVATE if private else None,
                "func_attrs": function_attrs(attrs),
                "handle_names": names,
                "ret_type": ret_type,
            },
            regions=[body],
        )

    @property
    def private(self) -> bool:
        return self.sym_visibility == PRIVATE

    @property
    def params(self) -> Sequence[SSAValue]:
        return self.body.block.args

    @property
    def buffer_params(self) -> list[SSAValue]:
        """The parameters that are buffers."""
        return [p for p in self.params if isinstance(p.type, BufferType)]

    def verify_(self) -> None:
        check_visibility(self.sym_name.data, self.sym_visibility)
        for i, p in enumerate(self.params):
            if isinstance(p.type, BufferType | HandleType | IntegerType) or _is_scalar(p.type):
                continue
            raise VerifyException(f"parameter {i} of @{self.sym_name.data} has type {p.type}")
        if self.handle_names is not None and len(self.handle_names) != len(self.params):
            raise VerifyException(f"{len(self.handle_names)} handle names for {len(self.params)} parameters")

    def print(self, printer: Printer) -> None:
        printer.print_string(" private " if self.private else " ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_block_argument)
        if self.ret_type is not None:
            printer.print_string(" -> ")
            printer.print_attribute(self.ret_type)
        if self.handle_names is not None:
            printer.print_string(" handles ")
            printer.print_attribute(self.handle_names)
        print_attr_dict(printer, self.func_attrs)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        private = parser.parse_optional_keyword("private") is not None
        name = parser.parse_symbol_name().data
        args = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=True)
        )
        ret = parser.parse_type() if parser.parse_optional_punctuation("->") is not None else None
        handles = None
        if parser.parse_optional_keyword("handles") is not None:
            handles = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
        attrs = parse_attr_dict(parser)
        body = parser.parse_region(args)
        return cls(name, body, private=private, attrs=attrs, handle_names=handles, ret_type=ret)


def _is_scalar(t: Attribute) -> bool:
    from ..dtypes import is_float

    return is_float(t)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """`tir.return %v : f32`: ends the function with its scalar result, also inside of statements."""

    name = "tir.return"
    value = operand_def()
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])

    @property
    def is_last(self) -> bool:
        """True if it is a statement of the function itself, not of a loop, a branch or a block."""
        return isinstance(self.parent_op(), FuncOp)

    def verify_(self) -> None:
        around = self.parent_op()
        while around is not None and not isinstance(around, FuncOp):
            around = around.parent_op()
        if around is None and self.parent_op() is not None:
            raise VerifyException("'tir.return' expects to be inside of 'tir.func'")
