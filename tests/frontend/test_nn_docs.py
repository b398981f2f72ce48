"""docs/nn.md: its examples run, and its table of names that are left out is right."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from tirax.diagnostics import UnsupportedError
from tirax.frontend import nn

SIGNATURES = Path(__file__).parent / "nn_signatures.txt"
"""TVM's public names of `relax.frontend.nn`, with their parameters and defaults."""


def page():
    path = Path(nn.__file__).parents[2] / "docs" / "nn.md"
    if not path.is_file():
        pytest.skip("the documents are in the repository, not in the installed package")
    return path.read_text()


def left_out():
    """The names in the table -> whether they are there, and refused."""
    rows = re.findall(r"^\| (`.*`) \| (refused|left out) \| .+ \|$", page(), re.M)
    return {name: how for names, how in rows for name in re.findall(r"`([^`]+)`", names)}


def named(name):
    """What a dotted name stands for, None where there is nothing."""
    actual = nn
    for part in name.split("."):
        actual = getattr(actual, part, None)
    return actual


def signature(function):
    """Its parameters and defaults, without annotations."""
    parameters, starred = [], False
    function = function.__init__ if inspect.isclass(function) else function
    for name, p in inspect.signature(function).parameters.items():
        if name == "self":
            continue
        if p.kind is p.KEYWORD_ONLY and not starred:
            parameters.append("*")
        starred = starred or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        parameters.append(star + name + ("" if p.default is p.empty else f"={p.default!r}"))
    return ", ".join(parameters)


def test_the_examples_run(tmp_path):
    blocks = re.findall(r"^```py\n(.*?)^```$", page(), re.M | re.S)
    assert len(blocks) == 4
    path = tmp_path / "nn_page.py"
    path.write_text("\n".join(blocks))
    spec = importlib.util.spec_from_file_location("nn_page", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_names_and_parameters_are_those_of_tvm():
    rows = [re.fullmatch(r"([\w.]+)\((.*)\)", row).groups() for row in SIGNATURES.read_text().splitlines()]
    absent = {name for name, how in left_out().items() if how == "left out"}
    missing = [name for name, _ in rows if name not in absent and named(name) is None]
    assert len(rows) == 184 and not missing
    assert {n: signature(named(n)) for n, _ in rows if n not in absent} == {n: s for n, s in rows if n not in absent}


def test_what_is_left_out_is_not_there_or_refused():
    names = left_out()
    assert len(names) == 10
    known = {row.partition("(")[0] for row in SIGNATURES.read_text().splitlines()} | {"torch"}
    for name, how in names.items():
        assert name in known
        if how == "left out":
            assert named(name) is None
    for call in (
        lambda x: nn.op.ccl_allreduce(x),
        lambda x: nn.op.ccl_allgather(x, 2),
        lambda x: nn.op.ccl_broadcast_from_worker0(x),
        lambda x: nn.SourceModule({}, "", "cpp"),
    ):
        with pytest.raises(UnsupportedError):
            call(None)


def test_all_that_is_exported_is_there():
    import tirax.tvm_api.relax.frontend.nn as api

    for module in (nn, nn.op, nn.modules, nn.core, nn.spec):
        assert all(hasattr(module, name) for name in module.__all__)
    assert set(nn.__all__) <= set(api.__all__) and all(hasattr(api, name) for name in api.__all__)
    for name in ("core", "exporter", "extern", "modules", "op", "spec", "subroutine", "visitor"):
        ours, tvms = (
            importlib.import_module(f"tirax.{room}.nn.{name}") for room in ("frontend", "tvm_api.relax.frontend")
        )
        assert all(getattr(ours, n) is getattr(tvms, n) for n in tvms.__all__)
    assert api.extern is nn.extern is nn.op.extern
    assert api.op.abs.__doc__ == nn.op.abs.__doc__
