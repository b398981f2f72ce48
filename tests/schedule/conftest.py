"""What tests of schedules share is found as `sequences`, `workloads` and `relax_modules`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
