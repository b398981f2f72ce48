"""`tvm.script.parser`: the languages of TVMScript under TVM's paths."""

from ..._names import provide, refusing
from .. import ir, tir
from . import relax

__getattr__ = refusing(__name__)

provide(
    __name__,
    {
        "core": {},
        "core.diagnostics": {"tvm_api.script.parser.source": "Source"},
        "core.doc_core": {"ast": "*"},
        "core.evaluator": {"script.parser.plain_values": "ExprEvaluator"},
    },
)

ir_module = ir.ir_module

__all__ = ["ir", "ir_module", "relax", "tir"]
