"""Command lines that start at once: a process that has imported tirax forks for each command.

Most of what a short `tirax-opt` takes is its start, and the FileCheck tests are hundreds of them. `Commands` puts
programs of the same names into a folder, to be put in front of PATH; each passes its arguments, environment and files
to the process that was started once, and ends as the command does. What a command line is as a process (how it starts,
what it imports, how it is interrupted) is tested on the real ones, in tests/tools.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

MAINS = {
    "tirax-opt": "tirax.tools.tirax_opt",
    "tirax": "tirax.tools.tirax_cli",
    "xdsl-opt": "xdsl.tools.xdsl_opt",
    "filecheck": "filecheck.main",
}
LARGEST = 1 << 20
"""Bytes of a request; a longer one, which lit never makes, is an error of the client."""

_CLIENT = """#!{python} -IS
import os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect({address!r})
environment = [f"{{k}}={{v}}" for k, v in os.environ.items()]
parts = [os.getcwd(), {name!r}, str(len(sys.argv) - 1), *sys.argv[1:], *environment]
socket.send_fds(server, [os.fsencode("\\0".join(parts))], [0, 1, 2])
answer = server.recv(8)
sys.exit(int(answer) if answer else 139)
"""

_WARM = "relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> { " + (
    "%0 = relax.exp %x : !relax.tensor<[n, 4], f32> relax.return %0 : !relax.tensor<[n, 4], f32> }"
)


class Commands:
    """The commands of MAINS in the folder `bin`, until `close`."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.bin = Path(self._folder.name)
        address = str(self.bin / "socket")
        write_clients(self.bin, address)
        self._server = subprocess.Popen(
            [sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._server.stdout is not None
        self._server.stdout.readline()  # it says that it is ready

    def close(self) -> None:
        """End the process; it also ends by itself when this one does."""
        self._server.kill()
        self._server.wait()
        self._folder.cleanup()


def write_clients(folder: Path, address: str) -> None:
    """Programs that have their command run by the process at an address."""
    for name in MAINS:
        path = folder / name
        path.write_text(_CLIENT.format(python=sys.executable, address=address, name=name))
        path.chmod(0o755)


def warm_up() -> dict[str, Callable[[], Any]]:
    """The commands' functions, after all that they commonly import was imported."""
    mains = {name: import_module(module).main for name, module in MAINS.items()}
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        program = Path(folder) / "warm.mlir"
        program.write_text(_WARM)
        for options in (["--list-passes"], ["--pipeline", "default-cpu", "-t", "obj", "-o", f"{folder}/o"]):
            sys.argv = ["tirax-opt", *([str(program)] if "-o" in options else []), *options]
            mains["tirax-opt"]()
    return mains


def run(main: Callable[[], Any], request: bytes, files: list[int]) -> int:
    """The exit code of a command, in a process of its own."""
    folder, name, count, *rest = os.fsdecode(request).split("\0")
    for number, file in enumerate(files):
        os.dup2(file, number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 - they live as long as it does
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(part.split("=", 1) for part in rest[int(count) :])
    sys.argv = [name, *rest[: int(count)]]
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    if isinstance(code, str):
        print(code, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    return code if isinstance(code, int) else int(code is not None)


def answer(client: socket.socket, mains: dict[str, Callable[[], Any]]) -> None:
    """Run the command that a client asks for, and tell it the exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, files, _, _ = socket.recv_fds(client, LARGEST, 3)
    name = os.fsdecode(request).split("\0")[1]
    code = 1
    try:
        code = run(mains[name], request, files)
    except Exception:  # noqa: BLE001 - what Python itself does with an exception that nobody takes
        traceback.print_exc()
    client.send(str(code).encode())


def take_client(listener: socket.socket, mains: dict[str, Callable[[], Any]]) -> None:
    """Answer the next client, in a process of its own."""
    client, _ = listener.accept()
    if os.fork() == 0:
        answer(client, mains)
        os._exit(0)
    client.close()


def serve(address: str) -> None:
    """A process for each client, until the standard input ends, whose other end is with the one who started this."""
    mains = warm_up()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(16)
        print("ready", flush=True)
        while sys.stdin.fileno() not in select.select([sys.stdin, listener], [], [])[0]:
            take_client(listener, mains)


if __name__ == "__main__":
    serve(sys.argv[1])
