"""The selection of a rule and its numbers for a stage: rule tables, decisions, and the passes that apply them."""
