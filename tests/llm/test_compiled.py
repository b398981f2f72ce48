"""A decoder that was compiled before is not even written down again; what is large is compiled by another process."""

from dataclasses import replace

import numpy as np
import pytest
from strength import only_full
from tiny_models import LLAMA

from tirax.llm import compiled
from tirax.llm.compiled import CompiledDecoder
from tirax.llm.nn.decoder import Decoder, layout_of


def all_kinds(decoder):
    """Ask for everything that is compiled."""
    for kind in ("_single", "_batch", "_scores"):
        getattr(decoder, kind)


class Own(Decoder):
    """Somebody else's, which may do something else."""


@pytest.fixture
def requests(monkeypatch):
    """What is asked of the cache and of other processes, in the place of compiling it: (description, in_subprocess)."""
    rows = []

    def build_described(description, rooms, module, target, *, in_subprocess, elsewhere):
        rows.append((description, in_subprocess))
        return object()

    monkeypatch.setattr(compiled, "build_described", build_described)
    return rows


@only_full
def test_what_a_decoder_consists_of_is_its_place_in_the_cache(requests):
    wider = replace(LLAMA, intermediate_size=32)
    for config, layout in ((LLAMA, (4, "float32")), (wider, (4, "float32")), (LLAMA, (8, "float32")), (LLAMA, (4,))):
        all_kinds(CompiledDecoder(Decoder(config, layout_of(config, *layout)), {}))
    assert len(set(requests)) == len(requests) == 12
    all_kinds(CompiledDecoder(Own(LLAMA, layout_of(LLAMA)), {}))
    assert requests[12:] == [(None, False)] * 3


def test_a_model_is_compiled_in_a_subprocess_where_it_is_large(requests):
    weights = {"output.weight": np.zeros((1 << 20, 32), np.uint8)}
    all_kinds(CompiledDecoder(Decoder(LLAMA, layout_of(LLAMA)), weights))
    assert [in_subprocess for _, in_subprocess in requests] == [True] * 3
