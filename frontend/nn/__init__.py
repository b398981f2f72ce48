"""Models built from modules as in PyTorch, exported to an `IRModule` (TVM's `relax.frontend.nn`). See docs/nn.md."""

from . import core, modules, op, spec, visitor
from .core import Module, ModuleDict, ModuleList, ParameterDict, ParameterList
from .exporter import Exporter, add_extern
from .extern import ExternModule, ObjectModule, SourceModule
from .modules import (
    GELU,
    Attention,
    BlockEmbedding,
    BlockLinear,
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
    Embedding,
    GroupNorm,
    Identity,
    IOEffect,
    KVCache,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    SiLU,
    TimestepEmbedding,
    Timesteps,
)
from .op import *  # noqa: F403
from .subroutine import SubroutineMixin
from .tensor import Effect, Object, Parameter, Tensor, get_default_dtype, set_default_dtype, wrap_nested
from .visitor import Mutator

__all__ = [
    "GELU", "Attention", "BlockEmbedding", "BlockLinear", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D",
    "Effect", "Embedding", "Exporter",
    "ExternModule", "GroupNorm", "IOEffect", "Identity", "KVCache", "LayerNorm", "Linear", "Module",
    "ModuleDict", "ModuleList", "Mutator", "Object", "ObjectModule", "Parameter", "ParameterDict",
    "ParameterList", "RMSNorm", "ReLU", "SiLU", "SourceModule", "SubroutineMixin", "Tensor",
    "TimestepEmbedding", "Timesteps", "add_extern", "core", "get_default_dtype", "modules", "op",
    "set_default_dtype", "spec", "visitor", "wrap_nested",
]  # fmt: skip
__all__ += op.__all__
