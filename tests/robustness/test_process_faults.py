"""Processes that are refused what they ask the system for, killed or interrupted: no file is half written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import process_faults
import pytest
from strength import only_full, thinned

HELPERS = Path(process_faults.__file__).parent
GROUPS = {
    "disk": ["a full disk"],
    "less disk": ["nothing", "4 KB of disk", "20 KB of disk"],
    "files": list(process_faults.FILES),
    "homes": list(process_faults.HOMES),
    "folders": list(process_faults.FOLDERS),
}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits, /proc and signals of Linux")


def printed(program: str, *arguments: str) -> object:
    command = [sys.executable, str(HELPERS / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@thinned("group", GROUPS, 1)
def test_what_is_not_granted_breaks_nothing(group):
    """Each door of each output: its result is right or refused, and what was there before is whole or replaced."""
    assert printed("process_faults.py", *GROUPS[group]) == {}


@only_full
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_a_process_that_ends_anywhere_leaves_complete_files(how):
    """The next process, or after an interrupt the same, does everything again, and its results are right."""
    assert printed("ended_processes.py", how, "1", "4") == []


@only_full
def test_processes_that_do_the_same_at_once_are_all_right():
    """The same programs, cache, databases and files: each result is right, each record is there once."""
    assert printed("ended_processes.py", "together", "3", "2") == []
