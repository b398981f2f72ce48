"""The `relax` dialect: graphs of tensors with symbolic shapes.

`types` is struct info, `structure` functions and bindings, `calls` the kinds of calls, and each other file a family of
operators (declared as `operator` shows). `OPERATORS` maps a name to its class.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Attribute, Dialect, Operation

from ..attributes import from_attr, to_attr
from . import (
    base,
    convolution,
    creation,
    elementwise,
    grad,
    image,
    indexing,
    layout_transform,
    linear_algebra,
    loss,
    manipulation,
    memory,
    nn,
    normalization,
    pooling,
    quantization,
    rearrangement,
    reduction,
    scan,
    scatter,
    sets,
)
from .calls import (
    CALL_OPS,
    CallBase,
    CallDPSPackedOp,
    CallInplacePackedOp,
    CallOp,
    CallPackedOp,
    CallPurePackedOp,
    CallTIRInplaceOp,
    CallTIROp,
    CallValueOp,
)
from .data import TensorData, TensorDataAttr
from .external import ExternalModsAttr
from .operator import DTYPE, OPERATORS, Attr, Kind, Operator, operator
from .structure import (
    INLINE_OPS,
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
    is_inline,
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

TYPES: list[type[Attribute]] = [
    TensorType,
    ShapeType,
    PrimType,
    ObjectType,
    CallableType,
    TensorDataAttr,
    ExternalModsAttr,
]


class _RelaxDialect(Dialect):
    """The operators of plug-ins are looked for when somebody asks for the operations."""

    @property
    def operations(self) -> Iterator[type[Operation]]:
        return iter([*STRUCTURE_OPS, *CALL_OPS, *OPERATORS.values()])


Relax = _RelaxDialect("relax", _attributes=TYPES)

__all__ = [
    "DTYPE",
    "INLINE_OPS",
    "LEAVES",
    "is_inline",
    "OBJECT",
    "OPERATORS",
    "STRUCT_INFO",
    "Attr",
    "BindOp",
    "CallBase",
    "CallDPSPackedOp",
    "CallInplacePackedOp",
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
    "base",
    "convolution",
    "creation",
    "elementwise",
    "erase_unbound",
    "free_symbolic_vars",
    "from_attr",
    "grad",
    "image",
    "indexing",
    "is_base_of",
    "least_common_ancestor",
    "layout_transform",
    "linear_algebra",
    "loss",
    "manipulation",
    "memory",
    "nn",
    "normalization",
    "operator",
    "pooling",
    "quantization",
    "rearrangement",
    "reduction",
    "scan",
    "scatter",
    "sets",
    "substitute_type",
    "to_attr",
]
