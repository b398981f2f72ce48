"""Losses behind functions, and gradients of tensor functions."""

from __future__ import annotations

from ...transforms.training.append_loss import AppendLoss
from ...transforms.training.te_gradients import register_te_gradient

__all__ = ["AppendLoss", "register_te_gradient"]
