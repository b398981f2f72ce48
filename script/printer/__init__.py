"""The TVMScript printer: `print_script` and `show`.

`module` prints programs, `tir` and `relax` print functions, and `expressions`, `symbolic` and `struct_info` their
parts. `document` holds the lines, and `views` displays programs in terminals and notebooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import names_of

if TYPE_CHECKING:
    from .document import PrinterConfig
    from .module import print_script
    from .views import show

__all__ = ["PrinterConfig", "print_script", "show"]
__getattr__ = names_of(__name__, {"PrinterConfig": "document", "print_script": "module", "show": "views"})
