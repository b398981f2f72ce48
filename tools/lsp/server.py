"""The language server protocol (pygls) on top of `queries`, `complete` and `actions`.

A text is read on the first query after a change; problems are published after a pause in typing. The text
is the editor's, not the file's. Python files are never executed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from ..guard import message_of
from .actions import KIND, Edit, passes_at, run_pass
from .complete import completions
from .mlir_reader import MlirReader
from .queries import MLIR, SCRIPT, Text
from .reading import Place, Problem, Reading
from .script_reader import PROGRAM, ScriptReader

PAUSE = 0.1
"""Seconds without typing after which problems are published."""
LARGEST = 1 << 20
"""Limit on the characters of a text that is read while it is edited."""
_KINDS = {
    "function": lsp.CompletionItemKind.Function,
    "keyword": lsp.CompletionItemKind.Property,
    "variable": lsp.CompletionItemKind.Variable,
    "module": lsp.CompletionItemKind.Module,
}


@dataclass
class Document:
    """A text that is open in the editor."""

    language: str
    reader: MlirReader | ScriptReader
    source: str
    waiting: asyncio.TimerHandle | None = None
    _read: Text | None = field(default=None, repr=False)

    def change(self, source: str) -> None:
        """Replace the text."""
        self.source, self._read = source, None

    @property
    def text(self) -> Text:
        """Read the current text."""
        if self._read is None:
            self._read = Text(self.language, self._reading())
        return self._read

    def _reading(self) -> Reading:
        if len(self.source) > LARGEST:
            return Reading([], others=[Problem(Place(0, 0, 0), f"more than {LARGEST} characters are not read here")])
        if self.language == SCRIPT and not PROGRAM.search(self.source):
            return Reading(self.source.split("\n"))
        return self.reader.read(self.source)


class TiraxServer(LanguageServer):
    """The open documents and the position encoding."""

    def __init__(self, version: str):
        kind = lsp.TextDocumentSyncKind.Full  # pygls counts lines as `str.splitlines`, editors do not
        super().__init__("tirax-lsp", version, text_document_sync_kind=kind)
        self.documents: dict[str, Document] = {}

    def update(self, uri: str, source: str, language: str | None = None) -> None:
        """Add or replace a document; its problems are published after a pause."""
        document = self.documents.get(uri)
        if document is None:
            name = to_fs_path(uri) or uri
            if language == MLIR or name.endswith(".mlir"):
                document = Document(MLIR, MlirReader(name), source)
            else:
                document = Document(SCRIPT, ScriptReader(name), source)
            self.documents[uri] = document
        document.change(source)
        if document.waiting is not None:
            document.waiting.cancel()
        document.waiting = asyncio.get_running_loop().call_later(PAUSE, self.publish, uri)

    def publish(self, uri: str) -> None:
        """Publish the problems of a document."""
        document = self.documents.get(uri)
        if document is None:
            return
        document.waiting = None
        diagnostics = [
            lsp.Diagnostic(self.range(document.text, p.place), p.text, lsp.DiagnosticSeverity.Error, source="tirax")
            for p in document.text.reading.problems()
        ]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics))

    def close(self, uri: str) -> None:
        """Remove a document."""
        document = self.documents.pop(uri, None)
        if document is not None and document.waiting is not None:
            document.waiting.cancel()
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def at(self, params: Any) -> tuple[Text, int, int] | None:
        """Return the document and the position of a request."""
        document = self.documents.get(params.text_document.uri)
        if document is None:
            return None
        text, position = document.text, params.position
        line = text.line(position.line)
        units = self.workspace.position_codec.client_num_units
        column = len(line)
        if not line.isascii():
            column = next((i for i in range(len(line) + 1) if units(line[:i]) >= position.character), column)
        else:
            column = min(position.character, column)
        return text, position.line, column

    def position(self, text: Text, line: int, column: int) -> lsp.Position:
        """Return a position in the editor's encoding."""
        before = text.line(line)[:column]
        units = len(before) if before.isascii() else self.workspace.position_codec.client_num_units(before)
        return lsp.Position(line, units)

    def range(self, text: Text, place: Place) -> lsp.Range:
        """Return a range in the editor's encoding."""
        return lsp.Range(self.position(text, place.line, place.start), self.position(text, place.line, place.end))


def hover(server: TiraxServer, params: lsp.HoverParams) -> lsp.Hover | None:
    """Return the struct info of a name, or the documentation of an operator."""
    at = server.at(params)
    known = at[0].hover(*at[1:]) if at is not None else None
    if at is None or known is None:
        return None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, known[0]), server.range(at[0], known[1]))


def definition(server: TiraxServer, params: lsp.DefinitionParams) -> lsp.Location | None:
    """Return where a name is bound."""
    at = server.at(params)
    place = at[0].definition(*at[1:]) if at is not None else None
    return None if at is None or place is None else lsp.Location(params.text_document.uri, server.range(at[0], place))


def complete(server: TiraxServer, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    """Return the completions at a position."""
    at = server.at(params)
    return [
        lsp.CompletionItem(
            c.label,
            kind=_KINDS[c.kind],
            detail=c.detail or None,
            documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, c.text) if c.text else None,
        )
        for c in (completions(*at) if at is not None else ())
    ]


def hints(server: TiraxServer, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """Return the struct info that is not written."""
    document = server.documents.get(params.text_document.uri)
    if document is None:
        return []
    text = document.text
    return [
        lsp.InlayHint(server.position(text, line, column), label, kind=lsp.InlayHintKind.Type)
        for line, column, label in text.hints(params.range.start.line, params.range.end.line)
    ]


def actions(server: TiraxServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Return the passes that may run at a position. Automatic requests get them only for a requested kind."""
    document, context = server.documents.get(params.text_document.uri), params.context
    by_itself = context.trigger_kind == lsp.CodeActionTriggerKind.Automatic
    if document is None or (by_itself and not context.only):
        return []
    line = params.range.start.line
    kinds = {f"{KIND}.{name}": name for name in passes_at(document.text, line)}
    data = {"uri": params.text_document.uri, "line": line}
    return [
        lsp.CodeAction(f"run the pass {name}", kind, data={**data, "pass": name})
        for kind, name in kinds.items()
        if _is_requested(kind, context.only)
    ]


def _is_requested(kind: str, only: Iterable[str] | None) -> bool:
    return not only or any(kind == k or kind.startswith(f"{k}.") for k in only)


def resolve(server: TiraxServer, action: lsp.CodeAction) -> lsp.CodeAction:
    """Return the action with its edits; if its pass fails, a message shows the error."""
    data: Any = action.data
    document = server.documents.get(data["uri"])
    if document is None:
        return action
    try:
        edits = run_pass(document.text, data["line"], data["pass"])
    except Exception as error:  # noqa: BLE001 - a pass may raise anything: it is shown, and the server continues
        server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, message_of(error)))
        return action
    changes = [_change(document.text, edit) for edit in edits]
    action.edit = lsp.WorkspaceEdit(changes={data["uri"]: changes})
    return action


def _change(text: Text, edit: Edit) -> lsp.TextEdit:
    """Convert an edit; one at the end of the text has to begin with a line break."""
    lines, count = "".join(f"{line}\n" for line in edit.lines), len(text.reading.lines)
    if edit.end < count:
        return lsp.TextEdit(lsp.Range(lsp.Position(edit.first, 0), lsp.Position(edit.end, 0)), lines)
    end = lsp.Position(count - 1, len(text.line(count - 1).encode("utf-16-le")) // 2)
    if edit.first < count:
        return lsp.TextEdit(lsp.Range(lsp.Position(edit.first, 0), end), lines)
    return lsp.TextEdit(lsp.Range(end, end), "\n" + lines)


def make_server(version: str) -> TiraxServer:
    """Return a server with all features registered."""
    server = TiraxServer(version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:  # pyright: ignore[reportUnusedFunction]
        item = params.text_document
        server.update(item.uri, item.text, item.language_id)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:  # pyright: ignore[reportUnusedFunction]
        for change in params.content_changes:
            server.update(params.text_document.uri, change.text)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: lsp.DidCloseTextDocumentParams) -> None:  # pyright: ignore[reportUnusedFunction]
        server.close(params.text_document.uri)

    server.feature(lsp.TEXT_DOCUMENT_HOVER)(hover)
    server.feature(lsp.TEXT_DOCUMENT_DEFINITION)(definition)
    triggers = lsp.CompletionOptions(trigger_characters=[".", "%", "@", "!", "#"])
    server.feature(lsp.TEXT_DOCUMENT_COMPLETION, triggers)(complete)
    server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)(hints)
    options = lsp.CodeActionOptions(code_action_kinds=[KIND], resolve_provider=True)
    server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, options)(actions)
    server.feature(lsp.CODE_ACTION_RESOLVE)(resolve)
    return server
