"""Converters of ONNX's operators: a family a file, all of which are found. `table.py` says how a row is written."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __package__)
