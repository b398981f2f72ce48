"""The `relax` dialect: graphs of tensors with symbolic shapes.

`types` is struct info, `structure` functions and bindings, `calls` the kinds of calls, and each other file a family of
operators (declared as `operator` shows). `OPERATORS` maps a name to its class.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Dialect

from . import (
    create,
    elementwise,
    indexing,
    linear_algebra,
    manipulate,
    nn,
    rearrange,
    reduce,
)
from .calls import (
    CALL_OPS,
    CallBase,
    CallDPSPackedOp,
    CallOp,
    CallPackedOp,
    CallPurePackedOp,
    CallTIRInplaceOp,
    CallTIROp,
    CallValueOp,
)
from .data import TensorData, TensorDataAttr
from .operator import DTYPE, OPERATORS, Attr, Kind, Operator, from_attr, operator, to_attr
from .structure import (
    LEAVES,
    STRUCTURE_OPS,
    BindOp,
    ClosureOp,
    ConstantOp,
    DataflowOp,
    DataTypeOp,
    ExternFuncOp,
    FuncOp,
    FunctionRefOp,
    IfOp,
    MatchCastOp,
    NullValueOp,
    OutputOp,
    PrimValueOp,
    ReturnOp,
    ShapeOp,
    StringOp,
    TupleGetItemOp,
    TupleOp,
    YieldOp,
)
from .types import (
    OBJECT,
    STRUCT_INFO,
    CallableType,
    ObjectType,
    PrimType,
    ShapeType,
    StructInfo,
    TensorType,
    erase_unbound,
    free_symbolic_vars,
    is_base_of,
    least_common_ancestor,
    substitute_type,
)

TYPES: list[type[Attribute]] = [TensorType, ShapeType, PrimType, ObjectType, CallableType, TensorDataAttr]

Relax = Dialect("relax", [*STRUCTURE_OPS, *CALL_OPS, *OPERATORS.values()], TYPES)

__all__ = [
    "DTYPE",
    "LEAVES",
    "OBJECT",
    "OPERATORS",
    "STRUCT_INFO",
    "Attr",
    "BindOp",
    "CallBase",
    "CallDPSPackedOp",
    "CallOp",
    "CallPackedOp",
    "CallPurePackedOp",
    "CallTIRInplaceOp",
    "CallTIROp",
    "CallValueOp",
    "CallableType",
    "ClosureOp",
    "ConstantOp",
    "DataTypeOp",
    "DataflowOp",
    "ExternFuncOp",
    "FuncOp",
    "FunctionRefOp",
    "IfOp",
    "Kind",
    "MatchCastOp",
    "NullValueOp",
    "ObjectType",
    "Operator",
    "OutputOp",
    "PrimType",
    "PrimValueOp",
    "Relax",
    "ReturnOp",
    "ShapeOp",
    "ShapeType",
    "StringOp",
    "StructInfo",
    "TensorData",
    "TensorDataAttr",
    "TensorType",
    "TupleGetItemOp",
    "TupleOp",
    "YieldOp",
    "create",
    "elementwise",
    "erase_unbound",
    "free_symbolic_vars",
    "from_attr",
    "is_base_of",
    "least_common_ancestor",
    "linear_algebra",
    "manipulate",
    "nn",
    "operator",
    "reduce",
    "substitute_type",
    "to_attr",
]
