"""`tvm.error`: TVM's names of errors."""

from ..diagnostics import TiraxError as TVMError
from ..diagnostics import UnsupportedError as OpNotImplemented
from ..diagnostics import VerifyError as DiagnosticError

InternalError = TVMError

__all__ = ["DiagnosticError", "InternalError", "OpNotImplemented", "TVMError"]
