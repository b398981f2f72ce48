"""Training Relax models: losses, optimizers, and a trainer that runs what is built of them."""

from __future__ import annotations

from .setup_trainer import SetupTrainer
from .trainer import Trainer
from .utils import AppendLoss

__all__ = ["AppendLoss", "SetupTrainer", "Trainer"]
