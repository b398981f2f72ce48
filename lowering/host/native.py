"""Code that calls C: arithmetic in arith, control flow in scf and cf, and llvm only for pointers.

The entry block holds what is used everywhere, constants and stack memory; code begins in a block after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import TypeVar

from xdsl.dialects import arith, cf, func, llvm, scf
from xdsl.dialects.builtin import FunctionType, IntegerAttr, IntegerType, SymbolRefAttr, UnitAttr, f64
from xdsl.dialects.builtin import i1 as I1
from xdsl.dialects.builtin import i8 as I8
from xdsl.dialects.builtin import i32 as I32
from xdsl.dialects.builtin import i64 as I64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import ShapeError
from ...dialects.quick import make
from ...dialects.sym.analyzer import EVERYTHING, EXTENT, ExtentBounds, Interval
from ...dialects.sym.expr import Const, Op, Product, Sum, SymExpr, Var
from ...dialects.xdsl_extras.arith_extras import INTEGER_PREDICATES
from ...runtime import abi
from ..convert_to_llvm.core import DYNAMIC, dense_i32, make_call
from ..convert_to_llvm.types import PTR
from ..tir_to_scf.emitter import INDEX, NO_OVERFLOW, Emitter
from ..tir_to_scf.symbolic import Reals, Symbolic

OpT = TypeVar("OpT", bound=Operation)

_PREDICATES = {name: IntegerAttr(i, I64) for i, name in enumerate(INTEGER_PREDICATES)}
_ORDERING = IntegerAttr(0, I64)
_NO_WRAP_FLAGS, _INBOUNDS = IntegerAttr(0, I32), UnitAttr()


@lru_cache(maxsize=1024)
def _symbol(name: str) -> SymbolRefAttr:
    return SymbolRefAttr(name)


class Native(Emitter):
    """A function under construction; operations are appended to `block`.

    `declared` collects the C functions that it calls.
    """

    def __init__(self, declared: dict[str, FunctionType], arguments: Sequence[Attribute]):
        super().__init__(Block(arg_types=arguments))
        self.region = Region(self.entry)
        self.declared = declared
        self._null: SSAValue | None = None
        self._table = self.symbol(abi.TABLE_SYMBOL)
        self.block = self._start = self.new_block()

    def finish(self, name: str, result: Attribute) -> func.FuncOp:
        """Return the finished function."""
        self.entry.add_op(cf.BranchOp(self._start))
        return func.FuncOp(name, FunctionType.from_lists([a.type for a in self.arguments], [result]), self.region)

    @property
    def arguments(self) -> Sequence[SSAValue]:
        """Return the function's arguments."""
        return self.entry.args

    def new_block(self, *types: Attribute) -> Block:
        """Add a block at the end of the function."""
        block = Block(arg_types=types)
        self.region.add_block(block)
        return block

    def pure(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Append a new operation, never reusing an earlier one: blocks emitted before need not dominate the current
        one.
        """
        return self.value(make(cls, operands, result_types=(result,), properties=properties or {}))

    def value(self, op: Operation) -> SSAValue:
        """Append an operation; return its only result."""
        op.location = self.place
        self.block.add_op(op)
        return op.results[0]

    # -- numbers ------------------------------------------------------------------------------------------------------

    def integer(self, value: int, type: IntegerType = I64) -> SSAValue:
        """Return an integer constant."""
        return self.constant(value, type)

    def real(self, value: float) -> SSAValue:
        """Return a constant of type double."""
        return self.constant(float(value), f64)

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Compare numbers or pointers."""
        if type(a.type) is llvm.LLVMPointerType:
            a, b = self.number_of(a), self.number_of(b)
        if predicate in _PREDICATES:
            return self.pure(arith.CmpiOp, (a, b), I1, {"predicate": _PREDICATES[predicate]})
        return super().compare(predicate, a, b)

    def number_of(self, pointer: SSAValue) -> SSAValue:
        """Convert a pointer to an i64."""
        return self.integer(0) if pointer is self._null else self.pure(llvm.PtrToIntOp, (pointer,), I64)

    def is_null(self, pointer: SSAValue) -> SSAValue:
        return self.compare("eq", pointer, self.null)

    def all_of(self, conditions: Sequence[SSAValue]) -> SSAValue:
        """Return the conjunction of at least one condition."""
        return reduce(lambda a, b: self.binary(arith.AndIOp, a, b), conditions)

    # -- memory -------------------------------------------------------------------------------------------------------

    @property
    def null(self) -> SSAValue:
        """Return the null pointer."""
        if self._null is None:
            op = make(llvm.ZeroOp, result_types=(PTR,))
            self.at_head(op)
            self._null = op.results[0]
        return self._null

    def alloca(self, count: int, type: Attribute, alignment: int = 8) -> SSAValue:
        """Allocate memory for `count` elements on the stack, once."""
        op = llvm.AllocaOp(self.integer(count), type, alignment)
        self.at_head(op)
        return op.res

    def read(self, pointer: SSAValue, type: Attribute = PTR) -> SSAValue:
        """Load from an address."""
        return self.pure(llvm.LoadOp, (pointer,), type, {"ordering": _ORDERING})

    def store(self, value: SSAValue, pointer: SSAValue) -> None:
        self.append(make(llvm.StoreOp, (value, pointer), properties={"ordering": _ORDERING}))

    def address(self, base: SSAValue, index: int | SSAValue, element: Attribute = I8) -> SSAValue:
        """Return the address of element `index` of the array at `base`; bytes by default."""
        if index == 0:
            return base
        if isinstance(index, int) and index >= 2**31:
            index = self.integer(index)
        static = isinstance(index, int)
        properties: dict[str, Attribute] = {
            "rawConstantIndices": dense_i32((index if static else DYNAMIC,)),
            "elem_type": element,
            "noWrapFlags": _NO_WRAP_FLAGS,
            "inbounds": _INBOUNDS,
        }
        return self.pure(llvm.GEPOp, (base,) if static else (base, index), PTR, properties)

    def field(self, base: SSAValue, offset: int, type: Attribute = PTR) -> SSAValue:
        """Load the value `offset` bytes after `base`."""
        return self.read(self.address(base, offset), type)

    def slot(self, number: int) -> SSAValue:
        """Load the content of a slot of the table."""
        return self.read(self.place_of_slot(number))

    def place_of_slot(self, number: int) -> SSAValue:
        """Return the address of a slot of the table."""
        return self.address(self._table, number, PTR)

    def symbol(self, name: str) -> SSAValue:
        """Return the address of a global or a function of the module, which need not exist yet."""
        return self.pure(llvm.AddressOfOp, (), PTR, {"global_name": _symbol(name)})

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(self, symbol: str, args: Sequence[SSAValue], result: Attribute | None = PTR) -> SSAValue:
        """Call a C function by name. If it returns nothing, the value returned here must not be used."""
        types = () if result is None else (result,)
        if symbol not in self.declared:
            self.declared[symbol] = FunctionType.from_lists([a.type for a in args], list(types))
        properties: dict[str, Attribute] = {"callee": _symbol(symbol)}
        op = self.append(make(func.CallOp, args, result_types=types, properties=properties))
        return op.results[0] if types else self.null

    def call_pointer(self, function: SSAValue, args: Sequence[SSAValue], result: Attribute | None = PTR) -> SSAValue:
        """Call a function by its address. If it returns nothing, the value returned here must not be used."""
        op = self.append(make_call([function, *args], result, None))
        return op.results[0] if op.results else self.null

    # -- structure ----------------------------------------------------------------------------------------------------

    def jump(self, target: Block, *values: SSAValue) -> None:
        self.append(cf.BranchOp.create(operands=values, successors=(target,)))

    def branch(self, condition: SSAValue, then: Block, other: Block, *values: SSAValue) -> None:
        """Branch to `then`, which gets `values`, or to `other`, which has no arguments."""
        self.append(
            cf.ConditionalBranchOp.create(
                operands=(condition, *values),
                properties={"operandSegmentSizes": dense_i32((1, len(values), 0))},
                successors=(then, other),
            )
        )

    def when(self, condition: SSAValue, target: Block, *values: SSAValue) -> None:
        """Branch to `target` if `condition` is true, else continue in a new block."""
        following = self.new_block()
        self.branch(condition, target, following, *values)
        self.block = following

    def unless(self, condition: SSAValue, build: Callable[[], object]) -> None:
        """If `condition` is false, branch to the code emitted by `build`, which does not return; else continue in a
        new block.
        """
        following, other = self.new_block(), self.new_block()
        self.branch(condition, following, other)
        with self.inside(other):
            build()
        self.block = following

    def choose(
        self,
        condition: SSAValue,
        then: Callable[[], SSAValue],
        other: Callable[[], SSAValue] | None = None,
    ) -> SSAValue:
        """Return the value of `then` if `condition` is true, else that of `other`; without `other` there is no value.

        Each of both must be a single block.
        """
        regions = [self._branch(then, other is not None), self._branch(other, True) if other else Region()]
        last = regions[0].block.last_op
        assert last is not None
        types = [v.type for v in last.operands]
        op = self.append(scf.IfOp.create(operands=(condition,), result_types=types, regions=regions))
        return op.results[0] if types else self.null

    def _branch(self, build: Callable[[], SSAValue], yields: bool) -> Region:
        block = Block()
        with self.inside(block):
            value = build()
            self.append(make(scf.YieldOp, (value,) if yields else ()))
        return Region(block)

    def repeat(self, count: int, build: Callable[[SSAValue], object]) -> None:
        """Emit a loop that runs `build` for each i64 below `count`; `build` must emit a single block."""
        body = Block(arg_types=[INDEX])
        with self.inside(body):
            build(self.from_index(body.args[0], I64))
            self.append(scf.YieldOp.create())
        bounds = [self.index(n) for n in (0, count, 1)]
        self.append(scf.ForOp.create(operands=bounds, regions=[Region(body)]))

    def call_unless_null(self, symbol: str, pointer: SSAValue) -> None:
        """Call a C function that takes a pointer and returns nothing, if the pointer is not null."""
        self.choose(self.compare("ne", pointer, self.null), lambda: self.call(symbol, [pointer], None))


_EXACT = 2.0**62
"""Below this bound, a value computed in floating point certainly fits 64 bits."""


class _Bounds(ExtentBounds):
    """Bounds of values: variables are extents and not negative, except those in `signed`."""

    signed: set[str | SSAValue]

    def var(self, e: Var) -> Interval:
        return EVERYTHING if e.name in self.signed else EXTENT


class Extents(Symbolic):
    """The values of symbolic variables at a point of a function, and the expressions already computed from them.

    `of` returns i64s that are checked to fit, and raises `ShapeError` for a variable without a value. Computed
    expressions are cached, so an instance may only be used in code dominated by the point where it was created; use
    `child` for code after a branch.
    """

    def __init__(self, code: Native, parent: Extents | None = None):
        self.signed: set[str | SSAValue] = set(parent.signed) if parent else set()
        super().__init__(code, self._variable, _Bounds(self.signed), I64, NO_OVERFLOW)
        self.code = code
        self.values: dict[str, SSAValue] = dict(parent.values) if parent else {}
        self._memo: dict[SymExpr, SSAValue] = dict(parent._memo) if parent else {}
        self.zero_division: Callable[[], object] | None = parent.zero_division if parent else None
        """Writes what is done, without coming back, where a divisor is zero."""
        self.overflow: Callable[[], object] | None = parent.overflow if parent else None
        """The same for values that do not fit 64 bits."""

    def child(self) -> Extents:
        """Return a copy to which more values can be added without effect on this one."""
        return Extents(self.code, self)

    def knows(self, e: SymExpr) -> bool:
        """Return whether all variables of an expression have values."""
        return all(v.value is not None or v.name in self.values for v in e.free_vars())

    def bind(self, var: Var, value: SSAValue, signed: bool = False) -> None:
        """Set the value of a named variable; `signed` if it is no extent, so that it may be negative."""
        assert isinstance(var.name, str)
        self.values[var.name] = value
        if signed:
            self.signed.add(var.name)

    def number(self, value: SSAValue) -> Var:
        """Return an i64 that may be negative as an expression."""
        self.signed.add(value)
        return Var(value, I64)

    def _variable(self, var: Var) -> SSAValue:
        value = var.value if not isinstance(var.name, str) else self.values.get(var.name)
        if value is None:
            raise ShapeError(
                f"the symbolic variable '{var.name}' has no value",
                expected="a parameter or a match_cast that has it as an extent by itself",
            )
        return value

    def of(self, e: SymExpr) -> SSAValue:
        if isinstance(e, Const | Var):
            return e.fold(self)
        value = self._memo.get(e)
        if value is None:
            if self.overflow is not None and isinstance(e, Sum | Product):
                self._check_range(e, self.overflow)
            value = self._memo[e] = e.fold(self)
        return value

    def real(self, e: SymExpr) -> SSAValue:
        """Return the value as a double, computed in floating point if it is a polynomial."""
        return e.fold(Reals(self.code, self))

    def _check_range(self, e: SymExpr, overflow: Callable[[], object]) -> None:
        """Check that the value of a sum fits 64 bits; then the sum is right even if intermediate terms wrap."""
        code, value = self.code, self.real(e)
        fits = [code.compare("olt", value, code.real(_EXACT))]
        if not self.is_nonnegative(e):
            fits.append(code.compare("olt", code.real(-_EXACT), value))
        code.unless(code.all_of(fits), overflow)

    def divided(self, e: Op, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Guard a division: processors trap if the divisor is zero, or if it is -1 and the quotient does not fit."""
        code, divisor = self.code, e.args[1].constant
        if divisor is None and self.zero_division is not None:
            code.unless(code.compare("ne", rhs, code.integer(0)), self.zero_division)
        if divisor in (None, -1) and self.overflow is not None:
            code.unless(code.compare("ne", lhs, code.integer(-(2**63))), self.overflow)
        return self.division(e, lhs, rhs)


__all__ = ["I1", "I8", "I32", "I64", "PTR", "Extents", "Native", "f64"]
