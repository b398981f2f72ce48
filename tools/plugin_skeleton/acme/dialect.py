"""A dialect of two tensor operations with their semantics, and a pass that lowers them to tensor functions."""

from dataclasses import dataclass

from xdsl.dialects.builtin import FloatAttr, StringAttr
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from tirax.extend import NameSupply, Pass, TensorType, apply_rules, call_te, function_names, te


@irdl_op_definition
class ReverseOp(IRDLOperation):
    """Reverse the rows of a tensor."""

    name = "acme.reverse"
    x = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    def verify_(self):
        if not self.x.type.dims or self.result.type != self.x.type:
            raise VerifyException("acme.reverse takes a tensor with rows, and gives one of the same type")

    def reference(self, x):
        return x[::-1]

    def compute(self, x):
        return te.compute(x.shape, lambda i, *rest: x(x.shape[0] - 1 - i, *rest), "reverse")


@irdl_op_definition
class BlendOp(IRDLOperation):
    """x + (y - x) * amount, for two tensors of one type."""

    name = "acme.blend"
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    amount = prop_def(FloatAttr)
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)"

    def verify_(self):
        if self.x.type.dims is None or not self.x.type == self.y.type == self.result.type:
            raise VerifyException("acme.blend takes two tensors of one type and a known shape, and gives such a one")

    def reference(self, x, y):
        return x + (y - x) * x.dtype.type(self.amount.value.data)

    def compute(self, x, y):
        amount = te.const(self.amount.value.data, x.dtype)
        return te.compute(x.shape, lambda *i: x(*i) + (y(*i) - x(*i)) * amount, "blend")


@dataclass(frozen=True)
class LowerAcme(Pass):
    """acme.reverse x -> call_tir @reverse(x), with that tensor function; acme.blend likewise"""

    name = "lower-acme"

    def apply(self, ctx, op):
        names = NameSupply(function_names(op))

        def lower(operation, emit):
            hint = operation.name.removeprefix("acme.")
            call = call_te(operation.compute, *operation.operands, primfunc_name_hint=hint)
            call.func.sym_name = StringAttr(names.fresh(hint))
            op.body.block.add_op(call.func)
            return emit.put(call.call_op(call.func.sym_name.data))

        apply_rules(op, {"acme.reverse": lower, "acme.blend": lower})


ACME = Dialect("acme", [ReverseOp, BlendOp])
