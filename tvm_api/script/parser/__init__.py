"""`tvm.script.parser`: the languages of TVMScript by TVM's paths."""

from .. import ir, tir
from . import relax

__all__ = ["ir", "relax", "tir"]
