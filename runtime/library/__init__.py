"""Libraries for programs without Python: `Executable.export_library("model.so")`.

The code of an executable is used unchanged. `python.c` implements the parts of Python and numpy that it needs
(`../abi.py`); `source.py` generates the functions that C programs call; `calls.c` has their shared code. `export.py`
assembles the library, with the thread pool and the weights; `load.py` calls such a library from Python.
"""
