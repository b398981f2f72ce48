"""`tvm.script`: TVMScript in Python files and in text."""

from . import ir, parser, relax, tir
from ._decorators import from_source
from .ir import ir_module

__all__ = ["from_source", "ir", "ir_module", "parser", "relax", "tir"]
