"""The functions of a file are compiled by another process, and neither made nor compiled by this one."""

import sys

import pytest
from strength import only_full
from tiny_language_models import byte_pair_metadata, tiny, write_tiny_gguf

from tirax.diagnostics import TiraxError
from tirax.llm import LanguageModel, compiled
from tirax.llm.nn.decoder import Decoder


@pytest.fixture
def decoder(monkeypatch, tmp_path):
    """That of a large model, in the cache of which nothing is, and whose module cannot be made here."""

    def refuse(self, spec):
        raise TiraxError("the module is made here")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TIRAX_CACHE", "1")
    monkeypatch.setattr(compiled, "_LARGE", 0)
    monkeypatch.setattr(Decoder, "export_tvm", refuse)
    write_tiny_gguf(tmp_path / "model.gguf", tiny(vocabulary_size=300), byte_pair_metadata())
    return LanguageModel.load(tmp_path / "model.gguf", cache_dtype="float32", page_size=4).decoder


@only_full
def test_another_process_makes_the_module(decoder):
    assert decoder.compiled("decode")["decode"] is not None


def test_where_there_is_no_other_process_it_is_compiled_here(decoder, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(TiraxError, match="made here"):
        decoder.compiled("decode")
