"""`tvm.relax.training.trainer`."""

from __future__ import annotations

from ....frontend.training.trainer import *  # noqa: F403
