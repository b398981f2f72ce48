"""Check a commit message: `area: verb what` in at most 72 characters, then a blank line and a body that says why."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST = 72


def problem_of(message: str) -> str | None:
    """What is wrong with a message, None for a good one."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if len(subject) > LONGEST:
        return f"the subject has {len(subject)} characters, at most {LONGEST} are allowed"
    if not re.match(r"[\w/., -]+: [a-z]", subject):
        return "the subject is not of the form `area: verb what`"
    if len(lines) > 1 and lines[1].strip():
        return "a blank line has to follow the subject"
    if not any(line.strip() for line in lines[2:]):
        return "the body has to say why"
    return None


if __name__ == "__main__":
    sys.exit(problem_of(Path(sys.argv[1]).read_text()))
