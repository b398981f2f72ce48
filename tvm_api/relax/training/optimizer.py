"""`tvm.relax.training.optimizer`."""

from __future__ import annotations

from ....frontend.training.optimizer import *  # noqa: F403
