"""Where the time of a call goes: `recorder.py` records, `report.py` and its neighbours tell."""
