"""Operations of MLIR's `func` dialect that xDSL's lacks."""

from __future__ import annotations

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, FunctionType, SymbolRefAttr
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A function as a value: `%f = func.constant @body : (i64) -> ()`."""

    name = "func.constant"

    value = prop_def(FlatSymbolRefAttrConstr)
    result = result_def(FunctionType)

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, symbol: str, type: FunctionType):
        super().__init__(result_types=[type], properties={"value": SymbolRefAttr(symbol)})


OPERATIONS = (ConstantOp,)
"""What the dialect `func` has in addition to xDSL's operations."""
