"""`tvm.relax.training.loss`."""

from __future__ import annotations

from ....frontend.training.loss import *  # noqa: F403
