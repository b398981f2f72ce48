"""The rules: each plans and writes the loops of one form of stage."""
