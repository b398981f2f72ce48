"""Tools for the development of tirax: fuzzing, the generated reference, minimax coefficients. Not in the wheel."""
