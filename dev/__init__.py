"""Development tools: fuzzers, the generated reference, minimax coefficients. Not in the wheel."""
