"""The state of an entry point under construction: ownership of objects, and error exits.

Every object that the function owns is kept in an array on its stack, initially null. There is one exit, the block
`cleanup`, which takes the result (null if an exception is set), releases the objects in the array and frees the
arena. Many objects are released in a loop: with one variable per object, LLVM takes time cubic in their number.
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
"""Up to this many objects become variables in registers; most of them are known to be null at the exit."""

Shape = tuple[tuple[SymExpr, ...], Attribute]
"""Extents and the dtype of the elements."""


@dataclass(frozen=True)
class Kernel:
    """The properties of a kernel that its callers use."""

    signature: KernelSignature
    accesses: tuple[str, ...]
    """The access mode of each parameter: read, write or readwrite."""
    work: SymExpr
    """An estimate of the number of loop iterations."""
    least: Mapping[tuple[SymExpr, ...], Reach] = field(default_factory=dict[tuple[SymExpr, ...], Reach])
    """Extents, with the elements that every run of the kernel accesses."""
    buffers: tuple[Shape, ...] = ()
    """The buffers that it allocates, except small ones and those no larger than a parameter."""
    cost: Cost | None = None
    """Its operations and bytes; None unless requested."""


@dataclass(frozen=True)
class Profiled:
    """The profiling state of a function."""

    site: int
    """The site to which the time of its host code is attributed."""
    rows: SSAValue
    """The address of the table of sites."""
    measured: SSAValue
    """An i1: true if this call is measured."""
    live: Mapping[Operation, SymExpr]
    """Bytes of live tensors at each op."""


@dataclass
class HostModule:
    """The state shared by the entry points of a module."""

    kernels: Mapping[str, Kernel]
    recursive: frozenset[str] = frozenset()
    declared: dict[str, FunctionType] = field(default_factory=dict[str, FunctionType])
    """The C functions that are called, with their types."""
    slots: list[SlotSpec] = field(default_factory=list[SlotSpec])
    constants: dict[TensorDataAttr, int] = field(default_factory=dict[TensorDataAttr, int])
    infos: list[FunctionInfo] = field(default_factory=list[FunctionInfo])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    sites: list[Site] | None = None
    """The sites that time is attributed to; None if the module is not profiled."""
    _numbers: dict[str, int] = field(default_factory=dict[str, int])

    def slot(self, kind: str, payload: Any) -> int:
        """Return the number of the slot with this content; equal slots share a number."""
        key = json.dumps([kind, payload], sort_keys=True)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = abi.FIXED_SLOTS + len(self.slots)
            self.slots.append((kind, payload))
        return number

    def text(self, text: str) -> str:
        """Return the symbol of a global that holds `text` and a zero byte."""
        return self.texts.setdefault(text, f"text.{len(self.texts)}")

    def constant(self, data: TensorDataAttr) -> int:
        """Return the index of a constant; equal constants share an index."""
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
        """Finish the function: add its exit and return it."""
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
        """Clear the array of owned objects at the head of the function, and release them here."""
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
        """Return a pointer variable in the stack frame, initially null."""
        variable = self.alloca(1, PTR)
        with self.inside(self.entry):
            self.store(self.null, variable)
        return variable

    def own(self, obj: SSAValue) -> SSAValue:
        """Take ownership of a new reference; exit the function if it is null, which means that an exception is set."""
        self.check(obj)
        place = self._place(len(self.owned))
        self.store(obj, place)
        self.owned.append(place)
        self._owner[obj] = place
        return obj

    def holder(self, obj: SSAValue | None = None) -> SSAValue:
        """Return a place that owns a new reference to an object or nothing, and that can be reassigned."""
        place = self._place(len(self.owned))
        if obj is not None:
            self.call("Py_IncRef", [obj], None)
        self.store(self.null if obj is None else obj, place)
        self.owned.append(place)
        return place

    def give(self, obj: SSAValue) -> None:
        """Return an object from the function: with the reference that it owns if any, otherwise with a new one."""
        place = self._owner.get(obj)
        if place is None:
            self.call("Py_IncRef", [obj], None)
        else:
            self.store(self.null, place)
        self.jump(self.cleanup, obj)

    def _place(self, number: int) -> SSAValue:
        """Return the address of a place for an owned object, computed at the head of the function."""
        with self.inside(self.entry):
            return self.address(self._places.res, number, PTR)

    def release(self, places: Sequence[SSAValue]) -> None:
        """Release the objects held by places before the function ends."""
        for place in places:
            obj = self.read(place)
            self.store(self.null, place)
            self.call("Py_DecRef", [obj], None)

    def check(self, pointer: SSAValue) -> None:
        """Exit the function if `pointer` is null."""
        self.when(self.is_null(pointer), self.cleanup, self.null)

    def leave(self) -> None:
        """Exit the function with the exception that is set."""
        self.jump(self.cleanup, self.null)

    def vectorcall(self, function: SSAValue, args: Sequence[SSAValue]) -> SSAValue:
        """Call a Python object; return a new reference or null."""
        return self.call("PyObject_Vectorcall", [function, self.array(args), self.integer(len(args)), self.null])

    def array(self, values: Sequence[SSAValue]) -> SSAValue:
        """Store values in an array on the stack; return null if there are none."""
        if not values:
            return self.null
        items = self.alloca(len(values), values[0].type)
        for i, value in enumerate(values):
            self.store(value, self.address(items, i, values[0].type))
        return items

    def slot_of(self, kind: str, payload: Any) -> SSAValue:
        """Return the content of one of the executable's own slots."""
        return self.slot(self.module.slot(kind, payload))

    def require_extent(self, message: str, declared: SymExpr, expected: SymExpr, actual: SymExpr) -> None:
        """Fail unless `actual` equals `expected`, the value of the declared extent `declared`, which the message
        shows.
        """
        values = [self.scope.of(expected), self.scope.of(actual)]
        text = "{0}" if declared.constant is not None else f"{declared} = {{0}}"
        self.require(self.compare("eq", *values), "shape", message, values, expected=text, found="{1}")

    def text(self, text: str) -> SSAValue:
        """Return the address of a C string."""
        return self.symbol(self.module.text(text))

    def fail(self, error: str, message: str, values: Sequence[SSAValue] = (), **texts: str) -> None:
        """Exit the function with an error of the runtime; `{0}` in the texts refers to the first of the i64
        `values`.
        """
        slot = self.slot_of("fail", {"error": error, "message": message, **texts})
        self.vectorcall(slot, [self.own(self.call("PyLong_FromLongLong", [v])) for v in values])
        self.leave()

    def require(
        self, condition: SSAValue, error: str, message: str, values: Sequence[SSAValue] = (), **texts: str
    ) -> None:
        """Call `fail` unless `condition` holds."""
        self.unless(condition, lambda: self.fail(error, message, values, **texts))

    def require_stack(self) -> None:
        """Exit the function if the stack is too small for the call it is about to make, which may be recursive."""
        has = self.compare("ne", self.call(stack.SYMBOL, [], I32), self.integer(0, I32))
        hint = "run it in a thread with a larger stack: threading.stack_size(bytes)"
        self.require(has, "stack", f"the stack is full, so deep are the calls of '{self.name}'", hint=hint)
