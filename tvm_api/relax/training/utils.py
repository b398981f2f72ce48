"""`tvm.relax.training.utils`."""

from __future__ import annotations

from ....frontend.training.utils import *  # noqa: F403
