"""`tvm.topi`: the operator library, with TVM's names and signatures. `tvm.topi.nn`, `tvm.topi.image`."""

from __future__ import annotations

from types import ModuleType

from ...topi.reduction import all, any, argmax, argmin, max, min, prod, sum  # noqa: F401
from .._names import provide, refusing
from . import image as image
from . import nn as nn
from . import tag as tag
from . import testing as testing
from .arguments import get_const_tuple as get_const_tuple
from .manipulation import *  # noqa: F403
from .math import *  # noqa: F403

algorithms: ModuleType
reduction: ModuleType
transform: ModuleType
utils: ModuleType
provide(
    __name__,
    {
        "algorithms": {"tvm_api.topi.manipulation": "*"},
        "reduction": {"topi.reduction": "all any argmax argmin max min prod sum"},
        "transform": {"tvm_api.topi.manipulation": "*", "tvm_api.topi": "where"},
        "utils": {"tvm_api.topi.arguments": "*", "tvm_api.topi.indices": "*"},
        "nn.blocked": {"tvm_api.topi.windows": "*"},
        "nn.convolution": {"tvm_api.topi.windows": "*"},
        "nn.dense": {"tvm_api.topi.nn": "*"},
        "nn.padding": {"tvm_api.topi.nn": "*"},
        "nn.pooling": {"tvm_api.topi.windows": "*"},
    },
)

__getattr__ = refusing(__name__)
