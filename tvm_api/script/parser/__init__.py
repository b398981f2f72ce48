"""`tvm.script.parser`: the languages of TVMScript by TVM's paths."""

from ..._names import refusing
from .. import ir, tir
from . import relax

__getattr__ = refusing(__name__)

__all__ = ["ir", "relax", "tir"]
