"""`tvm.contrib.utils`: temporary directories."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref


class TempDirectory:
    """A temporary directory, removed with its contents on garbage collection, on `remove()`, or at the end of a `with`.

    `custom_path` is the directory to create, which must not exist. With `keep_for_debug` it is kept until
    `remove()`.
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
        """Remove the directory now."""
        self._end.detach()
        shutil.rmtree(self.temp_dir, ignore_errors=True)

    def relpath(self, name: str) -> str:
        """Return the path of a file name in the directory."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """Return the names of the directory's entries."""
        return os.listdir(self.temp_dir)

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def tempdir(custom_path: str | os.PathLike[str] | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """Return a new `TempDirectory`."""
    return TempDirectory(custom_path, keep_for_debug)


__all__ = ["TempDirectory", "tempdir"]
