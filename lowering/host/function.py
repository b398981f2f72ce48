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

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.relax.data import TensorDataAttr
from ...dialects.sym.expr import SymExpr
from ...runtime import abi, result_pool, stack
from ...runtime.metadata import FunctionInfo
from ...runtime.profiling.sites import Site
from ...runtime.slots import SlotSpec
from ...transforms.tir.index_bounds import Reach
from ..tir_to_scf.signature import KernelSignature
from .cost import Cost
from .native import I32, I64, PTR, Extents, Native
from .symbols import ENTRY_PREFIX

_FEW = 4
"""So many objects become variables in registers, of which most are known to be null where they are dropped."""

Shape = tuple[tuple[SymExpr, ...], Attribute]
"""Extents and the dtype of elements."""


@dataclass(frozen=True)
class Kernel:
    """What is known of a kernel."""

    signature: KernelSignature
    accesses: tuple[str, ...]
    """For each parameter: read, write or readwrite."""
    work: SymExpr
    """About how many iterations its loops make."""
    least: Mapping[tuple[SymExpr, ...], Reach] = field(default_factory=dict[tuple[SymExpr, ...], Reach])
    """Extents, and where they are accessed whenever the kernel runs."""
    buffers: tuple[Shape, ...] = ()
    """Those that it allocates, but small ones and those that are no larger than a parameter."""
    cost: Cost | None = None
    """What it does, where that is asked for."""


@dataclass(frozen=True)
class Profiled:
    """A function that says what runs."""

    site: int
    """What the time of its host code is attributed to."""
    rows: SSAValue
    """The address of the rows of sites."""
    measured: SSAValue
    """Whether this call is."""
    live: Mapping[Operation, SymExpr]
    """Bytes of tensors that are needed at an op."""


@dataclass
class HostModule:
    """What the entry points of a module share."""

    kernels: Mapping[str, Kernel]
    recursive: frozenset[str] = frozenset()
    declared: dict[str, FunctionType] = field(default_factory=dict[str, FunctionType])
    """The C functions that are called."""
    slots: list[SlotSpec] = field(default_factory=list[SlotSpec])
    constants: dict[TensorDataAttr, int] = field(default_factory=dict[TensorDataAttr, int])
    infos: list[FunctionInfo] = field(default_factory=list[FunctionInfo])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    sites: list[Site] | None = None
    """What time is attributed to when the module runs, None where it does not say what runs."""
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


class HostFunction(Native):
    """One entry point: `PyObject* (PyObject* self, PyObject* const* args, Py_ssize_t nargs)`."""

    def __init__(self, module: HostModule, name: str):
        super().__init__(module.declared, (PTR, PTR, I64))
        self.module = module
        self.name = name
        self.scope = Extents(self)
        self.scope.overflow = lambda: self.fail("shape", f"'{name}': an extent does not fit 64 bits")
        self.cleanup = Block(arg_types=(PTR,))
        self.arena: SSAValue | None = None
        self.heap: SSAValue | None = None
        """The variable that holds the arena where it is not on the stack."""
        self.before_return: Callable[[], object] | None = None
        """What is done last on the way out."""
        self.profile: Profiled | None = None
        """What it says of what runs, where it does."""
        self.owned: list[SSAValue] = []
        """The places that hold objects of the function, in the order in which they were made."""
        self._owner: dict[SSAValue, SSAValue] = {}
        self._places = llvm.AllocaOp(self.integer(1), PTR, 8)
        self.at_head(self._places)

    @property
    def args(self) -> SSAValue:
        return self.arguments[1]

    @property
    def nargs(self) -> SSAValue:
        return self.arguments[2]

    def complete(self) -> func.FuncOp:
        """The function, with its way out."""
        self.region.add_block(self.cleanup)
        self.block = self.cleanup
        if self.owned:
            self._drop_owned()
        if self.heap is not None:
            self.call(result_pool.GIVE, [self.read(self.heap)], None)
        if self.before_return is not None:
            self.before_return()
        self.append(func.ReturnOp.create(operands=self.cleanup.args))
        return self.finish(ENTRY_PREFIX + self.name, PTR)

    def _drop_owned(self) -> None:
        """Clear the array of owned objects at the head of the function, and drop what it holds here."""
        count = len(self.owned)
        self._places.properties["elem_type"] = llvm.LLVMArrayType(count, PTR)
        if count <= _FEW:
            for place in self.owned:
                with self.inside(self.entry):
                    self.store(self.null, place)
                self.call_unless_null("Py_DecRef", self.read(place))
            return
        places = self._places.res
        with self.inside(self.entry):
            self.call("memset", [places, self.integer(0, I32), self.integer(8 * count)])
        self.repeat(count, lambda i: self.call("Py_DecRef", [self.read(self.address(places, i, PTR))], None))

    def variable(self) -> SSAValue:
        """A pointer variable of the stack frame, null at first."""
        variable = self.alloca(1, PTR)
        with self.inside(self.entry):
            self.store(self.null, variable)
        return variable

    def own(self, obj: SSAValue) -> SSAValue:
        """Take a new reference, null where an exception is set: then the function ends."""
        self.check(obj)
        place = self._place(len(self.owned))
        self.store(obj, place)
        self.owned.append(place)
        self._owner[obj] = place
        return obj

    def holder(self, obj: SSAValue | None = None) -> SSAValue:
        """A place that owns a new reference to an object, or to nothing, and may be given another one."""
        place = self._place(len(self.owned))
        if obj is not None:
            self.call("Py_IncRef", [obj], None)
        self.store(self.null if obj is None else obj, place)
        self.owned.append(place)
        return place

    def give(self, obj: SSAValue) -> None:
        """End the function with an object as its result: with the reference that it owns, else with a new one."""
        place = self._owner.get(obj)
        if place is None:
            self.call("Py_IncRef", [obj], None)
        else:
            self.store(self.null, place)
        self.jump(self.cleanup, obj)

    def _place(self, number: int) -> SSAValue:
        """The address of a place for an owned object, computed at the head of the function."""
        with self.inside(self.entry):
            return self.address(self._places.res, number, PTR)

    def release(self, places: Sequence[SSAValue]) -> None:
        """Drop what places of owned objects hold before the function ends."""
        for place in places:
            obj = self.read(place)
            self.store(self.null, place)
            self.call("Py_DecRef", [obj], None)

    def check(self, pointer: SSAValue) -> None:
        """End the function where `pointer` is null."""
        self.when(self.is_null(pointer), self.cleanup, self.null)

    def leave(self) -> None:
        """End the function with the exception that is set."""
        self.jump(self.cleanup, self.null)

    def vectorcall(self, function: SSAValue, args: Sequence[SSAValue]) -> SSAValue:
        """Call a Python object; a new reference or null."""
        return self.call("PyObject_Vectorcall", [function, self.array(args), self.integer(len(args)), self.null])

    def array(self, values: Sequence[SSAValue]) -> SSAValue:
        """Values in an array on the stack, null for none."""
        if not values:
            return self.null
        items = self.alloca(len(values), values[0].type)
        for i, value in enumerate(values):
            self.store(value, self.address(items, i, values[0].type))
        return items

    def slot_of(self, kind: str, payload: Any) -> SSAValue:
        """The content of a slot of the executable's own."""
        return self.slot(self.module.slot(kind, payload))

    def require_extent(self, message: str, declared: SymExpr, expected: SymExpr, actual: SymExpr) -> None:
        """`fail` unless an extent that is declared, and therefore expected, is the actual one."""
        values = [self.scope.of(expected), self.scope.of(actual)]
        text = "{0}" if declared.constant is not None else f"{declared} = {{0}}"
        self.require(self.compare("eq", *values), "shape", message, values, expected=text, found="{1}")

    def text(self, text: str) -> SSAValue:
        """The address of a C string."""
        return self.symbol(self.module.text(text))

    def fail(self, error: str, message: str, values: Sequence[SSAValue] = (), **texts: str) -> None:
        """End the function with an error of the runtime; `{0}` in the texts is the first of the i64 `values`."""
        slot = self.slot_of("fail", {"error": error, "message": message, **texts})
        self.vectorcall(slot, [self.own(self.call("PyLong_FromLongLong", [v])) for v in values])
        self.leave()

    def require(
        self, condition: SSAValue, error: str, message: str, values: Sequence[SSAValue] = (), **texts: str
    ) -> None:
        """`fail` unless `condition` holds."""
        self.unless(condition, lambda: self.fail(error, message, values, **texts))

    def require_stack(self) -> None:
        """End the function where what it is about to call, which may call it in turn, would find no stack left."""
        has = self.compare("ne", self.call(stack.SYMBOL, [], I32), self.integer(0, I32))
        hint = "run it in a thread with a larger stack: threading.stack_size(bytes)"
        self.require(has, "stack", f"the stack is full, so deep are the calls of '{self.name}'", hint=hint)
