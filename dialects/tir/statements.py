"""TIR statements: functions, loops, blocks, stores, branches, allocations.

Bodies are regions without terminator. Extents of loops are symbolic expressions where they can be, else SSA values.
A block's body begins with its `tir.reads` and `tir.writes`, then `tir.init`; the index arithmetic that these need
stands before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, StringAttr, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    MemoryAllocEffect,
    MemoryWriteEffect,
    NoTerminator,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from ..assembly import parse_optional_value, parse_value
from ..relax.data import TensorDataAttr
from ..relax.operator import PyValue
from ..relax.structure import PRIVATE, function_attrs, parse_attr_dict, print_attr_dict
from ..relax.types import Dims, dims_attr
from ..sym import SymAttr
from ..sym.expr import Const, ExprLike, SymExpr, as_expr
from ..sym.text import expr_text, parse_expr
from .expressions import YieldOp, check_indices, element_type, parse_access, print_access
from .types import BufferType, HandleType


def body_region(*arg_types: Attribute) -> Region:
    """A region of one empty block with arguments of `arg_types`."""
    return Region(Block(arg_types=arg_types))


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A tensor function (TVM's PrimFunc).

        tir.func private @relu(%X: !tir.buffer<[n], f32>, %Y: !tir.buffer<[n], f32>) attributes {tir.noalias = true} {…}

    A buffer parameter is what TVM writes as a handle and its `match_buffer`; `handle_names` are the names of those
    handles where they are known (`var_` and the buffer's name otherwise). An integer parameter binds the symbolic
    variable of its name, where a buffer's type mentions one that no extent alone determines. `-> f32` where the
    function returns a scalar.
    """

    name = "tir.func"
    sym_name = prop_def(StringAttr)
    sym_visibility = opt_prop_def(StringAttr)
    func_attrs = opt_prop_def(DictionaryAttr)
    handle_names = opt_prop_def(ArrayAttr[StringAttr])
    ret_type = opt_prop_def(Attribute)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

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


class ForKind(StrEnum):
    """How a loop runs."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"
    THREAD_BINDING = "thread_binding"


Bound = SymExpr | int | str | SSAValue


def _split_bound(bound: Bound) -> tuple[SymAttr | None, list[SSAValue]]:
    return (None, [bound]) if isinstance(bound, SSAValue) else (SymAttr.of(bound), [])


@irdl_op_definition
class ForOp(IRDLOperation):
    """A loop from `min`, `extent` times.

        tir.for %i = 0 to n {…}
        tir.for parallel %i = 1 for %extent {…}

    Bounds are symbolic expressions or SSA values. `to` is the end, `for` the number of iterations.
    """

    name = "tir.for"
    min_attr = opt_prop_def(SymAttr)
    extent_attr = opt_prop_def(SymAttr)
    kind_attr = opt_prop_def(StringAttr)
    thread = opt_prop_def(StringAttr)
    annotations = opt_prop_def(DictionaryAttr)
    dyn_min = opt_operand_def(IntegerType)
    dyn_extent = opt_operand_def(IntegerType)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator())

    def __init__(
        self,
        min_: Bound,
        extent: Bound,
        body: Region,
        kind: ForKind = ForKind.SERIAL,
        *,
        thread: str | None = None,
        annotations: dict[str, PyValue] | DictionaryAttr | None = None,
    ):
        min_attr, dyn_min = _split_bound(min_)
        extent_attr, dyn_extent = _split_bound(extent)
        super().__init__(
            operands=[dyn_min, dyn_extent],
            properties={
                "min_attr": min_attr,
                "extent_attr": extent_attr,
                "kind_attr": None if kind is ForKind.SERIAL else StringAttr(kind.value),
                "thread": None if thread is None else StringAttr(thread),
                "annotations": function_attrs(annotations),
            },
            regions=[body],
        )

    @property
    def kind(self) -> ForKind:
        return ForKind.SERIAL if self.kind_attr is None else ForKind(self.kind_attr.data)

    @property
    def loop_var(self) -> SSAValue:
        return self.body.block.args[0]

    @property
    def min(self) -> SymExpr | SSAValue:
        """The first value: an expression, or an SSA value."""
        return self.min_attr.data if self.min_attr is not None else cast(SSAValue, self.dyn_min)

    @property
    def extent(self) -> SymExpr | SSAValue:
        """The number of iterations: an expression, or an SSA value."""
        return self.extent_attr.data if self.extent_attr is not None else cast(SSAValue, self.dyn_extent)

    def verify_(self) -> None:
        for attr, value, what in (
            (self.min_attr, self.dyn_min, "min"),
            (self.extent_attr, self.dyn_extent, "extent"),
        ):
            if (attr is None) == (value is None):
                raise VerifyException(f"the {what} of a loop is either an expression or a value")
        args = self.body.block.args
        if len(args) != 1 or not isinstance(args[0].type, IntegerType):
            raise VerifyException("the body of a loop has one argument, an integer: the loop variable")
        if (self.kind is ForKind.THREAD_BINDING) != (self.thread is not None):
            raise VerifyException("a thread is given for thread_binding loops, and for these only")

    def print(self, printer: Printer) -> None:
        if self.kind is not ForKind.SERIAL:
            printer.print_string(f" {self.kind.value}")
        if self.thread is not None:
            printer.print_string(f'("{self.thread.data}")')
        printer.print_string(" ")
        printer.print_ssa_value(self.loop_var)
        if self.loop_var.type != _default_loop_type(self.extent, self.min):
            printer.print_string(f" : {self.loop_var.type}")
        printer.print_string(" = ")
        _print_bound(printer, self.min)
        from_zero = isinstance(self.min, SymExpr) and self.min.constant == 0
        printer.print_string(" to " if from_zero else " for ")
        _print_bound(printer, self.extent)
        print_attr_dict(printer, self.annotations, "annotations")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        kind = ForKind.SERIAL
        for k in ForKind:
            if parser.parse_optional_keyword(k.value) is not None:
                kind = k
        thread = None
        if kind is ForKind.THREAD_BINDING:
            with parser.in_parens():
                thread = parser.parse_str_literal()
        var = parser.parse_argument(expect_type=False)
        dtype = parser.parse_type() if parser.parse_optional_punctuation(":") is not None else None
        parser.parse_punctuation("=")
        min_ = _parse_bound(parser)
        extent = _parse_extent(parser, min_)
        annotations = parse_attr_dict(parser, "annotations")
        arg = var.resolve(dtype or _default_loop_type(extent, min_))
        body = parser.parse_region([arg])
        return cls(min_, extent, body, kind, thread=thread, annotations=annotations)


def _parse_extent(parser: Parser, min_: SymExpr | SSAValue) -> SymExpr | SSAValue:
    """`for e`: so many iterations; `to e`: up to e, which needs two bounds that can be subtracted."""
    if parser.parse_optional_keyword("for") is not None:
        return _parse_bound(parser)
    parser.parse_keyword("to")
    end = _parse_bound(parser)
    if isinstance(min_, SymExpr) and min_.constant == 0:
        return end
    if isinstance(min_, SSAValue) or isinstance(end, SSAValue):
        parser.raise_error("write the number of iterations, `for <extent>`, where a bound is an SSA value")
    return end - min_


def _default_loop_type(extent: SymExpr | SSAValue, min_: SymExpr | SSAValue) -> Attribute:
    if isinstance(extent, SSAValue):
        return extent.type
    return min_.type if isinstance(min_, SSAValue) and isinstance(extent, Const) else extent.dtype


def _print_bound(printer: Printer, bound: SymExpr | SSAValue) -> None:
    if isinstance(bound, SSAValue):
        printer.print_ssa_value(bound)
    else:
        printer.print_string(expr_text(bound))


def _parse_bound(parser: Parser) -> SymExpr | SSAValue:
    value = parse_optional_value(parser)
    return parse_expr(parser) if value is None else value


class IterKind(StrEnum):
    """Kinds of a block's iterators."""

    SPATIAL = "spatial"
    REDUCE = "reduce"
    SCAN = "scan"
    OPAQUE = "opaque"


@irdl_op_definition
class BlockOp(IRDLOperation):
    """A block: a unit of computation with its own iterators.

        tir.block "C" (%vi = spatial(%i, n), %vk = reduce(%k, [4, 8])) where %p annotations {…} {…}

    An iterator has a kind, a binding and a domain: an extent from 0, or `[min, extent]`. The block runs where the
    predicate `where` holds. `tir.block "x" () {…}` is a block without iterators.
    """

    name = "tir.block"
    block_name = prop_def(StringAttr)
    iter_kinds = prop_def(ArrayAttr[StringAttr])
    dom_mins = prop_def(Dims)
    dom_extents = prop_def(Dims)
    annotations = opt_prop_def(DictionaryAttr)
    bindings = var_operand_def()
    predicate = opt_operand_def(i1)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator())

    def __init__(
        self,
        name: str,
        iters: Sequence[tuple[IterKind, SSAValue, ExprLike | tuple[ExprLike, ExprLike]]],
        body: Region,
        *,
        predicate: SSAValue | None = None,
        annotations: Mapping[str, PyValue] | DictionaryAttr | None = None,
    ):
        """`iters` are (kind, binding, extent) or (kind, binding, (min, extent)); `body` has an argument for each."""
        doms = [_domain(d) for _, _, d in iters]
        notes = annotations if annotations is None or isinstance(annotations, DictionaryAttr) else dict(annotations)
        super().__init__(
            operands=[[b for _, b, _ in iters], [] if predicate is None else [predicate]],
            properties={
                "block_name": StringAttr(name),
                "iter_kinds": ArrayAttr(StringAttr(IterKind(k).value) for k, _, _ in iters),
                "dom_mins": dims_attr(m for m, _ in doms),
                "dom_extents": dims_attr(e for _, e in doms),
                "annotations": function_attrs(notes),
            },
            regions=[body],
        )

    @property
    def iter_vars(self) -> Sequence[SSAValue]:
        return self.body.block.args

    @property
    def kinds(self) -> list[IterKind]:
        return [IterKind(k.data) for k in self.iter_kinds]

    @property
    def mins(self) -> list[SymExpr]:
        """The least value of each iterator."""
        return [d.data for d in self.dom_mins]

    @property
    def extents(self) -> list[SymExpr]:
        """The number of values of each iterator."""
        return [d.data for d in self.dom_extents]

    @property
    def reads(self) -> list[ReadsOp]:
        return [op for op in self.body.block.ops if isinstance(op, ReadsOp)]

    @property
    def writes(self) -> list[WritesOp]:
        return [op for op in self.body.block.ops if isinstance(op, WritesOp)]

    @property
    def init(self) -> InitOp | None:
        return next((op for op in self.body.block.ops if isinstance(op, InitOp)), None)

    def verify_(self) -> None:
        n = len(self.bindings)
        if not n == len(self.iter_kinds) == len(self.dom_mins) == len(self.dom_extents) == len(self.iter_vars):
            raise VerifyException(
                f'block "{self.block_name.data}": bindings, kinds, domains and arguments do not agree'
            )
        for var, binding in zip(self.iter_vars, self.bindings, strict=True):
            if var.type != binding.type or not isinstance(var.type, IntegerType):
                raise VerifyException(
                    f'block "{self.block_name.data}": an iterator of {var.type} bound to {binding.type}'
                )
        for kind in self.iter_kinds:
            if kind.data not in IterKind.__members__.values():
                raise VerifyException(f'block "{self.block_name.data}": unknown kind of iterator {kind}')

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.block_name)
        printer.print_string(" ")
        rows = list(zip(self.iter_vars, self.kinds, self.bindings, self.mins, self.extents, strict=True))
        with printer.in_parens():
            printer.print_list(rows, lambda row: _print_iter(printer, *row))
        if self.predicate is not None:
            printer.print_string(" where ")
            printer.print_ssa_value(self.predicate)
        print_attr_dict(printer, self.annotations, "annotations")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_str_literal()
        rows = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_iter(parser))
        predicate = parse_value(parser) if parser.parse_optional_keyword("where") is not None else None
        annotations = parse_attr_dict(parser, "annotations")
        body = parser.parse_region([arg for arg, _ in rows])
        return cls(name, [it for _, it in rows], body, predicate=predicate, annotations=annotations)


def _domain(dom: ExprLike | tuple[ExprLike, ExprLike]) -> tuple[SymExpr, SymExpr]:
    if isinstance(dom, tuple):
        extent = as_expr(dom[1])
        return as_expr(dom[0], extent.dtype), extent
    extent = as_expr(dom)
    return Const(0, extent.dtype), extent


def _print_iter(
    printer: Printer, var: SSAValue, kind: IterKind, binding: SSAValue, min_: SymExpr, extent: SymExpr
) -> None:
    printer.print_ssa_value(var)
    printer.print_string(f" = {kind.value}(")
    printer.print_ssa_value(binding)
    plain = min_.constant == 0 and min_.dtype == extent.dtype
    printer.print_string(", " + (expr_text(extent) if plain else f"[{expr_text(min_)}, {expr_text(extent)}]") + ")")


def _parse_iter_kind(parser: Parser) -> IterKind:
    pos = parser.pos
    word = parser.parse_identifier()
    if word not in IterKind.__members__.values():
        parser.raise_error(f"expected a kind of iterator: {', '.join(IterKind)}", pos)
    return IterKind(word)


def _parse_iter(
    parser: Parser,
) -> tuple[Parser.Argument, tuple[IterKind, SSAValue, ExprLike | tuple[ExprLike, ExprLike]]]:
    var = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    kind = _parse_iter_kind(parser)
    with parser.in_parens():
        binding = parse_value(parser)
        parser.parse_punctuation(",")
        pair = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_expr(parser))
        if pair is not None and len(pair) != 2:
            parser.raise_error("the domain of an iterator is an extent or [min, extent]")
        dom = parse_expr(parser) if pair is None else (pair[0], pair[1])
    arg = var.resolve(binding.type)
    return arg, (kind, binding, dom)


class RegionOp(IRDLOperation):
    """A region of a buffer: in each dimension a first index and an extent (1 where only an index is written).

    tir.reads %A[%vi, %c : 4] : vi and one index, then 4 indices from c
    """

    buffer = operand_def(BufferType)
    starts = var_operand_def(IntegerType)
    extents_attr = prop_def(Dims)

    def __init__(self, buffer: SSAValue, starts: Sequence[SSAValue], extents: Sequence[ExprLike | str] | Dims):
        dims = extents if isinstance(extents, ArrayAttr) else dims_attr(extents)
        super().__init__(operands=[buffer, starts], properties={"extents_attr": dims})

    @property
    def extents(self) -> list[SymExpr]:
        return [d.data for d in self.extents_attr]

    def verify_(self) -> None:
        check_indices(self, self.buffer, self.starts)
        if len(self.extents_attr) != len(self.starts):
            raise VerifyException(f"{self.name}: {len(self.starts)} indices and {len(self.extents_attr)} extents")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        with printer.in_square_brackets():
            printer.print_list(
                list(zip(self.starts, self.extents, strict=True)), lambda p: self._print_dim(printer, *p)
            )

    @staticmethod
    def _print_dim(printer: Printer, start: SSAValue, extent: SymExpr) -> None:
        printer.print_ssa_value(start)
        if extent.constant != 1:
            printer.print_string(f" : {expr_text(extent)}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffer = parse_value(parser)

        def dim() -> tuple[SSAValue, SymExpr]:
            start = parse_value(parser)
            has_extent = parser.parse_optional_punctuation(":") is not None
            return start, parse_expr(parser) if has_extent else Const(1, cast(IntegerType, start.type))

        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, dim)
        return cls(buffer, [s for s, _ in dims], [e for _, e in dims])


@irdl_op_definition
class ReadsOp(RegionOp):
    """`tir.reads %A[%vi, %vk]`: the enclosing block reads this region."""

    name = "tir.reads"
    traits = traits_def(HasParent(BlockOp))


@irdl_op_definition
class WritesOp(RegionOp):
    """`tir.writes %C[%vi, %vj]`: the enclosing block writes this region."""

    name = "tir.writes"
    traits = traits_def(HasParent(BlockOp))


@irdl_op_definition
class InitOp(IRDLOperation):
    """`tir.init {…}`: runs where every reduction iterator of the block is at its least value."""

    name = "tir.init"
    body = region_def("single_block")
    traits = traits_def(HasParent(BlockOp), RecursiveMemoryEffect(), NoTerminator())

    def __init__(self, body: Region):
        super().__init__(regions=[body])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls(parser.parse_region())


@irdl_op_definition
class StoreOp(IRDLOperation):
    """`tir.store %v, %Y[%i, %j]`."""

    name = "tir.store"
    value = operand_def()
    buffer = operand_def(BufferType)
    indices = var_operand_def()
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue]):
        super().__init__(operands=[value, buffer, indices])

    def verify_(self) -> None:
        check_indices(self, self.buffer, self.indices)
        wanted = element_type(self.buffer, self.indices)
        if self.value.type != wanted:
            raise VerifyException(f"tir.store of {self.value.type} into elements of {wanted}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        print_access(printer, self.buffer, self.indices)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parse_value(parser)
        parser.parse_punctuation(",")
        return cls(value, *parse_access(parser))


@irdl_op_definition
class EvaluateOp(IRDLOperation):
    """`tir.evaluate %v`: evaluates an expression for its effect."""

    name = "tir.evaluate"
    value = operand_def()
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


@irdl_op_definition
class LetOp(IRDLOperation):
    """`%x = tir.let %v : i32`: gives an expression a name, evaluated here once (TVM's LetStmt)."""

    name = "tir.let"
    value = operand_def()
    result = result_def()
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[value.type])


@irdl_op_definition
class IfOp(IRDLOperation):
    """`tir.if %c {…} else {…}`; the else region has no ops where there is none."""

    name = "tir.if"
    cond = operand_def(i1)
    then_region = region_def("single_block")
    else_region = region_def()
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator())

    def __init__(self, cond: SSAValue, then_region: Region, else_region: Region | None = None):
        super().__init__(operands=[cond], regions=[then_region, else_region or Region()])

    @property
    def has_else(self) -> bool:
        return self.else_region.first_block is not None

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.cond)
        printer.print_string(" ")
        printer.print_region(self.then_region)
        if self.has_else:
            printer.print_string(" else ")
            printer.print_region(self.else_region)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        cond = parse_value(parser)
        then_region = _with_block(parser.parse_region())
        if parser.parse_optional_keyword("else") is None:
            return cls(cond, then_region)
        return cls(cond, then_region, _with_block(parser.parse_region()))


def _with_block(region: Region) -> Region:
    if region.first_block is None:
        region.add_block(Block())
    return region


@irdl_op_definition
class WhileOp(IRDLOperation):
    """`tir.while {… tir.yield %c : i1} do {…}`: the first region is the condition."""

    name = "tir.while"
    cond_region = region_def("single_block")
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator())

    def __init__(self, cond_region: Region, body: Region):
        super().__init__(regions=[cond_region, body])

    @property
    def cond(self) -> SSAValue:
        """The condition, a value of the first region."""
        return cast(YieldOp, self.cond_region.block.last_op).value

    def verify_(self) -> None:
        last = self.cond_region.block.last_op
        if not isinstance(last, YieldOp) or last.value.type != i1:
            raise VerifyException("the condition of tir.while must end with tir.yield of an i1")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.cond_region)
        printer.print_string(" do ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        cond = parser.parse_region()
        parser.parse_keyword("do")
        return cls(cond, _with_block(parser.parse_region()))


@irdl_op_definition
class AssertOp(IRDLOperation):
    """`tir.assert %c, "message"`: stops the function where the condition does not hold."""

    name = "tir.assert"
    cond = operand_def(i1)
    message = prop_def(StringAttr)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$cond `,` $message attr-dict"

    def __init__(self, cond: SSAValue, message: str):
        super().__init__(operands=[cond], properties={"message": StringAttr(message)})


@irdl_op_definition
class AttrOp(IRDLOperation):
    """`tir.attr "key" %v {…}`: a note on a body (TVM's AttrStmt)."""

    name = "tir.attr"
    key = prop_def(StringAttr)
    value = operand_def()
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator())

    def __init__(self, key: str, value: SSAValue, body: Region):
        super().__init__(operands=[value], properties={"key": StringAttr(key)}, regions=[body])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.key)
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        key = parser.parse_str_literal()
        value = parse_value(parser)
        return cls(key, value, _with_block(parser.parse_region()))


class _BufferDef(IRDLOperation):
    result = result_def(BufferType)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, buffer_type: BufferType):
        super().__init__(result_types=[buffer_type])


@irdl_op_definition
class AllocBufferOp(_BufferDef):
    """`%Y = tir.alloc_buffer : !tir.buffer<…>`: a buffer that lives as long as the enclosing block (or function)."""

    name = "tir.alloc_buffer"
    traits = traits_def(MemoryAllocEffect())


@irdl_op_definition
class AllocConstOp(IRDLOperation):
    """`%c = tir.alloc_const <f32 [2] [1.0, 2.0]> : !tir.buffer<…>`: a buffer of constants."""

    name = "tir.alloc_const"
    value = prop_def(TensorDataAttr)
    result = result_def(BufferType)
    traits = traits_def(Pure())

    def __init__(self, value: TensorDataAttr):
        result = BufferType.of(value.data.shape, value.data.dtype)
        super().__init__(properties={"value": value}, result_types=[result])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self.value.print_parameter(printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls(TensorDataAttr(TensorDataAttr.parse_parameter(parser)))


@irdl_op_definition
class DeclBufferOp(IRDLOperation):
    """`%B = tir.decl_buffer %h : !tir.buffer<…>`: a buffer at an address."""

    name = "tir.decl_buffer"
    data = operand_def(HandleType)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "$data attr-dict `:` type($result)"

    def __init__(self, data: SSAValue, buffer_type: BufferType):
        super().__init__(operands=[data], result_types=[buffer_type])


@irdl_op_definition
class MatchBufferOp(IRDLOperation):
    """`%B = tir.match_buffer %A[%i : 4, %j : 4] : !tir.buffer<…>`: a region of a buffer as a buffer of its own."""

    name = "tir.match_buffer"
    source = operand_def(BufferType)
    starts = var_operand_def(IntegerType)
    extents_attr = prop_def(Dims)
    result = result_def(BufferType)
    traits = traits_def(Pure())

    def __init__(
        self, source: SSAValue, starts: Sequence[SSAValue], extents: Sequence[ExprLike | str], result: BufferType
    ):
        super().__init__(
            operands=[source, starts], properties={"extents_attr": dims_attr(extents)}, result_types=[result]
        )

    @property
    def extents(self) -> list[SymExpr]:
        return [d.data for d in self.extents_attr]

    def verify_(self) -> None:
        check_indices(self, self.source, self.starts)
        if len(self.extents_attr) != len(self.starts):
            raise VerifyException(f"{self.name}: {len(self.starts)} indices and {len(self.extents_attr)} extents")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        with printer.in_square_brackets():
            pairs = list(zip(self.starts, self.extents, strict=True))
            printer.print_list(pairs, lambda p: self._print_dim(printer, *p))
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @staticmethod
    def _print_dim(printer: Printer, start: SSAValue, extent: SymExpr) -> None:
        printer.print_ssa_value(start)
        printer.print_string(f" : {expr_text(extent)}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)

        def dim() -> tuple[SSAValue, SymExpr]:
            start = parse_value(parser)
            parser.parse_punctuation(":")
            return start, parse_expr(parser)

        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, dim)
        parser.parse_punctuation(":")
        result = cast(BufferType, parser.parse_type())
        return cls(source, [s for s, _ in dims], [e for _, e in dims], result)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """`tir.return %v : f32`: gives the scalar result of the function."""

    name = "tir.return"
    value = operand_def()
    traits = traits_def(HasParent(FuncOp))
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


STATEMENT_OPS: list[type[Operation]] = [
    FuncOp,
    ForOp,
    BlockOp,
    ReadsOp,
    WritesOp,
    InitOp,
    StoreOp,
    EvaluateOp,
    LetOp,
    IfOp,
    WhileOp,
    AssertOp,
    AttrOp,
    AllocBufferOp,
    AllocConstOp,
    DeclBufferOp,
    MatchBufferOp,
    ReturnOp,
]
