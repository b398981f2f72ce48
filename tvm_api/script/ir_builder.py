"""`tvm.script.ir_builder`: functions built by calls that read like TVMScript."""

from ...handles.tir.script_builder import IRBuilder
from . import _tir_builder as tir

__all__ = ["IRBuilder", "tir"]
