"""Render a conversation as text with the template of the model's file, and tokenize that text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...frontend.importing.extras import MissingPackage, require
from ..tokenizers import Tokenizer
from .errors import ChatTemplateError

Message = Mapping[str, str]
"""A message with its `role` (system, user, assistant, …) and `content`."""

CHATML = "chatml"
"""The name of the built-in template that needs no Jinja: `<|im_start|>role`, the content, `<|im_end|>`."""
_CHATML_TOKENS = ("<|im_start|>", "<|im_end|>")
_ROLE = re.compile(r"[A-Za-z][A-Za-z_]{0,31}")
_GUARDS = tuple(map(chr, range(0xFDD0, 0xFDF0)))
"""Unicode noncharacters. One that occurs in no message marks text that must not be read as a special token."""


@dataclass(frozen=True, eq=False)
class ChatTemplate:
    """A chat template: `text` is Jinja or `CHATML`.

    None means that the file has no template; then `CHATML` is used if the tokenizer has its tokens.
    """

    text: str | None
    tokenizer: Tokenizer

    def render(self, messages: Sequence[Message], reply: bool = True) -> str:
        """Return the conversation as text; with `reply`, up to the beginning of the model's next message.

        Raises `ChatTemplateError` for an invalid conversation, for templates that fail, and with the message of
        those that reject the conversation; `MissingPackage` if the template is Jinja and jinja2 is not installed.
        """
        _check_messages(messages)
        text = self._text()
        if text == CHATML:
            return _chatml(messages, reply)
        self.require_usable()
        from .sandbox import rendered

        variables = {"messages": [dict(m) for m in messages], "add_generation_prompt": reply, "tools": None}
        return rendered(text, variables | self._tokens())

    def require_usable(self) -> None:
        """Raise `ChatTemplateError` if there is no template, `MissingPackage` if it needs jinja2, not installed."""
        if self._text() == CHATML:
            return
        try:
            require("jinja2", "language")
        except MissingPackage as error:
            hint = f"{error.hint}, or take the template '{CHATML}'"
            raise MissingPackage(f"{error.message}, which chat templates are written for", hint=hint) from error

    def tokens(self, messages: Sequence[Message], reply: bool = True) -> list[int]:
        """Return the conversation as tokens.

        Only the template can produce special tokens; text in a message that looks like one remains text.
        Raises as `render` does, and `TokenizerError`.
        """
        _check_messages(messages)
        guard = next((g for g in _GUARDS if not any(g in m["content"] for m in messages)), None)
        if guard is None:
            raise ChatTemplateError("a conversation has all code points that are no characters", expected="characters")
        hidden = [{**m, "content": self._hidden(m["content"], guard)} for m in messages]
        tokens = self.tokenizer.encode(self.render(hidden, reply), special=True, guard=guard)
        special = self.tokenizer.special
        begins = special.add_bos and special.bos is not None and tokens[:1] != [special.bos]
        return [special.bos, *tokens] if begins and special.bos is not None else tokens

    def _hidden(self, content: str, guard: str) -> str:
        """Return the content with a guard character inside each text that would be read as a special token."""
        texts = self.tokenizer.special_texts
        if any(len(text) == 1 and text in content for text in texts):
            raise ChatTemplateError("a message has a character that is a special token")
        if not texts:
            return content
        longest_first = sorted(texts, key=lambda text: (-len(text), text))
        return re.sub(f"(?s)(?={'|'.join(map(re.escape, longest_first))})(.)", rf"\1{guard}", content)

    def _text(self) -> str:
        if self.text is not None:
            return self.text
        if not all(token in self.tokenizer.special_texts for token in _CHATML_TOKENS):
            raise ChatTemplateError(
                "the model has no chat template",
                hint="it completes texts: tirax chat --raw, Conversation(model, raw=True)",
            )
        return CHATML

    def _tokens(self) -> dict[str, str]:
        special = self.tokenizer.special
        named = {"bos_token": special.bos, "eos_token": special.eos}
        return {name: "" if token is None else self.tokenizer.text_of(token) for name, token in named.items()}


def _check_messages(messages: Sequence[Message]) -> None:
    problems = [f"message {i}: {problem}" for i, m in enumerate(messages) for problem in _problems(m)]
    if problems or not messages:
        raise ChatTemplateError(
            "this is no conversation", expected="messages with role and content", notes=problems[:20]
        )


def _problems(message: Message) -> list[str]:
    if not isinstance(message, Mapping) or set(message) != {"role", "content"}:
        return ["it has not just a role and a content"]
    if not isinstance(message["role"], str) or not _ROLE.fullmatch(message["role"]):
        return [f"its role is no name of up to 32 letters: {str(message['role'])[:40]!r}"]
    return [] if isinstance(message["content"], str) else ["its content is not a text"]


def _chatml(messages: Sequence[Message], reply: bool) -> str:
    text = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
    return text + "<|im_start|>assistant\n" * reply
