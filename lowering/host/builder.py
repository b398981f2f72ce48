"""A small builder for functions in the llvm dialect: what the C of an entry point would be, line by line.

Constants and allocas are put at the head of the function, so that they may be used everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, SymbolRefAttr, UnitAttr, f64
from xdsl.dialects.builtin import i1 as I1
from xdsl.dialects.builtin import i8 as I8
from xdsl.dialects.builtin import i32 as I32
from xdsl.dialects.builtin import i64 as I64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...runtime import abi
from ..convert_to_llvm.core import make_call

PTR = llvm.LLVMPointerType()
VOID = llvm.LLVMVoidType()
TABLE = SymbolRefAttr(abi.TABLE_SYMBOL)
OpT = TypeVar("OpT", bound=Operation)

_ORDERING = {"ordering": IntegerAttr(0, I64)}
_PREDICATES = {name: IntegerAttr(llvm.ICmpPredicateFlag(name).to_int(), I64) for name in ("eq", "ne", "slt", "sle")}
_NO_OVERFLOW_FLAGS = {"overflowFlags": IntegerAttr(0, I32)}
_DYNAMIC_INDEX = DenseArrayBase.from_list(I32, (llvm.GEP_USE_SSA_VAL,))
_SEGMENTS: dict[tuple[int, int, int], DenseArrayBase[IntegerType]] = {}
_GEP = {"noWrapFlags": IntegerAttr(0, I32), "inbounds": UnitAttr()}
_NO_FASTMATH = {"fastmathFlags": llvm.FastMathAttr(None)}


class Declarations:
    """The C functions that a module calls."""

    def __init__(self) -> None:
        self.types: dict[str, llvm.LLVMFunctionType] = {}

    def ops(self, present: set[str]) -> list[llvm.FuncOp]:
        """Declarations of those that are not there yet."""
        external = llvm.LinkageAttr("external")
        return [llvm.FuncOp(name, t, external) for name, t in self.types.items() if name not in present]


class Code:
    """One function that is being written; `block` is where the next operation goes."""

    def __init__(self, declarations: Declarations, arguments: Sequence[Attribute]):
        self.declarations = declarations
        self.region = Region()
        self.head = Block(arg_types=arguments)
        self.region.add_block(self.head)
        self.block = self.start = self.new_block()
        self._constants: dict[tuple[int, Attribute], SSAValue] = {}

    @property
    def arguments(self) -> Sequence[SSAValue]:
        """The function's arguments."""
        return self.head.args

    def finish(self, name: str, result: Attribute, linkage: str) -> llvm.FuncOp:
        """The function."""
        self.head.add_op(llvm.BrOp(self.start))
        function_type = llvm.LLVMFunctionType([a.type for a in self.head.args], result)
        return llvm.FuncOp(name, function_type, llvm.LinkageAttr(linkage), body=self.region)

    def new_block(self, *types: Attribute) -> Block:
        """A block at the end of the function."""
        block = Block(arg_types=types)
        self.region.add_block(block)
        return block

    def at(self, block: Block) -> None:
        """Go on in `block`."""
        self.block = block

    def add(self, op: OpT) -> OpT:
        """Append an operation."""
        self.block.add_op(op)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Append an operation; its only result."""
        self.block.add_op(op)
        return op.results[0]

    def integer(self, value: int, type: IntegerType = I64) -> SSAValue:
        """An integer constant."""
        known = self._constants.get((value, type))
        if known is None:
            properties: dict[str, Attribute] = {"value": IntegerAttr(value, type)}
            op = llvm.ConstantOp.create(result_types=(type,), properties=properties)
            self.head.add_op(op)
            known = self._constants[(value, type)] = op.results[0]
        return known

    def real(self, value: float) -> SSAValue:
        """A constant of type double."""
        properties: dict[str, Attribute] = {"value": FloatAttr(value, f64)}
        return self.value(llvm.ConstantOp.create(result_types=(f64,), properties=properties))

    @property
    def null(self) -> SSAValue:
        """The null pointer."""
        known = self._constants.get((0, PTR))
        if known is None:
            op = llvm.ZeroOp.create(result_types=(PTR,))
            self.head.add_op(op)
            known = self._constants[(0, PTR)] = op.results[0]
        return known

    def alloca(self, count: int, type: Attribute, alignment: int = 8) -> SSAValue:
        """Memory on the stack for `count` elements, allocated once."""
        size = self.integer(count)
        op = llvm.AllocaOp(size, type, alignment)
        self.head.add_op(op)
        return op.res

    def load(self, pointer: SSAValue, type: Attribute = PTR) -> SSAValue:
        return self.value(llvm.LoadOp.create(operands=(pointer,), result_types=(type,), properties=dict(_ORDERING)))

    def store(self, value: SSAValue, pointer: SSAValue) -> None:
        self.add(llvm.StoreOp.create(operands=(value, pointer), properties=dict(_ORDERING)))

    def address(self, base: SSAValue, index: int | SSAValue, element: Attribute = I8) -> SSAValue:
        """The address of element `index` of the array at `base`; bytes by default."""
        if isinstance(index, int):
            if index == 0:
                return base
            index = self.integer(index)
        return self.value(
            llvm.GEPOp.create(
                operands=(base, index),
                result_types=(PTR,),
                properties={"rawConstantIndices": _DYNAMIC_INDEX, "elem_type": element, **_GEP},
            )
        )

    def field(self, base: SSAValue, offset: int, type: Attribute = PTR) -> SSAValue:
        """What lies `offset` bytes behind `base`."""
        return self.load(self.address(base, offset), type)

    def slot(self, number: int) -> SSAValue:
        """The content of a slot of the table."""
        return self.load(self.address(self.symbol(TABLE), number, PTR))

    def symbol(self, name: str | SymbolRefAttr) -> SSAValue:
        """The address of a global or a function of the module, which need not be there yet."""
        return self.value(llvm.AddressOfOp(name, PTR))

    def binary(self, op: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Integer arithmetic without flags, or that of floats."""
        properties: dict[str, Attribute] = {}
        if op in (llvm.AddOp, llvm.SubOp, llvm.MulOp):
            properties = dict(_NO_OVERFLOW_FLAGS)
        elif op in (llvm.FMulOp, llvm.FAddOp):
            properties = dict(_NO_FASTMATH)
        return self.value(op.create(operands=(lhs, rhs), result_types=(lhs.type,), properties=properties))

    def compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """An i1; `predicate` is eq, ne, slt or sle. Pointers are compared as integers, for xDSL's llvm.icmp."""
        if lhs.type == PTR:
            lhs, rhs = self._as_integer(lhs), self._as_integer(rhs)
        properties: dict[str, Attribute] = {"predicate": _PREDICATES[predicate]}
        return self.value(llvm.ICmpOp.create(operands=(lhs, rhs), result_types=(I1,), properties=properties))

    def _as_integer(self, pointer: SSAValue) -> SSAValue:
        if pointer is self._constants.get((0, PTR)):
            return self.integer(0)
        return self.cast(llvm.PtrToIntOp, pointer, I64)

    def both(self, lhs: SSAValue | None, rhs: SSAValue) -> SSAValue:
        """Logical and; `rhs` where `lhs` is None."""
        return rhs if lhs is None else self.binary(llvm.AndOp, lhs, rhs)

    def select(self, condition: SSAValue, then: SSAValue, other: SSAValue) -> SSAValue:
        return self.value(
            llvm.SelectOp.create(
                operands=(condition, then, other), result_types=(then.type,), properties=dict(_NO_FASTMATH)
            )
        )

    def cast(self, op: type[Operation], value: SSAValue, type: Attribute) -> SSAValue:
        return self.value(op.create(operands=(value,), result_types=(type,)))

    def call(self, symbol: str, args: Sequence[SSAValue], result: Attribute | None = PTR) -> SSAValue:
        """Call a C function by name. Where it returns nothing, the value returned here must not be used."""
        types = [a.type for a in args]
        self.declarations.types.setdefault(symbol, llvm.LLVMFunctionType(types, result or VOID))
        return self._result(self.add(make_call(list(args), result, SymbolRefAttr(symbol))))

    def call_pointer(self, function: SSAValue, args: Sequence[SSAValue], result: Attribute | None = PTR) -> SSAValue:
        """Call a function by its address; where it returns nothing, the value returned here must not be used."""
        return self._result(self.add(make_call([function, *args], result, None)))

    def _result(self, op: llvm.CallOp) -> SSAValue:
        return op.results[0] if op.results else self.null

    def jump(self, target: Block, *values: SSAValue) -> None:
        self.add(llvm.BrOp.create(operands=values, successors=(target,)))

    def branch(
        self,
        condition: SSAValue,
        then: Block,
        other: Block,
        then_values: Sequence[SSAValue] = (),
        other_values: Sequence[SSAValue] = (),
    ) -> None:
        sizes = (1, len(then_values), len(other_values))
        segments = _SEGMENTS.get(sizes) or _SEGMENTS.setdefault(sizes, DenseArrayBase.from_list(I32, sizes))
        self.add(
            llvm.CondBrOp.create(
                operands=(condition, *then_values, *other_values),
                properties={"operandSegmentSizes": segments},
                successors=(then, other),
            )
        )

    def unless(self, condition: SSAValue, target: Block, *values: SSAValue) -> None:
        """Go to `target` where `condition` is false, else on in a new block."""
        following = self.new_block()
        self.branch(condition, following, target, (), values)
        self.at(following)

    def call_unless_null(self, symbol: str, pointer: SSAValue) -> None:
        """Call a C function that takes a pointer and returns nothing, where that pointer is not null."""
        some, following = self.new_block(), self.new_block()
        self.branch(self.compare("eq", pointer, self.null), following, some)
        self.at(some)
        self.call(symbol, [pointer], None)
        self.jump(following)
        self.at(following)

    def either(
        self, condition: SSAValue, then: Callable[[], SSAValue], other: Callable[[], SSAValue], type: Attribute = PTR
    ) -> SSAValue:
        """What `then` builds where `condition` is true, else what `other` does; go on in a new block."""
        blocks, ready = (self.new_block(), self.new_block()), self.new_block(type)
        self.branch(condition, *blocks)
        for block, build in zip(blocks, (then, other), strict=True):
            self.at(block)
            self.jump(ready, build())
        self.at(ready)
        return ready.args[0]

    def when(self, condition: SSAValue, target: Block, *values: SSAValue) -> None:
        """Go to `target` where `condition` is true, else on in a new block."""
        following = self.new_block()
        self.branch(condition, target, following, values)
        self.at(following)


__all__ = ["I1", "I8", "I32", "I64", "PTR", "VOID", "Code", "Declarations", "f64"]
