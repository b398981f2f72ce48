"""`tirax chat`: generate text with a language model, once or as a conversation."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from ..diagnostics import TiraxError
from ..runtime import set_num_threads
from .guard import OK, reading, report
from .progress import Progress

if TYPE_CHECKING:
    from ..llm.conversation import Conversation

_COMMANDS = "/new begins anew, /quit or Ctrl-D ends, Ctrl-C ends an answer"
_FULL = "note: the context is full; /new begins anew, --context takes a larger one"
_PROMPT = "> "


def chat(options: Namespace) -> int:
    """Answer `--prompt`, or lines from the terminal."""
    from ..llm import LanguageModel, Sampling
    from ..llm.conversation import Conversation

    sampling = Sampling(options.temperature, options.top_k, options.top_p, options.seed)
    if options.threads is not None:
        set_num_threads(options.threads)
    with Progress(options.model, first_run_only=True):
        with reading(options.model):
            model = LanguageModel.load(options.model, cache_dtype=options.cache_dtype, activation=options.activation)
        if not options.raw and model.file.chat_template.text is None:
            report("note: the model has no chat template; ChatML, which its tokenizer has tokens for, is used")
        conversation = Conversation(
            model, options.system, sampling, options.max_tokens, options.context, options.raw, options.stop
        )
        model.decoder.prepare()
    if options.prompt is None:
        _converse(conversation, options.stats)
    else:
        _answer(conversation, options.prompt, options.stats)
    return OK


def _converse(conversation: Conversation, stats: bool) -> None:
    """Answer line by line. An error is printed, and the conversation goes on."""
    if sys.stdin.isatty():
        print(_COMMANDS, file=sys.stderr)
    while (line := _line()) is not None:
        if line.strip() == "/new":
            conversation.restart()
        elif line.strip():
            try:
                _answer(conversation, line, stats)
            except TiraxError as error:
                report(error)


def _line() -> str | None:
    """Return the next line, or None at the end of input and for /quit."""
    try:
        line = input(_PROMPT if sys.stdin.isatty() else "")
    except EOFError:
        return None
    return None if line.strip() == "/quit" else line


def _answer(conversation: Conversation, text: str, stats: bool) -> None:
    """Print an answer as it is generated; Ctrl-C stops it."""
    try:
        for part in conversation.say(text):
            print(part, end="", flush=True)
    except KeyboardInterrupt:
        if not sys.stdin.isatty():
            raise
    print()
    if conversation.is_full:
        print(_FULL, file=sys.stderr)
    if stats:
        print(conversation.speed, file=sys.stderr)
