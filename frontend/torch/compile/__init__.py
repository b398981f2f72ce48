"""`torch.compile(model, backend="tirax")`.

TorchDynamo captures graphs; AOTAutograd converts each into a graph of ATen operators without mutation, or
into two for training. Supported operators become compiled functions, and PyTorch runs the rest.
"""

from .backend import tirax
from .options import Options
from .report import GraphReport

__all__ = ["GraphReport", "Options", "tirax"]
