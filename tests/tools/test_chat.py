"""`tirax chat` answers once, and line by line; a second model of the same shape is compiled no more."""

import io
import sys
from dataclasses import replace

import pytest
from strength import only_full
from tiny_language_models import SPEAKING, byte_pair_metadata, write_tiny_gguf

from tirax.llm import ContextOverflowError, Conversation, LanguageModel, Sampling, session
from tirax.llm.compiled import CompiledDecoder
from tirax.tools.tirax_cli import main

pytestmark = pytest.mark.usefixtures("programs_are_kept")  # the model is compiled for each that it is asked
TINY = replace(SPEAKING, context_length=128)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_tiny_gguf(tmp_path_factory.mktemp("chat") / "model.gguf", TINY, byte_pair_metadata())


@pytest.fixture(scope="module")
def model(path):
    return LanguageModel.load(path)


def run(capsys, path, *options):
    code = main(["chat", str(path), *options])
    return code, *capsys.readouterr()


def test_a_prompt_is_answered(capsys, path, model):
    expected = "".join(model.generate("hello world", max_tokens=12))
    code, out, err = run(capsys, path, "--raw", "--prompt", "hello world", "--max-tokens", "12", "--stats")
    assert (code, out) == (0, expected + "\n")
    assert "tokens read (" in err and "tokens written (" in err


@only_full
def test_an_answer_ends_before_a_text_to_stop_at(capsys, path, model):
    """Of one, of several at once, and at the command line; a raw text goes on without it."""
    full = "".join(model.generate("hello world", max_tokens=12))
    stop = full[3:6]
    expected = full[: full.find(stop)]
    assert "".join(model.generate("hello world", max_tokens=12, stop=[stop])) == expected
    texts = ["", ""]
    for number, text in model.generate_batch(["hello", "hello world"], max_tokens=12, stop=[stop]):
        texts[number] += text
    alone = "".join(model.generate("hello", max_tokens=12))
    assert texts == [alone.partition(stop)[0], expected]
    code, out, _ = run(capsys, path, "--raw", "--prompt", "hello world", "--max-tokens", "12", "--stop", stop)
    assert (code, out) == (0, expected + "\n")
    conversation = Conversation(model, raw=True, max_tokens=12, stop=[stop])
    list(conversation.say("hello world"))
    again = "".join(conversation.say("one"))
    continued = model.tokenizer.encode("hello world" + expected + "one")
    assert again == "".join(model.generate(model.tokenizer.decode(continued), max_tokens=12, stop=[stop]))


def test_an_answer_that_ends_with_the_context_says_so(capsys, path):
    code, out, err = run(capsys, path, "--raw", "--prompt", "hello world", "--context", "16")
    assert code == 0 and len(out) > 1 and "note: the context is full" in err
    code, _, err = run(capsys, path, "--raw", "--prompt", "hello world", "--max-tokens", "3")
    assert code == 0 and not err


def test_lines_are_answered_one_by_one(capsys, path, model, monkeypatch):
    conversation = Conversation(model, "one", max_tokens=6)
    answers = ["".join(conversation.say(text)) for text in ("hello", "hello world")]
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello\n\nhello world\n/new\nhello\n/quit\nnever\n"))
    code, out, _ = run(capsys, path, "--system", "one", "--max-tokens", "6")
    assert (code, out) == (0, "".join(f"{text}\n" for text in (*answers, answers[0])))


def test_a_line_that_is_too_long_is_reported_and_the_next_one_answered(capsys, path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{'x' * 200}\nhello\n"))
    code, out, err = run(capsys, path, "--max-tokens", "3")
    assert code == 0 and "longer than the context" in err and out.endswith("\n") and len(out) > 1


def test_what_was_read_is_not_read_again(model):
    """An answer that is not listened to until its end is part of the conversation as far as it went."""
    sampling = Sampling(1.0, seed=3)
    conversation = Conversation(model, sampling=sampling, max_tokens=20)
    for text in conversation.say("hello"):
        break
    list(conversation.say("world"))
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": text}]
    tokens = model.file.chat_template.tokens([*messages, {"role": "user", "content": "world"}])
    assert 0 < conversation.speed.read < len(tokens)


def test_a_raw_conversation_is_one_text(model):
    conversation = Conversation(model, raw=True, max_tokens=4)
    answer = "".join(conversation.say("hello"))
    goes_on = "".join(conversation.say(" world"))
    tokens, stop, size = model.tokenizer.prompt("hello"), model.tokenizer.special.stop, model.tokenizer.size
    session = model.session()
    sequence = session.begin()
    logits = {sequence: session.read(sequence, tokens)}
    reply = [t for _, t in session.generate(logits, Sampling(), stop, 4, size)]
    assert model.tokenizer.decode(reply) == answer
    session.rollback(sequence, session.cache.length(sequence))
    logits = session.read(sequence, [*tokens, *reply, *model.tokenizer.encode(" world")])
    again = [t for _, t in session.generate({sequence: logits}, Sampling(), stop, 4, size)]
    assert model.tokenizer.decode(again) == goes_on


def test_what_cannot_be_is_refused(capsys, path, model):
    with pytest.raises(ContextOverflowError, match="expected: at most 128\n  found: 129"):
        model.session(129)
    code, _, err = run(capsys, path, "--temperature", "-1", "--top-p", "0")
    assert code != 0 and "temperature is -1.0" in err and "top_p is 0.0" in err
    code, _, err = run(capsys, path, "--stop", "")
    assert code != 0 and "a text to stop at has a character at least" in err
    code, _, err = run(capsys, path.parent / "none.gguf")
    assert code != 0 and f"cannot read '{path.parent / 'none.gguf'}': No such file" in err


@pytest.mark.parametrize("call", [0, 1, 2])
def test_an_interrupt_while_a_prompt_is_read_leaves_no_trace(model, monkeypatch, call):
    """Prompts are read in pieces; those that were read were in the cache, before the next ones."""
    monkeypatch.setattr(session, "CHUNK", 2)
    expected = "".join(Conversation(model, raw=True, max_tokens=6).say("hello"))
    conversation = Conversation(model, raw=True, max_tokens=6)
    step, calls = CompiledDecoder.step, iter(range(100))

    def interrupted(*args):
        if next(calls) == call:
            raise KeyboardInterrupt
        return step(*args)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(CompiledDecoder, "step", interrupted)
        list(conversation.say("one hello world"))
    assert "".join(conversation.say("hello")) == expected
