"""What tests of schedules share is found as `sequences` and `workloads`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
