"""Which rule schedules a stage, with which numbers: tables of rules, decisions, and the passes that apply them."""
