"""A process that builds a module for another one, which loads the executable from the cache (`subprocess_build.py`).

python -m tirax.driver.build_text PIPELINE TARGET LEVEL < module.mlir
"""

from __future__ import annotations

import sys

from ..script.mlir_text import parse_mlir
from .build import build

if __name__ == "__main__":
    pipeline, target, level = sys.argv[1:]
    build(parse_mlir(sys.stdin.read()), target, pipeline=pipeline, opt_level=int(level))
