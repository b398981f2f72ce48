"""Schedule rules: what may be done to one block; each gives the schedules that come of it."""
