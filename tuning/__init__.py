"""Tuning: schedules found by search and measurement.

A task (`context`) has a design space (`space/`, made by `rules/`), from which a strategy (`search/`) takes candidates
with the help of a cost model (`cost_model/`); postprocessors finish them, mutators change them.
"""
