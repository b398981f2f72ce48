"""What notebooks and terminals show of programs."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from types import ModuleType

import pytest
from rich.console import Console

from tirax.handles.module import IRModule
from tirax.script import parse_mlir, parse_source

PROGRAM = """\
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def double(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("<b>&"):
                vi = T.axis.spatial(4, i)
                Y[vi] = X[vi] * T.float32(2)
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.exp(x)
"""


class Shown(HTMLParser):
    """The text of a page, its tags and what they refer to."""

    def __init__(self, page: str):
        super().__init__()
        self.text, self.tags, self.open = "", [], 0
        self.links: list[str] = []
        self.depth: list[str] = []
        self.feed(page)
        self.close()
        assert not self.depth

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.depth.append(tag)
        names = dict(attrs)
        self.open += tag == "details" and "open" in names
        self.links += [v for k, v in attrs if k in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.depth.pop() == tag

    def handle_data(self, data):
        self.text += data if self.depth[-1:] != ["summary"] else ""


@pytest.fixture(scope="module")
def module():
    return IRModule(parse_source(PROGRAM))


def test_a_notebook_shows_the_program(module):
    shown = Shown(module._repr_html_())
    assert shown.text.split() == module.script().split()
    assert shown.tags.count("details") == shown.open == 2 and not shown.links
    assert "script" not in shown.tags and "style" not in shown.tags


def test_functions_of_long_programs_are_folded(module):
    many = IRModule({f"f{number}": module["double"].with_attr("global_symbol", f"f{number}") for number in range(12)})
    shown = Shown(many._repr_html_())
    assert shown.tags.count("details") == 12 and shown.open == 0


def test_a_function_is_shown(module):
    shown = Shown(module["main"]._repr_html_())
    assert shown.text.split() == module["main"].script().split() and shown.tags.count("details") == 1


def test_what_has_no_form_in_tvmscript_is_mlir():
    module = IRModule(parse_mlir("func.func @f() { func.return }"))
    assert "func.func @f()" in Shown(module._repr_html_()).text
    console = Console(width=80)
    with console.capture() as capture:
        console.print(module)
    assert "func.func @f()" in capture.get()


def test_rich_prints_modules_and_functions(module):
    console = Console(width=120, force_terminal=True, color_system="truecolor")
    with console.capture() as capture:
        console.print(module)
        console.print(module["main"])
    assert "\x1b[" in capture.get() and "exp" in capture.get()


@pytest.fixture
def notebook(monkeypatch):
    """What a notebook was given to show."""
    displayed: list[str] = []
    fake = ModuleType("IPython.display")
    fake.HTML, fake.display = str, displayed.append
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    return displayed


@pytest.mark.parametrize("style", [None, "dark", "ansi", "monokai"])
def test_show_in_a_notebook(module, notebook, style):
    module.show(style=style)
    (page,) = notebook
    assert Shown(page).text.split() == module.script().split() and Shown(page).tags.count("details") == 2
