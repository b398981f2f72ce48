"""The state that the rules of one lowering share, and the helpers in which they are written.

A rule takes an operation and a `Lowerer`, inserts LLVM operations before the operation and returns the values that
replace its results; the driver does the replacing. A rule sees operands of converted types (`index` is i64, a memref
is a pointer); the original memref type of a value is `at.memref_type(value)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.utils import BitEnumAttribute
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.quick import make
from ...dialects.xdsl_extras.type_guards import is_integer_attr, is_vector
from .types import PTR

OpT = TypeVar("OpT", bound=Operation)

NO_FASTMATH = llvm.FastMathAttr(None)
NO_BUNDLES = DenseArrayBase.from_list(i32, ())
NSW = IntegerAttr(1, i32)
DYNAMIC = llvm.GEP_USE_SSA_VAL

_fastmath: dict[Attribute, llvm.FastMathAttr] = {}
_strings: dict[str, StringAttr] = {}
_predicates = {i: IntegerAttr(i, i64) for i in range(16)}


def fastmath_of(op: Operation) -> llvm.FastMathAttr:
    """Return the LLVM fast-math flags of an operation of arith, math or vector."""
    flags = op.properties.get("fastmath")
    if flags is None:
        return NO_FASTMATH
    known = _fastmath.get(flags)
    if known is None:
        known = llvm.FastMathAttr(cast("BitEnumAttribute[FastMathFlag]", flags).data)
        _fastmath[flags] = known
    return known


def _string(text: str) -> StringAttr:
    return _strings.setdefault(text, StringAttr(text))


@lru_cache(maxsize=1024)
def dense_i32(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    """Return `array<i32: …>`, cached: creating the attribute costs more than creating the operation that uses it."""
    return DenseArrayBase.from_list(i32, values)


@lru_cache(maxsize=4096)
def integer_attr(value: int, width: int) -> IntegerAttr[IntegerType]:
    """Return an integer as an attribute of the type of `width` bits."""
    return IntegerAttr(value, IntegerType(width))


class Lowerer:
    """The state of a lowering: the insertion point (`anchor`), the memref types of pointers, the symbols that the
    module declares.
    """

    def __init__(self, declared: dict[str, llvm.LLVMFunctionType]):
        self.anchor: Operation | None = None
        self.memrefs: dict[SSAValue, MemRefType[Attribute]] = {}
        self.declared = declared
        self.entry_anchor: Operation | None = None

    def insert(self, op: OpT) -> OpT:
        """Insert `op` before the operation that is being lowered."""
        anchor = self.anchor
        assert anchor is not None and anchor.parent is not None
        op.location = anchor.location
        anchor.parent.insert_op_before(op, anchor)
        return op

    def insert_at_entry(self, op: OpT) -> OpT:
        """Insert `op` at the head of the function's entry block."""
        entry = self.entry_anchor
        assert entry is not None and entry.parent is not None
        entry.parent.insert_op_before(op, entry)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Insert `op` and return its only result."""
        return self.insert(op).results[0]

    def memref_type(self, value: SSAValue) -> MemRefType[Attribute]:
        """Return the memref type that the pointer `value` had before its type was converted."""
        known = self.memrefs.get(value)
        if known is None:
            raise UnsupportedError(f"a memref was expected, but the value is a bare {value.type}")
        return known

    def integer(self, value: int, type: Attribute = i64) -> SSAValue:
        """Insert an integer constant; for a vector type the same value in each lane."""
        if is_vector(type):
            vector = cast("VectorType[IntegerType]", type)
            return self.constant(DenseIntOrFPElementsAttr.from_list(vector, [value]), type)
        return self.constant(integer_attr(value, cast(IntegerType, type).width.data), type)

    def floating(self, value: float, type: Attribute) -> SSAValue:
        """Insert a float constant; for a vector type the same value in each lane."""
        if is_vector(type):
            vector = cast("VectorType[Any]", type)
            return self.constant(DenseIntOrFPElementsAttr.from_list(vector, [value]), type)
        return self.constant(FloatAttr(value, cast(Any, type)), type)

    def constant(self, value: Attribute, type: Attribute) -> SSAValue:
        """Insert a constant with the attribute `value`."""
        return self.value(make(llvm.ConstantOp, result_types=(type,), properties={"value": value}))

    def integer_binary(
        self, op: type[Operation], lhs: SSAValue, rhs: SSAValue, flags: Attribute | None = None
    ) -> SSAValue:
        """Insert an integer operation of the llvm dialect; `flags` are its overflow flags."""
        properties = {} if flags is None else {"overflowFlags": flags}
        return self.value(make(op, (lhs, rhs), result_types=(lhs.type,), properties=properties))

    def float_binary(
        self, op: type[Operation], lhs: SSAValue, rhs: SSAValue, fastmath: Attribute = NO_FASTMATH
    ) -> SSAValue:
        """Insert a float operation of the llvm dialect."""
        return self.value(make(op, (lhs, rhs), result_types=(lhs.type,), properties={"fastmathFlags": fastmath}))

    def cast(self, op: type[Operation], value: SSAValue, type: Attribute) -> SSAValue:
        """Insert a conversion of the llvm dialect."""
        return self.value(make(op, (value,), result_types=(type,)))

    def icmp(self, predicate: str, lhs: SSAValue, rhs: SSAValue, type: Attribute) -> SSAValue:
        """Insert an integer comparison with a result of `type` (i1, or one i1 per lane)."""
        index = llvm.ICmpPredicateFlag(predicate).to_int()
        return self.value(
            make(llvm.ICmpOp, (lhs, rhs), result_types=(type,), properties={"predicate": _predicates[index]})
        )

    def intrinsic(
        self, name: str, args: Sequence[SSAValue], type: Attribute | None, fastmath: llvm.FastMathAttr = NO_FASTMATH
    ) -> Sequence[SSAValue]:
        """Insert a call of the LLVM intrinsic `name`, written without its type suffix, which LLVM adds."""
        op = make(
            llvm.CallIntrinsicOp,
            args,
            result_types=() if type is None else (type,),
            properties={
                "intrin": _string(name),
                "fastmathFlags": fastmath,
                "op_bundle_sizes": NO_BUNDLES,
                "operandSegmentSizes": dense_i32((len(args), 0)),
            },
        )
        return self.insert(op).results

    def call(self, symbol: str, args: Sequence[SSAValue], type: Attribute | None) -> Sequence[SSAValue]:
        """Insert a call of the C function `symbol`, which is declared in the module if necessary."""
        self.declared.setdefault(symbol, llvm.LLVMFunctionType([a.type for a in args], type))
        return self.insert(make_call(args, type, SymbolRefAttr(symbol))).results

    def gep(self, base: SSAValue, index: SSAValue | int, element: Attribute) -> SSAValue:
        """Insert the address of element `index` of the array of `element` at `base`."""
        if isinstance(index, int) and not -(2**31) < index < 2**31:
            index = self.integer(index)
        static = isinstance(index, int)
        return self.value(
            make(
                llvm.GEPOp,
                (base,) if static else (base, index),
                result_types=(PTR,),
                properties={
                    "rawConstantIndices": dense_i32((index if static else DYNAMIC,)),
                    "elem_type": element,
                    "noWrapFlags": _NO_WRAP_FLAGS,
                    "inbounds": _INBOUNDS,
                },
            )
        )


_INBOUNDS = UnitAttr()
_NO_WRAP_FLAGS = IntegerAttr(0, i32)
_CCC = llvm.CallingConventionAttr("ccc")
_NO_TAIL = llvm.TailCallKindAttr(llvm.TailCallKind.NONE)

ConversionRule = Callable[[Any, Lowerer], Sequence[SSAValue]]
Rules = dict[type[Operation], ConversionRule]


def make_call(args: Sequence[SSAValue], type: Attribute | None, callee: SymbolRefAttr | None) -> llvm.CallOp:
    """Return an `llvm.call`; without a callee, the first argument is the function pointer."""
    properties: dict[str, Attribute] = {
        "fastmathFlags": NO_FASTMATH,
        "CConv": _CCC,
        "op_bundle_sizes": NO_BUNDLES,
        "operandSegmentSizes": dense_i32((len(args), 0)),
        "TailCallKind": _NO_TAIL,
    }
    if callee is not None:
        properties["callee"] = callee
    return make(llvm.CallOp, args, result_types=() if type is None else (type,), properties=properties)


def known_integer(value: SSAValue) -> int | None:
    """Return the integer if `value` is a constant of the llvm dialect, else None."""
    owner = value.owner
    if isinstance(owner, llvm.ConstantOp) and is_integer_attr(owner.value):
        return owner.value.value.data
    return None
