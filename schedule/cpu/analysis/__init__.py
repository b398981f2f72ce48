"""A stage before it is scheduled: its loops and accesses, the machine, plans, remarks on rules that do not fit."""
