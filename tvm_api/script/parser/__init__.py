"""`tvm.script.parser`: the languages of TVMScript under TVM's paths."""

from ..._names import provide, refusing
from .. import ir, tir
from . import relax

__getattr__ = refusing(__name__)

provide(
    __name__,
    {
        "core": {},
        "core.diagnostics": {"script.parser.plain_values": "Source"},
        "core.evaluator": {"script.parser.plain_values": "ExprEvaluator"},
    },
)

__all__ = ["ir", "relax", "tir"]
