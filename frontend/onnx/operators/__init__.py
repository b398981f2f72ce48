"""Converters of ONNX operators, one file for each family; all files are discovered. See `table.py` for their form."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __package__)
