"""The models of the benchmarks as a package of a name of its own: `models` is the name of other things, too."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks" / "models"

spec = spec_from_file_location("benchmark_models", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)])
assert spec is not None and spec.loader is not None
if spec.name not in sys.modules:
    sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[spec.name])
