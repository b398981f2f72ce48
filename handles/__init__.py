"""Handles of the Python API: small views on xDSL operations and values, with TVM's names."""

from . import equality as equality
from . import module as module
from .relax import builder as builder
from .relax import construct as construct
from .relax import registered as registered
