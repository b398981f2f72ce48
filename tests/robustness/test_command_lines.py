"""The command lines with what is wrong of every kind: a message, an exit code, and nothing left behind."""

from __future__ import annotations

import io
import os
from types import SimpleNamespace

import numpy as np
import pytest

from tirax.tools import tirax_cli, tirax_opt
from tirax.tools.source import read_program

MLP = """
relax.func @main(%x: !relax.tensor<[n, 6], f32>, %w: !relax.tensor<[6, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %lv = relax.matmul %x, %w : !relax.tensor<[n, 4], f32>
  relax.return %lv : !relax.tensor<[n, 4], f32>
}
"""


@pytest.fixture
def run(capfd, monkeypatch, tmp_path):
    """`run("tirax", "run", "mlp.mlir")`: exit code and stderr, in a folder with files of every kind."""
    (tmp_path / "mlp.mlir").write_text(MLP)
    (tmp_path / "text.npz").write_text("no archive")
    (tmp_path / "zip.npz").write_bytes(b"PK\3\4garbage")
    (tmp_path / "zip.npy").write_bytes(b"PK\3\4garbage")
    (tmp_path / "latin.mlir").write_bytes("é".encode("latin-1"))
    (tmp_path / "cut.tirax").write_bytes(b"\x89TIRAX\r\n" + bytes(40))
    np.save(tmp_path / "f8.npy", np.zeros((3, 6)))
    np.save(tmp_path / "rank.npy", np.zeros(3, np.float32))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "many.npz", x=np.zeros(3, np.float32))
    for name in ("pipe.mlir", "pipe.py", "pipe.tirax"):
        os.mkfifo(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIRAX_DEBUG", raising=False)
    before = set(os.listdir(tmp_path))

    def call(tool: str, *args: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
        code = (tirax_cli if tool == "tirax" else tirax_opt).main(list(args))
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        assert "internal error" not in captured.err
        assert set(os.listdir(tmp_path)) == before
        return code, captured.err

    return call


BIND = 'bind-params{{file="{}"}}'
LINES = [
    (["tirax", "rum"], 2, "did you mean 'run'"),
    (["tirax", "run", "absent.mlir"], 1, "No such file"),
    (["tirax", "run", "."], 1, "."),
    (["tirax", "run", "latin.mlir"], 1, "not a text file"),
    (["tirax", "run", "cut.tirax"], 1, "truncated"),
    (["tirax", "run", "pipe.tirax"], 1, "it is a pipe"),
    (["tirax", "run", "pipe.mlir"], 1, "it is a pipe"),
    (["tirax", "build", "pipe.py", "-o", "x.tirax"], 1, "it is a pipe"),
    (["tirax-opt", "pipe.mlir"], 1, "it is a pipe"),
    (["tirax", "inspect", "mlp.mlir"], 1, "not an executable"),
    (["tirax", "inspect", "."], 1, "directory"),
    (["tirax", "run", "mlp.mlir", "--func", "mian"], 2, "did you mean 'main'"),
    (["tirax", "run", "mlp.mlir", "--target", "gpu"], 1, "unknown target kind"),
    (["tirax", "run", "mlp.mlir", "--pipeline", "defualt-cpu"], 1, "did you mean 'default-cpu'"),
    (["tirax", "run", "mlp.mlir", "--sizes", "n=-1"], 2, "--sizes"),
    (["tirax", "run", "mlp.mlir", "--sizes", "n"], 2, "--sizes"),
    (["tirax", "run", "mlp.mlir", "--sizes", "m=3"], 2, "unknown size 'm'"),
    (["tirax", "run", "mlp.mlir", "--sizes", "n=4611686018427387904"], 1, "too large"),
    (["tirax", "run", "mlp.mlir", "--sizes", "n=" + "9" * 30], 2, "--sizes"),
    (["tirax", "run", "mlp.mlir", "--input", "x"], 2, "name=value"),
    (["tirax", "run", "mlp.mlir", "--input", "y=zeros"], 2, "unknown parameter 'y'"),
    (["tirax", "run", "mlp.mlir", "--input", "x=zeros:axb"], 2, "a shape is wrong"),
    (["tirax", "run", "mlp.mlir", "--input", "x=zeros:3x5"], 1, "wrong extent"),
    (["tirax", "run", "mlp.mlir", "--input", "x=zeros:" + "9" * 30], 1, "too large"),
    (["tirax", "run", "mlp.mlir", "--input", "x=absent.npy"], 1, "cannot read"),
    (["tirax", "run", "mlp.mlir", "--input", "x=zip.npy"], 1, "cannot read"),
    (["tirax", "run", "mlp.mlir", "--input", "x=objects.npy"], 1, "cannot read"),
    (["tirax", "run", "mlp.mlir", "--input", "x=many.npz"], 1, "several arrays"),
    (["tirax", "run", "mlp.mlir", "--input", "x=f8.npy"], 1, "wrong dtype"),
    (["tirax", "run", "mlp.mlir", "--input", "x=rank.npy"], 1, "number of dimensions"),
    (["tirax", "build", "mlp.mlir", "-o", "."], 1, "cannot write"),
    (["tirax", "build", "mlp.mlir", "-o", "absent/x"], 1, "cannot write"),
    (["tirax", "cache", "cleer"], 2, "did you mean 'clear'"),
    (["tirax-opt", "mlp.mlir", "-p", BIND.format("text.npz")], 1, "cannot read 'text.npz'"),
    (["tirax-opt", "mlp.mlir", "-p", BIND.format("zip.npz")], 1, "cannot read 'zip.npz'"),
    (["tirax-opt", "mlp.mlir", "-p", BIND.format("f8.npy")], 1, "a single array"),
    (["tirax-opt", "mlp.mlir", "-p", BIND.format("/dev/null")], 1, "it is a device"),
    (["tirax-opt", "mlp.mlir", "-p", BIND.format("many.npz")], 1, "wrong rank"),
    (["tirax-opt", "mlp.mlir", "-p", "bind-params{func_name=3}"], 2, "wrong value"),
    (["tirax-opt", "mlp.mlir", "-p", 'bind-params{func_name="mian"}'], 1, "did you mean 'main'"),
    (["tirax-opt", "mlp.mlir", "-p", 'bind-symbolic-vars{names="n"}'], 2, "error"),
    (["tirax-opt", "mlp.mlir", "-p", "fuse-ops{max-deepth=3}"], 2, "did you mean 'max_depth'"),
    (["tirax-opt", "mlp.mlir", "-p", "convert-to-llvm"], 1, "no lowering to llvm for 'relax.func'"),
    (["tirax-opt", "mlp.mlir", "-t", "llvm"], 1, "no native code for 'relax.matmul'"),
    (["tirax-opt", "mlp.mlir", "-t", "obj", "-o", "."], 1, "error"),
]


@pytest.mark.parametrize(("line", "code", "text"), LINES, ids=[" ".join(line)[:60] for line, _, _ in LINES])
def test_bad_command_line(run, line, code, text):
    result, err = run(*line)
    assert text in err
    assert result == code


def test_a_shell_may_pass_a_program_in_a_pipe() -> None:
    text = MLP.strip()
    read, write = os.pipe()
    os.write(write, text.encode())
    os.close(write)
    program = read_program(f"/dev/fd/{read}")
    os.close(read)
    assert (program.text, program.format) == (text, "mlir")
