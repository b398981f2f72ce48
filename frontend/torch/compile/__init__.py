"""`torch.compile(model, backend="tirax")`.

TorchDynamo gives graphs, AOTAutograd makes of each one graph of ATen's operators without mutation, or two where it is
trained. What the table of converters has becomes a compiled function, the rest stays with PyTorch.
"""

from .backend import tirax
from .options import Options
from .report import GraphReport

__all__ = ["GraphReport", "Options", "tirax"]
