"""`tvm.relax.training.setup_trainer`."""

from __future__ import annotations

from ....frontend.training.setup_trainer import *  # noqa: F403
