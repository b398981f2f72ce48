"""`tvm.topi.nn`: operators of neural networks."""

from __future__ import annotations

from ..math import add as add
from ..transform import concatenate as concatenate
from ..transform import strided_slice as strided_slice
from ..utils import *  # noqa: F403
from .blocked import *  # noqa: F403
from .convolution import *  # noqa: F403
from .dense import *  # noqa: F403
from .padding import *  # noqa: F403
from .pooling import *  # noqa: F403
