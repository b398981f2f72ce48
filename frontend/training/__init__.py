"""Training of Relax models: losses, optimizers, and a trainer that runs the built functions."""

from __future__ import annotations

from ...transforms.training.append_loss import AppendLoss
from .trainer import SetupTrainer, Trainer

__all__ = ["AppendLoss", "SetupTrainer", "Trainer"]
