"""`BindTarget`: which functions get the target, its host, or keep their own."""

import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api.script import from_source
from tirax.tvm_api.target import Target
from tirax.tvm_api.tir.transform import BindTarget

HEAD = "from tvm.script import tir as T\n\n@T.prim_func{}\ndef main():\n{}    T.evaluate(0)\n"
CASES = {
    "public": ("", "", "cuda", "llvm"),
    "private": ("(private=True)", "", "cuda", None),
    "of the host": ("", '    T.func_attr({"tir.is_host_func": True})\n', "llvm", "llvm"),
    "of another target": ("", '    T.func_attr({"target": T.target("nvptx")})\n', "nvptx", "llvm"),
    "of a target with a host": ("", '    T.func_attr({"target": T.target("nvptx", host="c")})\n', "nvptx", "c"),
    "private, of another target": (
        "(private=True)",
        '    T.func_attr({"target": T.target("nvptx")})\n',
        "nvptx",
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_targets_of_functions(case):
    options, attrs, kind, host = CASES[case]
    bound = BindTarget(Target("cuda", host="llvm"))(tvm.IRModule({"main": from_source(HEAD.format(options, attrs))}))
    target = bound["main"].attrs["target"]
    assert target.kind.name == kind
    assert (target.host and target.host.kind.name) == host
    assert "tir.is_host_func" not in bound["main"].attrs
