"""The rules: each plans and emits the loops of one kind of stage."""
