"""`tvm.topi`: the operator library, with TVM's names and signatures. `tvm.topi.nn`, `tvm.topi.image`."""

from __future__ import annotations

from . import image as image
from . import nn as nn
from . import utils as utils
from .algorithms import *  # noqa: F403
from .math import *  # noqa: F403
from .reduction import *  # noqa: F403
from .transform import *  # noqa: F403
from .utils import get_const_tuple as get_const_tuple
