"""Calls of tensor functions (`call_tir`), packed functions, Relax functions and closures.

    %y = relax.call_tir @add(%a, %b) tir_vars [n] : !relax.tensor<[n], f32>
    %z = relax.call_dps_packed "env.relu"(%y) : !relax.tensor<[n], f32>

The result of a call with several outputs is a tuple. The types of arguments are those of their definitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, SymbolRefAttr, TupleType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .. import assembly as asm
from ..attributes import PyValue, from_attr, function_attrs, to_attr
from ..sym.expr import ExprLike
from ..sym.text import exprs_part
from .types import OBJECT, CallableType, Dims, TensorType, dims_attr

TIR_VARS = asm.optional(" tir_vars", exprs_part("tir_vars"))
"""` tir_vars [n, 4]`, if there are any."""
RESULT = asm.typed("result_type")


class CallBase(asm.FormattedOp):
    """Base of calls: `args` and one result."""

    call_args = var_operand_def()
    result = result_def()
    PURE: ClassVar[bool] = True

    @property
    def args(self) -> Sequence[SSAValue]:
        return self.call_args

    @property
    def result_type(self) -> Attribute:
        return self.result.type


class _DestinationPassing(CallBase):
    """Calls that write into outputs allocated by the caller: the result is a tensor or a tuple of tensors of
    known shape.
    """

    ANY_DTYPE: ClassVar[bool] = False
    """True if the dtype of an output may be unknown: such a call cannot be compiled, but passes accept it."""

    @property
    def output_types(self) -> list[Attribute]:
        """The types of the outputs, one for each destination argument."""
        t = self.result.type
        return list(t.types) if isinstance(t, TupleType) else [t]

    def _verify_outputs(self) -> None:
        for t in self.output_types:
            known = isinstance(t, TensorType) and t.dims is not None and (self.ANY_DTYPE or t.element is not None)
            if not known:
                raise VerifyException(f"{self.name}: an output must be a tensor of known shape and dtype, found {t}")


class _TIRCall(_DestinationPassing):
    callee = prop_def(SymbolRefAttr)
    tir_vars = opt_prop_def(Dims)

    @property
    def callee_name(self) -> str:
        return self.callee.root_reference.data

    def verify_(self) -> None:
        self._verify_outputs()


@irdl_op_definition
class CallTIROp(_TIRCall):
    """Call a `tir.func` in destination passing style: inputs, then outputs, then `tir_vars` as scalars.

    `te_grad_name`, if present, names the function that computes the gradient, and `te_grad_kwargs` its extra arguments
    (`R.call_tir_with_grad`); they do not affect the semantics of the call.
    """

    name = "relax.call_tir"
    te_grad_name = opt_prop_def(StringAttr)
    te_grad_kwargs = opt_prop_def(DictionaryAttr)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (
        asm.symbol("callee"),
        asm.values("args"),
        TIR_VARS,
        asm.optional(" grad", asm.string("te_grad_name")),
        asm.attr_dict("te_grad_kwargs"),
        RESULT,
    )

    def __init__(
        self,
        callee: str,
        args: Sequence[SSAValue],
        result_type: Attribute,
        tir_vars: Sequence[ExprLike | str] | Dims | None = None,
        te_grad_name: str | None = None,
        te_grad_kwargs: dict[str, PyValue] | DictionaryAttr | None = None,
    ):
        dims = tir_vars if tir_vars is None or isinstance(tir_vars, ArrayAttr) else dims_attr(tir_vars)
        super().__init__(
            operands=[args],
            properties={
                "callee": SymbolRefAttr(callee),
                "tir_vars": dims,
                "te_grad_name": to_attr(te_grad_name),
                "te_grad_kwargs": function_attrs(te_grad_kwargs),
            },
            result_types=[result_type],
        )

    def verify_(self) -> None:
        super().verify_()
        if self.te_grad_name is None and self.te_grad_kwargs is not None:
            raise VerifyException("te_grad_kwargs of a call without te_grad_name")


@irdl_op_definition
class CallTIRInplaceOp(_TIRCall):
    """`call_tir` that writes output i into input `inplace_indices[i]`, or into a new tensor for -1."""

    name = "relax.call_tir_inplace"
    inplace_indices = prop_def(ArrayAttr)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (
        asm.symbol("callee"),
        asm.values("args"),
        " inplace",
        asm.integers("inplace_indices", "indices"),
        TIR_VARS,
        RESULT,
    )

    def __init__(
        self,
        callee: str,
        args: Sequence[SSAValue],
        inplace_indices: Sequence[int],
        result_type: Attribute,
        tir_vars: Sequence[ExprLike | str] | Dims | None = None,
    ):
        dims = tir_vars if tir_vars is None or isinstance(tir_vars, ArrayAttr) else dims_attr(tir_vars)
        super().__init__(
            operands=[args],
            properties={
                "callee": SymbolRefAttr(callee),
                "tir_vars": dims,
                "inplace_indices": to_attr(list(inplace_indices)),
            },
            result_types=[result_type],
        )

    @property
    def indices(self) -> list[int]:
        return cast("list[int]", from_attr(self.inplace_indices))

    def verify_(self) -> None:
        self._verify_outputs()
        if len(self.indices) != len(self.output_types):
            raise VerifyException(f"{len(self.indices)} inplace_indices for {len(self.output_types)} outputs")
        for i in self.indices:
            if not -1 <= i < len(self.call_args):
                raise VerifyException(f"inplace index {i} of a call with {len(self.call_args)} arguments")
            if i >= 0 and not isinstance(self.call_args[i].type, TensorType):
                raise VerifyException(f"argument {i} is written in place and is no tensor: {self.call_args[i].type}")


@irdl_op_definition
class CallDPSPackedOp(_DestinationPassing):
    """Call a packed function, or a `tir.func` by name, in destination passing style. Assumed to be pure."""

    name = "relax.call_dps_packed"
    ANY_DTYPE: ClassVar[bool] = True
    func = prop_def(StringAttr)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (asm.string("func"), asm.values("args"), RESULT)

    def __init__(self, func: str, args: Sequence[SSAValue], result_type: Attribute):
        super().__init__(operands=[args], properties={"func": StringAttr(func)}, result_types=[result_type])

    def verify_(self) -> None:
        self._verify_outputs()


class _PackedCall(CallBase):
    """A packed call. If it returns a tuple, TVMScript may list `several` types, `sinfo_args=(a, b)`, with the
    same meaning.
    """

    SEVERAL: ClassVar[str] = "tirax.several"
    func = prop_def(StringAttr)
    call_attrs = opt_prop_def(DictionaryAttr)
    FORMAT: ClassVar = (asm.string("func"), asm.values("args"), asm.attr_dict("attrs", "call_attrs"), RESULT)

    def __init__(
        self,
        func: str,
        args: Sequence[SSAValue],
        result_type: Attribute = OBJECT,
        attrs: dict[str, PyValue] | DictionaryAttr | None = None,
    ):
        super().__init__(
            operands=[args],
            properties={"func": StringAttr(func), "call_attrs": function_attrs(attrs)},
            result_types=[result_type],
        )

    @property
    def several(self) -> bool:
        return self.SEVERAL in self.attributes

    @several.setter
    def several(self, value: bool) -> None:
        if value:
            self.attributes[self.SEVERAL] = UnitAttr()
        else:
            self.attributes.pop(self.SEVERAL, None)


@irdl_op_definition
class CallPackedOp(_PackedCall):
    """Call a packed function, which returns its result; it may have effects."""

    name = "relax.call_packed"
    PURE: ClassVar[bool] = False


@irdl_op_definition
class CallBuiltinWithCtxOp(_PackedCall):
    """Call a packed function of the runtime that takes the virtual machine's context, which does not exist here."""

    name = "relax.call_builtin_with_ctx"
    PURE: ClassVar[bool] = False


@irdl_op_definition
class CallPurePackedOp(_PackedCall):
    """Call a packed function that is assumed to be pure."""

    name = "relax.call_pure_packed"
    traits = traits_def(Pure())


@irdl_op_definition
class CallInplacePackedOp(_PackedCall):
    """Call a packed function that modifies the arguments `inplace_indices` and returns them.

    It is pure as long as the results are used instead of these arguments afterwards, as for `call_tir_inplace`.
    """

    name = "relax.call_inplace_packed"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        positions = None if self.call_attrs is None else self.call_attrs.data.get("inplace_indices")
        indices = None if positions is None else from_attr(positions)
        if not isinstance(indices, list) or not indices:
            raise VerifyException("relax.call_inplace_packed needs inplace_indices, a list of positions of arguments")
        for i in indices:
            if not isinstance(i, int) or not -1 <= i < len(self.call_args):
                raise VerifyException(f"inplace index {i} of a call with {len(self.call_args)} arguments")


@irdl_op_definition
class CallOp(CallBase):
    """Call a function of the module: `relax.call @f(%x) : T`. It is as pure as the callee.

    A tensor function is called with inputs, outputs and `tir_vars`, writes into its arguments and returns `tuple<>`.
    """

    name = "relax.call"
    callee = prop_def(SymbolRefAttr)
    tir_vars = opt_prop_def(Dims)
    FORMAT: ClassVar = (asm.symbol("callee"), asm.values("args"), TIR_VARS, RESULT)

    def __init__(
        self,
        callee: str,
        args: Sequence[SSAValue],
        result_type: Attribute,
        tir_vars: Sequence[ExprLike | str] | Dims | None = None,
    ):
        dims = tir_vars if tir_vars is None or isinstance(tir_vars, ArrayAttr) else dims_attr(tir_vars)
        super().__init__(
            operands=[args],
            properties={"callee": SymbolRefAttr(callee), "tir_vars": dims},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        if self.tir_vars is not None and self.result.type != TupleType(()):
            raise VerifyException("tir_vars of a call that is none of a tensor function: that gives tuple<>")

    @property
    def callee_name(self) -> str:
        return self.callee.root_reference.data


@irdl_op_definition
class CallValueOp(CallBase):
    """Call a closure or another callable value: `relax.call_value %f(%x) : T`. Its purity is that of the
    callee's type.
    """

    name = "relax.call_value"
    func = operand_def()
    FORMAT: ClassVar = (asm.value("func"), asm.values("args"), RESULT)

    def __init__(self, func: SSAValue, args: Sequence[SSAValue], result_type: Attribute):
        super().__init__(operands=[func, args], result_types=[result_type])

    def verify_(self) -> None:
        if not isinstance(self.func.type, CallableType) and self.func.type != OBJECT:
            raise VerifyException(f"relax.call_value calls a value of {self.func.type}, which is not callable")


def overwritten(op: Operation) -> list[SSAValue]:
    """Return the arguments whose memory a call overwrites with its results: they have no value after it."""
    if isinstance(op, CallTIRInplaceOp):
        return [op.call_args[i] for i in op.indices if i >= 0]
    if isinstance(op, CallInplacePackedOp) and op.call_attrs is not None:
        indices = cast("list[int]", from_attr(op.call_attrs.data["inplace_indices"]))
        return [op.call_args[i] for i in indices if i >= 0]
    return []
