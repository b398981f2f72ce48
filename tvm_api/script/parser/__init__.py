"""`tvm.script.parser`: the script dialects by their other import path."""

from .. import ir, relax, tir

__all__ = ["ir", "relax", "tir"]
