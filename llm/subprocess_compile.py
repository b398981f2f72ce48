"""Compile the functions of a language model in a subprocess, which reads the file's metadata but no weights.

    python -m tirax.llm.subprocess_compile FILE KIND < settings, as JSON

Building the program of a model takes as much memory as its tokenizer, which the chatting process would not
get back.
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
from .nn.decoder import Decoder, layout_of
from .weights import float32_formats, formats_of


@dataclass(frozen=True)
class Settings:
    """The arguments of `LanguageModel.load` other than the file."""

    cache_dtype: str
    activation: str
    dequantize: bool
    page_size: int
    target: str | None


def decoder_of(file: LanguageModelFile, settings: Settings) -> Decoder:
    """Return the decoder of a file. Raises as `LanguageModel.load` does."""
    machine = Target.host() if settings.target is None else Target(settings.target)
    if settings.dequantize:
        formats = float32_formats(machine)
    else:
        formats = formats_of(file.weights, settings.activation, machine)
    return Decoder(file.config, layout_of(file.config, settings.page_size, settings.cache_dtype), formats)


def compile_in_subprocess(path: str, settings: Settings, kind: str) -> None:
    """Compile a kind of functions (`compiled.KINDS`) of a file in a subprocess, which adds them to the cache.

    If it fails, the cache stays without them; nothing is raised.
    """
    run_in_subprocess(__name__, (os.path.abspath(path), kind), json.dumps(asdict(settings)))


if __name__ == "__main__":
    path, kind = sys.argv[1:]
    settings = Settings(**json.load(sys.stdin))
    CompiledDecoder(decoder_of(load_language_model(path), settings), {}, settings.target).compiled(kind)
