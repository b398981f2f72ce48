"""A small client of language servers: it starts one and talks to it over stdin and stdout, as editors do."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from typing import Any

TIMEOUT = 60.0


class Client:
    """A running server. `request` gives results, `problems` what the server last told of a text."""

    def __init__(self, command: list[str], **capabilities: Any):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.process.stdout, selectors.EVENT_READ)
        self._buffer = b""
        self._number = 0
        self.notifications: list[dict[str, Any]] = []
        """Notifications that came so far, oldest first."""
        self.capabilities = self.request(
            "initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities}
        )["capabilities"]
        self.notify("initialized", {})

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))

    def notify(self, method: str, params: Any) -> None:
        """Send what needs no answer."""
        self.send({"method": method, "params": params})

    def request(self, method: str, params: Any) -> Any:
        """The result of a request. Raises `RuntimeError` with the server's error."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                return message["result"]
            self.notifications.append(message)

    def receive(self) -> dict[str, Any]:
        """The next message. Raises `TimeoutError`, and `EOFError` where the server is gone."""
        end = time.monotonic() + TIMEOUT
        while True:
            head, separator, rest = self._buffer.partition(b"\r\n\r\n")
            if separator:
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                if len(rest) >= length:
                    self._buffer = rest[length:]
                    return json.loads(rest[:length])
            assert self.process.stdout is not None
            if not self._selector.select(max(end - time.monotonic(), 0)):
                raise TimeoutError(f"no message within {TIMEOUT} s")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise EOFError("the server has ended")
            self._buffer += data

    def open(self, uri: str, text: str, language: str) -> list[dict[str, Any]]:
        """Open a text; gives its problems."""
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return self.problems(uri)

    def change(self, uri: str, text: str, version: int = 2) -> list[dict[str, Any]]:
        """Change a text; gives its problems."""
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
        self.notify("textDocument/didChange", params)
        return self.problems(uri)

    def problems(self, uri: str) -> list[dict[str, Any]]:
        """What the server tells of a text next."""
        while True:
            message = self.receive()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
                return message["params"]["diagnostics"]
            self.notifications.append(message)

    def close(self) -> int:
        """Let the server end; gives its exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        code = self.process.wait(TIMEOUT)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code


def place(text: str, what: str, after: str = "", shift: int = 0) -> dict[str, int]:
    """The position of the first `what` behind the first `after`, `shift` characters on; lines of ASCII."""
    offset = text.index(what, text.index(after)) + shift
    return {"line": text.count("\n", 0, offset), "character": offset - text.rfind("\n", 0, offset) - 1}
