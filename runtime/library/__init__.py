"""Libraries for programs without Python: `Executable.export_library("model.so")`.

The code of an executable is taken as it is. What it asks of Python and numpy (`../abi.py`) is given by `python.c`; what
C programs call is written by `source.py`; `calls.c` is what these functions share. `export.py` puts it together, with
the threads' pool and the weights; `load.py` calls such a library from Python.
"""
