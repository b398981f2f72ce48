"""Validation of untrusted files: paths, shapes, arrays, JSON and size expressions.

Every file reader validates its input here before it opens, allocates or computes anything, so that all
readers reject the same input. Rejections raise the reader's own error class (`error`), or a `FileError`.
"""

from .expressions import ExpressionError, read_expression
from .files import FileError, FolderError, MissingFileError, check_name, checked_path, mapped_file, open_file, read_file
from .json_text import read_json
from .shapes import MOST_RANK, check_filled, checked_range, checked_shape
from .texts import brief

__all__ = [
    "MOST_RANK", "ExpressionError", "FileError", "FolderError", "MissingFileError", "brief", "check_filled",
    "check_name", "checked_path", "checked_range", "checked_shape", "mapped_file", "open_file", "read_expression",
    "read_file", "read_json",
]  # fmt: skip
