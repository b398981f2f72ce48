"""Automatic tuning: search for schedules, guided by measurements.

A task (`context`) has a design space (`space`), built by schedule rules, from which a search strategy
(`search`) picks candidates with the help of a cost model (`cost_model`). Postprocessors complete them;
mutators vary them.
"""
