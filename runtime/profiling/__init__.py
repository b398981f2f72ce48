"""Profiling of calls: `recorder.py` records, `report.py` and the files around it present the results."""
