"""The state of one entry point that is being written: who owns what, and where errors go.

Every object that the function owns lies in an array on its stack, null at first. There is one way out, the block
`cleanup`, which takes the result (null for an exception that is set), drops what the array holds and frees the arena.
Many objects are dropped in a loop: with a variable for each of them LLVM takes a time that is cubic in their number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, SSAValue

from ...dialects.relax.data import TensorDataAttr
from ...dialects.sym.expr import SymExpr
from ...runtime import abi, result_pool
from ...runtime.metadata import FunctionInfo
from ...runtime.slots import SlotSpec
from ..tir_to_scf.signature import KernelSignature
from .builder import I32, I64, PTR, Code, Declarations
from .symbolic import Scope

_FEW = 4
"""So many objects become variables in registers, of which most are known to be null where they are dropped."""


@dataclass(frozen=True)
class Kernel:
    """What is known of a kernel."""

    signature: KernelSignature
    accesses: tuple[str, ...]
    """For each parameter: read, write or readwrite."""
    work: SymExpr
    """About how many iterations its loops make."""


@dataclass
class HostModule:
    """What the entry points of a module share."""

    kernels: Mapping[str, Kernel]
    recursive: frozenset[str] = frozenset()
    declarations: Declarations = field(default_factory=Declarations)
    slots: list[SlotSpec] = field(default_factory=list[SlotSpec])
    constants: dict[TensorDataAttr, int] = field(default_factory=dict[TensorDataAttr, int])
    infos: list[FunctionInfo] = field(default_factory=list[FunctionInfo])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    _numbers: dict[str, int] = field(default_factory=dict[str, int])

    def slot(self, kind: str, payload: Any) -> int:
        """The number of the slot with that content; equal slots are one."""
        key = json.dumps([kind, payload], sort_keys=True)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = abi.FIXED_SLOTS + len(self.slots)
            self.slots.append((kind, payload))
        return number

    def text(self, text: str) -> str:
        """The symbol of a global with `text` and a zero byte."""
        return self.texts.setdefault(text, f"text.{len(self.texts)}")

    def constant(self, data: TensorDataAttr) -> int:
        """The index of a constant; equal ones are one."""
        return self.constants.setdefault(data, len(self.constants))


class HostFunction:
    """One entry point: `PyObject* (PyObject* self, PyObject* const* args, Py_ssize_t nargs)`."""

    def __init__(self, module: HostModule, name: str):
        self.module = module
        self.name = name
        self.code = Code(module.declarations, (PTR, PTR, I64))
        self.scope = Scope(self.code)
        self.scope.overflow = lambda: self.failing_block("shape", f"'{name}': an extent does not fit 64 bits")
        self.cleanup = Block(arg_types=(PTR,))
        self.arena: SSAValue | None = None
        self.heap: SSAValue | None = None
        """The variable that holds the arena where it is not on the stack."""
        self.before_return: Callable[[], object] | None = None
        """What is done last on the way out."""
        self.owned: list[SSAValue] = []
        """The places that hold objects of the function, in the order in which they were made."""
        self._owner: dict[SSAValue, SSAValue] = {}
        self._places = llvm.AllocaOp(self.code.integer(0), PTR, 8)

    @property
    def args(self) -> SSAValue:
        return self.code.arguments[1]

    @property
    def nargs(self) -> SSAValue:
        return self.code.arguments[2]

    def finish(self) -> llvm.FuncOp:
        """The function, with its way out."""
        code = self.code
        code.region.add_block(self.cleanup)
        code.at(self.cleanup)
        if self.owned:
            self._drop_owned()
        if self.heap is not None:
            code.call(result_pool.GIVE, [code.load(self.heap)], None)
        if self.before_return is not None:
            self.before_return()
        code.add(llvm.ReturnOp.create(operands=(self.cleanup.args[0],)))
        return code.finish(f"entry_{self.name}", PTR, "external")

    def _drop_owned(self) -> None:
        """Allocate and clear the array of owned objects at the head of the function, and drop what it holds here."""
        code, count = self.code, llvm.ConstantOp(IntegerAttr(len(self.owned), I64), I64)
        few = len(self.owned) <= _FEW
        if few:
            self._drop_each()
        else:
            self._drop_in_loop(count.result)
        after = code.block
        code.at(code.head)
        first = code.head.first_op
        assert first is not None
        self._places.operands[0] = count.result
        code.head.insert_ops_before([count, self._places], first)
        if few:
            for place in self.owned:
                code.store(code.null, place)
        else:
            code.call("memset", [self._places.res, code.integer(0, I32), code.integer(8 * len(self.owned))])
        code.at(after)

    def _drop_each(self) -> None:
        for place in self.owned:
            self.code.call_unless_null("Py_DecRef", self.code.load(place))

    def _drop_in_loop(self, count: SSAValue) -> None:
        code = self.code
        loop, done = code.new_block(I64), code.new_block()
        code.jump(loop, code.integer(0))
        code.at(loop)
        index = loop.args[0]
        code.call("Py_DecRef", [code.load(code.address(self._places.res, index, PTR))], None)
        following = code.binary(llvm.AddOp, index, code.integer(1))
        code.branch(code.compare("eq", following, count), done, loop, (), (following,))
        code.at(done)

    def variable(self) -> SSAValue:
        """A pointer variable of the stack frame, null at first."""
        variable = self.code.alloca(1, PTR)
        null = self.code.null
        self.code.head.add_op(llvm.StoreOp(null, variable))
        return variable

    def own(self, obj: SSAValue) -> SSAValue:
        """Take a new reference, null where an exception is set: then the function ends."""
        self.check(obj)
        place = self._place(len(self.owned))
        self.code.store(obj, place)
        self.owned.append(place)
        self._owner[obj] = place
        return obj

    def give(self, obj: SSAValue) -> None:
        """End the function with an object as its result: with the reference that it owns, else with a new one."""
        place = self._owner.get(obj)
        if place is None:
            self.code.call("Py_IncRef", [obj], None)
        else:
            self.code.store(self.code.null, place)
        self.code.jump(self.cleanup, obj)

    def _place(self, number: int) -> SSAValue:
        """The address of a place for an owned object, computed at the head of the function."""
        code, before = self.code, self.code.block
        code.at(code.head)
        place = code.address(self._places.res, code.integer(number), PTR)
        code.at(before)
        return place

    def release(self, places: Sequence[SSAValue]) -> None:
        """Drop what places of owned objects hold before the function ends."""
        for variable in places:
            obj = self.code.load(variable)
            self.code.store(self.code.null, variable)
            self.code.call("Py_DecRef", [obj], None)

    def check(self, pointer: SSAValue) -> None:
        """End the function where `pointer` is null."""
        null = self.code.null
        self.code.when(self.code.compare("eq", pointer, null), self.cleanup, null)

    def leave(self) -> None:
        """End the function with the exception that is set."""
        self.code.jump(self.cleanup, self.code.null)

    def vectorcall(self, function: SSAValue, args: Sequence[SSAValue]) -> SSAValue:
        """Call a Python object; a new reference or null."""
        code = self.code
        items = self.array(args)
        return code.call("PyObject_Vectorcall", [function, items, code.integer(len(args)), code.null])

    def array(self, values: Sequence[SSAValue]) -> SSAValue:
        """Values in an array on the stack, null for none."""
        if not values:
            return self.code.null
        items = self.code.alloca(len(values), values[0].type)
        for i, value in enumerate(values):
            self.code.store(value, self.code.address(items, i, values[0].type))
        return items

    def text(self, text: str) -> SSAValue:
        """The address of a C string."""
        return self.code.symbol(self.module.text(text))

    def fail(self, error: str, message: str, values: Sequence[SSAValue] = (), **texts: str) -> None:
        """End the function with an error of the runtime; `{0}` in the texts is the first of the i64 `values`."""
        code = self.code
        slot = code.slot(self.module.slot("fail", {"error": error, "message": message, **texts}))
        numbers = [self.own(code.call("PyLong_FromLongLong", [v])) for v in values]
        code.call("PyObject_Vectorcall", [slot, self.array(numbers), code.integer(len(numbers)), code.null])
        self.leave()

    def require(
        self, condition: SSAValue, error: str, message: str, values: Sequence[SSAValue] = (), **texts: str
    ) -> None:
        """`fail` unless `condition` holds."""
        following, failing = self.code.new_block(), self.code.new_block()
        self.code.branch(condition, following, failing)
        self.code.at(failing)
        self.fail(error, message, values, **texts)
        self.code.at(following)

    def failing_block(self, error: str, message: str) -> Block:
        """A block that ends the function with an error."""
        before, block = self.code.block, self.code.new_block()
        self.code.at(block)
        self.fail(error, message)
        self.code.at(before)
        return block
