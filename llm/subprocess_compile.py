"""Language models whose functions another process compiles: it reads what the file says of the model, and no weights.

    python -m tirax.llm.subprocess_compile FILE KIND < settings, as JSON

Making the program of a model takes as much memory as its tokenizer does, which would stay with the process that talks.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass

from ..driver.subprocess_build import run_in_subprocess
from ..target import Target
from .checkpoints import LanguageModelFile, load_language_model
from .compiled import CompiledDecoder
from .nn.decoder import Decoder, Formats, layout_of
from .weights import formats_of


@dataclass(frozen=True)
class Settings:
    """What `LanguageModel.load` is told, besides the file."""

    cache_dtype: str
    activation: str
    dequantize: bool
    page_size: int
    target: str | None


def decoder_of(file: LanguageModelFile, settings: Settings) -> Decoder:
    """The decoder of a file. Raises as `LanguageModel.load`."""
    machine = Target.host() if settings.target is None else Target(settings.target)
    formats = Formats() if settings.dequantize else formats_of(file.weights, settings.activation, machine)
    return Decoder(file.config, layout_of(file.config, settings.page_size, settings.cache_dtype), formats)


def compile_in_subprocess(path: str, settings: Settings, kind: str) -> None:
    """Have another process compile a kind (`compiled.KINDS`) of functions of a file, which are in the cache then.

    Where it cannot, they are not there: nothing is raised.
    """
    run_in_subprocess(__name__, (os.path.abspath(path), kind), json.dumps(asdict(settings)))


if __name__ == "__main__":
    path, kind = sys.argv[1:]
    settings = Settings(**json.load(sys.stdin))
    CompiledDecoder(decoder_of(load_language_model(path), settings), {}, settings.target).compiled(kind)
