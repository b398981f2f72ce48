"""tirax: TIR + Relax as xDSL dialects, lowered to native CPU code."""
