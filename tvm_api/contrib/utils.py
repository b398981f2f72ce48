"""`tvm.contrib.utils`: folders for files that nobody needs afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref


class TempDirectory:
    """A new folder, removed with all that is in it when it is no longer used, on `remove()` or at the end of a `with`.

    `custom_path` is the folder to make, which must not exist. With `keep_for_debug` it stays until `remove()`.
    """

    def __init__(self, custom_path: str | os.PathLike[str] | None = None, keep_for_debug: bool = False):
        if custom_path is None:
            self.temp_dir = tempfile.mkdtemp(prefix="tirax-")
        else:
            os.mkdir(custom_path)
            self.temp_dir = os.fspath(custom_path)
        self._end = weakref.finalize(self, shutil.rmtree, self.temp_dir, ignore_errors=True)
        if keep_for_debug:
            self._end.detach()

    @property
    def path(self) -> str:
        return self.temp_dir

    def remove(self) -> None:
        """Remove the folder now."""
        self._end.detach()
        shutil.rmtree(self.temp_dir, ignore_errors=True)

    def relpath(self, name: str) -> str:
        """The path of a file of this name in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """The names of what is in the folder."""
        return os.listdir(self.temp_dir)

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def tempdir(custom_path: str | os.PathLike[str] | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """A `TempDirectory`."""
    return TempDirectory(custom_path, keep_for_debug)


__all__ = ["TempDirectory", "tempdir"]
