"""`tvm.relax.training`: losses, optimizers and a trainer."""

from __future__ import annotations

from ....frontend.training import AppendLoss, SetupTrainer, Trainer
from . import loss, optimizer, setup_trainer, trainer, utils

__all__ = ["AppendLoss", "SetupTrainer", "Trainer", "loss", "optimizer", "setup_trainer", "trainer", "utils"]
