"""Ops for code of other devices and of TVM's later stages: supported in text and rewriting, but not executable here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, StringAttr, i32
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, region_def, traits_def
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from .. import assembly as asm
from ..dtypes import dtype_of
from .calls import VOID, CallExpr, CallIntrinOp
from .intrinsics import DEVICE_INTRINSICS, FIRST, LAST, SECOND
from .types import HANDLE


def result_of_device_intrinsic(name: str, args: Sequence[SSAValue], annotated: Attribute | None) -> Attribute:
    """Return the result type of a call; `annotated` is the type in the script, if it has one."""
    rule = DEVICE_INTRINSICS[name].result
    if rule in (FIRST, LAST):
        return HANDLE if annotated is None else annotated
    if rule == SECOND:
        return args[1].type if len(args) > 1 else i32
    if rule == "handle":
        return HANDLE
    return VOID if rule == "void" else dtype_of(rule)


@irdl_op_definition
class DeviceCallOp(CallExpr):
    """`tir.device_call "tvm_storage_sync"(%s) : i32`: an intrinsic of `DEVICE_INTRINSICS`, for which no code is
    generated.
    """

    name = "tir.device_call"

    def verify_(self) -> None:
        name, gives = self.func.data, self.result.type
        if name not in DEVICE_INTRINSICS:
            raise VerifyException(f"'{name}' is no intrinsic of a device")
        self.verify_result()
        if gives != (expected := result_of_device_intrinsic(name, self.call_args, gives)):
            raise VerifyException(f"'{name}' gives {expected}, not {gives}")


def intrinsic(name: str, args: Sequence[SSAValue], result: Attribute) -> CallExpr:
    """Return the call of an intrinsic by TVM's name without `tir.`, with the op that represents it."""
    return (DeviceCallOp if name in DEVICE_INTRINSICS else CallIntrinOp)(name, args, result)


@irdl_op_definition
class LaunchThreadOp(asm.FormattedOp):
    """`tir.launch_thread "threadIdx.x" %extent {^bb(%x : i32): …}`: runs the body for each thread of that tag.

    TVM's `AttrStmt` with the key `thread_extent`, or `virtual_thread` for the tags of virtual threads.
    """

    name = "tir.launch_thread"
    tag = prop_def(StringAttr)
    extent = operand_def(IntegerType)
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator())
    FORMAT: ClassVar = (asm.string("tag"), asm.value("extent"), asm.region("body"))

    def __init__(self, tag: str, extent: SSAValue, body: Region):
        super().__init__(operands=[extent], properties={"tag": StringAttr(tag)}, regions=[body])

    @property
    def index(self) -> SSAValue:
        """The index of the thread."""
        return self.body.block.args[0]

    @property
    def key(self) -> str:
        """TVM's key of the attribute."""
        return "virtual_thread" if self.virtual else "thread_extent"

    @property
    def virtual(self) -> bool:
        """True if the threads are unrolled into the code: those of the tag `cthread` share no memory."""
        return self.tag.data.startswith(("vthread", "cthread"))

    def verify_(self) -> None:
        args = self.body.block.args
        if len(args) != 1 or args[0].type != self.extent.type:
            raise VerifyException("what threads run has one argument, the number of the thread, of the extent's type")


__all__ = ["DeviceCallOp", "LaunchThreadOp", "intrinsic", "result_of_device_intrinsic"]
