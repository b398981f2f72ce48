"""The `relax` dialect: graphs of tensors with symbolic shapes.

`types` is struct info, `function` functions, `structure` blocks and bindings, `leaves` constants and references,
`calls` the kinds of calls, and each other file a family of operators (declared as shown in `operator`). `OPERATORS`
maps names to classes.
"""

# pyright: reportUnusedImport=false
# Files of operators are imported for what they declare.

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Attribute, Dialect, Operation

from ..assembly import operations_in
from . import (  # noqa: F401
    base,
    block_quantization,
    calls,
    convolution,
    creation,
    elementwise,
    factorization,
    fft,
    function,
    grad,
    image,
    indexing,
    layout_transform,
    leaves,
    linear_algebra,
    loops,
    loss,
    manipulation,
    memory,
    nn,
    normalization,
    pooling,
    quantization,
    random,
    rearrangement,
    reduction,
    scan,
    scatter,
    sets,
    structure,
)
from .calls import *  # noqa: F403
from .data import *  # noqa: F403
from .data import TensorDataAttr
from .external import ExternalModsAttr
from .function import *  # noqa: F403
from .leaves import *  # noqa: F403
from .loops import *  # noqa: F403
from .operator import *  # noqa: F403
from .operator import OPERATORS
from .structure import *  # noqa: F403
from .types import *  # noqa: F403
from .types import CallableType, ObjectType, PrimType, ShapeType, TensorType

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
    """The dialect; the operators of plug-ins are loaded when its operations are first requested."""

    @property
    def operations(self) -> Iterator[type[Operation]]:
        files = (function, structure, leaves, calls)
        return iter([*(op for file in files for op in operations_in(file)), *OPERATORS.values()])


Relax = _RelaxDialect("relax", _attributes=TYPES)
