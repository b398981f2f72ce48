"""Operators on memory: allocation of tensors, and ends of their lifetimes.

    %s = relax.memory.alloc_storage %size, %device, %scope, %dtype : !relax.object
    %t = relax.memory.alloc_tensor %s, %offset, %shape, %dtype : !relax.tensor<[n, 4], f32>

`builtin.alloc_tensor` is a tensor with memory of its own, `memory.…` is its form after memory planning, and `vm.…` the
same at run time. Tensors of one storage share its bytes. Killing a tensor or a storage ends its use: the name must not
be used after it; the memory lives on while something else is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import IntegerType, TupleType
from xdsl.ir import Attribute, OpResult, SSAValue

from ..dtypes import byte_size
from ..sym.expr import Const, SymExpr, product
from .leaves import DataTypeOp
from .operator import Operator, operator
from .types import OBJECT, PrimType, ShapeType, TensorType


class Allocation(Operator):
    """Base of operators that allocate memory or a tensor in it; two equal ones have distinct results."""

    def dtype_arg(self) -> Attribute:
        """Return the data type operand, which must be a literal."""
        value = cast(SSAValue, getattr(self, "dtype"))  # noqa: B009 (`operator` adds it)
        if not (isinstance(value, OpResult) and isinstance(value.op, DataTypeOp)):
            self.fail_dtype("argument dtype must be a data type", 'R.dtype("float32")', value.type)
        return value.op.value

    def check_integers(self, *names: str) -> None:
        """Raise `DTypeError` if one of these operands is not an integer."""
        for name in names:
            t = cast(SSAValue, getattr(self, name)).type
            if not (isinstance(t, PrimType) and isinstance(t.dtype, IntegerType)):
                self.fail_dtype(f"argument {name} must be an integer", "an integer", t)

    def new_tensor(self) -> TensorType:
        """Return the type of a tensor of `shape` and `dtype`."""
        shape = self.shape_arg("shape")
        return TensorType.of(shape.dims, self.dtype_arg(), shape.rank)

    def check_bytes(self, name: str) -> None:
        """Raise `ShapeError` unless the operand is a shape of one extent, the number of bytes."""
        rank = self.shape_arg(name).rank
        if rank != 1:
            self.fail_shape(f"argument {name} must be one number of bytes", "a shape of rank 1", rank)


@operator("relax.builtin.alloc_tensor", "shape dtype runtime_device_index storage_scope")
class AllocTensor(Allocation):
    """A new tensor with memory of its own, its contents undefined."""

    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"runtime_device_index"})
    ARG_DEFAULTS: ClassVar[Mapping[str, Any]] = {"storage_scope": "global"}

    def infer(self) -> Attribute:
        self.check_integers("runtime_device_index")
        return self.new_tensor()


class Storage(Allocation):
    """Base of operators that allocate memory for tensors."""

    SIZE: ClassVar[str] = "size"
    """The operand with the number of bytes."""

    @property
    def bytes(self) -> SymExpr | None:
        """Return the size, or None if it is unknown."""
        t = cast(SSAValue, getattr(self, self.SIZE)).type
        return t.dims[0] if isinstance(t, ShapeType) and t.dims is not None else None


@operator("relax.memory.alloc_storage", "size virtual_device_index storage_scope dtype")
class AllocStorage(Storage):
    """Memory of `size` bytes, planned for elements of `dtype`."""

    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"virtual_device_index"})

    def infer(self) -> Attribute:
        self.check_bytes("size")
        self.check_integers("virtual_device_index")
        self.dtype_arg()
        return OBJECT


@operator("relax.vm.alloc_storage", "shape runtime_device_index dtype storage_scope")
class VMAllocStorage(Storage):
    """Memory of as many elements of `dtype` as the single extent of `shape`: of bytes, for uint8."""

    SIZE: ClassVar[str] = "shape"
    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"runtime_device_index"})
    ARG_DEFAULTS: ClassVar[Mapping[str, Any]] = {"storage_scope": "global"}

    def infer(self) -> Attribute:
        self.check_bytes("shape")
        self.check_integers("runtime_device_index")
        self.dtype_arg()
        return OBJECT

    @property
    def bytes(self) -> SymExpr | None:
        size = super().bytes
        return None if size is None else size * byte_size(self.dtype_arg())


class StorageTensor(Allocation):
    """Base of operators for a tensor in a storage, at the byte `offset`."""

    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"offset", "runtime_device_ind"})

    @property
    def storage_value(self) -> SSAValue:
        """The storage."""
        return cast(SSAValue, getattr(self, "storage"))  # noqa: B009 (`operator` adds it)

    @property
    def offset_expr(self) -> SymExpr | None:
        """Return the offset, or None if it is unknown."""
        t = cast(SSAValue, getattr(self, "offset")).type  # noqa: B009
        return t.expr if isinstance(t, PrimType) else None

    def infer(self) -> Attribute:
        if self.storage_value.type != OBJECT:
            self.fail_dtype("argument storage must be a storage", OBJECT, self.storage_value.type)
        self.check_integers("offset")
        inferred = self.new_tensor()
        self._check_fits(inferred)
        return inferred

    def _check_fits(self, t: TensorType) -> None:
        """Raise `ShapeError` if a tensor certainly exceeds its storage."""
        owner = self.storage_value.owner
        if not isinstance(owner, Storage) or owner.bytes is None or self.offset_expr is None or t.dims is None:
            return
        end = self.offset_expr + tensor_bytes(t)
        size = owner.bytes
        if (size - end).constant is not None and cast(int, (size - end).constant) < 0:
            self.fail_shape("the tensor reaches beyond its storage", f"at most {size} bytes", f"{end} bytes")
        if self.offset_expr.constant is not None and self.offset_expr.constant < 0:
            self.fail_shape("argument offset must not be negative", ">= 0", self.offset_expr)


def tensor_bytes(t: TensorType) -> SymExpr:
    """Return the bytes of a tensor of known extents and dtype."""
    assert t.dims is not None and t.element is not None
    # Constants as Python integers take the type of what they are multiplied with.
    count: SymExpr = product([d if d.constant is None else d.constant for d in t.dims])
    return count * byte_size(t.element) if t.dims else Const(byte_size(t.element))


@operator("relax.memory.alloc_tensor", "storage offset shape dtype runtime_device_ind?")
class MemoryAllocTensor(StorageTensor):
    """A tensor at the byte `offset` of a storage."""


@operator("relax.vm.alloc_tensor", "storage offset shape dtype runtime_device_ind?")
class VMAllocTensor(StorageTensor):
    """A tensor at the byte `offset` of a storage."""


class Kill(Operator):
    """Base of operators that end the lifetime of a tensor or storage."""

    PURE: ClassVar[bool] = False

    @property
    def killed(self) -> SSAValue:
        """The value whose lifetime ends."""
        return self.operands[0]

    def infer(self) -> Attribute:
        return TupleType(())


@operator("relax.memory.kill_storage", "storage")
class KillStorage(Kill):
    """End the lifetime of a storage; tensors in it may live on."""


@operator("relax.memory.kill_tensor", "tensor")
class KillTensor(Kill):
    """End the lifetime of a tensor; its storage may live on."""

    def infer(self) -> Attribute:
        self.as_tensor(self.killed, "tensor")
        return super().infer()


@operator("relax.vm.kill_object", "obj")
class KillObject(Kill):
    """End the lifetime of an object, a tensor or a storage."""
