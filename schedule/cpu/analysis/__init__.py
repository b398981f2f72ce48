"""Analysis of a stage before scheduling: its loops and accesses, the machine, plans, and remarks on rejected rules."""
