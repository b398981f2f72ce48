"""tirax: TIR + Relax as xDSL dialects, lowered to native CPU code."""

from .moved import install_finder

install_finder()
