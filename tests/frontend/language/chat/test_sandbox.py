"""A template is a stranger's program: what it may do, and that all else ends in a diagnostic, soon."""

from __future__ import annotations

import pytest

pytest.importorskip("jinja2", reason="jinja2 is not installed")

from tirax.frontend.language.chat import ChatTemplateError, budget
from tirax.frontend.language.chat.sandbox import rendered

MESSAGES = [{"role": "system", "content": " a,b "}, {"role": "user", "content": "c<d>"}]

RIGHT = [
    ("{% for m in messages %}{{ m.role }}:{{ m['content'] | trim }};{% endfor %}", "system:a,b;user:c<d>;"),
    ("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "2"),
    ("{{ messages[0].content.strip().split(',')[-1] }}{{ messages[1:] | length }}", "b1"),
    ("{{ messages | map(attribute='role') | join('-') }}", "system-user"),
    ("{{ messages | selectattr('role', 'equalto', 'user') | list | tojson }}", '[{"role": "user", "content": "c<d>"}]'),
    ("{{ {'a': [1, none]} | tojson(indent=2) }}", '{\n  "a": [\n    1,\n    null\n  ]\n}'),
    ("{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(1) ~ f('a') }}", "<1><a>"),
    ("{% for i in range(3) %}{{ loop.index0 }}{{ loop.last }}{% break %}{% endfor %}", "0False"),
    ("{{ tools is none }}{{ missing is defined }}{{ missing }}", "TrueFalse"),
    ("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{{ 'abc'.replace('b', '') | upper }}", "a1AC"),
    ("{{ 7 % 4 }}{{ 'ab' * 2 }}{{ 2 ** 10 }}{{ [1] + [2] }}", "3abab1024[1, 2]"),
    ("x\n{% if true %}\ny\n{% endif %}\nz", "x\ny\nz"),
]


@pytest.mark.parametrize("text, expected", RIGHT, ids=range(len(RIGHT)))
def test_what_templates_do(text: str, expected: str) -> None:
    assert rendered(text, {"messages": MESSAGES, "tools": None}) == expected


DOUBLING = "{% set ns = namespace(x='aaaa') %}{% for i in range(99) %}{% set ns.x = OF %}{% endfor %}{{ ns.x }}"
WRONG = [
    ("{{ 'a' * 1000000000 }}", "too much text"),
    ("{{ [1] * 100000000 }}", "too much text"),
    (DOUBLING.replace("OF", "ns.x ~ ns.x"), "too much text"),
    (DOUBLING.replace("OF", "ns.x + ns.x"), "too much text"),
    (DOUBLING.replace("OF", "[ns.x, ns.x] | join"), "too much text"),
    (DOUBLING.replace("OF", "[ns.x, ns.x]"), "takes too long"),
    (DOUBLING.replace("OF", "{1: ns.x, 2: (ns.x, 3)}"), "takes too long"),
    (DOUBLING.replace("OF", "[ns.x]"), "too deep"),
    ("{{ namespace(x=1) }}", "writes what has no text"),
    ("{{ [namespace(x=1)] ~ 'x' }}", "writes what has no text"),
    ("{{ [namespace(x=1)] | join }}", "writes what has no text"),
    ("{{ namespace(x=1) | string }}", "writes what has no text"),
    ("{{ self }}", "writes what has no text"),
    (DOUBLING.replace("OF", "ns.x.replace('a', 'aaaa')"), "too much text"),
    (DOUBLING.replace("OF", "ns.x.join(['a', 'a', 'a'])"), "too much text"),
    (DOUBLING.replace("'aaaa'", "99").replace("OF", "ns.x * ns.x"), "more than 256 bits"),
    ("{{ 9 ** 9 ** 9 }}", "more than 256 bits"),
    ("{{ ('a,' * 100000).replace('a', 'b' * 1000) }}", "too much text"),
    ("{{ 'a' | replace('', 'b' * 100) | replace('b', 'c' * 1000000) }}", "too much text"),
    ("{% set x %}{% for i in range(9999) %}" + "y" * 9999 + "{% endfor %}{% endset %}", "too much text"),
    ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "takes too long"),
    ("{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}", "takes too long"),
    ("{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}", "too deep"),
    ("{% for i in range(1000000000) %}{% endfor %}", "an argument above 100000"),
    ("{{ '%1000000000d' % 3 }}", "the formatting of texts"),
    ("{{ '{:1000000000}'.format(3) }}", "SecurityError"),
    ("{{ 'x' | center(1000000000) }}", "No filter named 'center'"),
    ("{{ ''.__class__.__mro__ }}", "SecurityError"),
    ("{{ messages.append(1) }}", "SecurityError"),
    ("{{ messages[0].update({'role': 'x'}) }}", "SecurityError"),
    ("{% include '/etc/passwd' %}", "a 'include'"),
    ("{% import 'os' as os %}", "a 'import'"),
    ("{% extends 'x' %}", "a 'extends'"),
    ("{% block x %}{% endblock %}", "a 'block'"),
    ("{% for x in messages recursive %}{{ loop(messages) }}{% endfor %}", "a recursive loop"),
    ("{{ raise_exception('roles must alternate') }}", "refuses the conversation: roles must alternate"),
    ("{{ 1 / 0 }}", "ZeroDivisionError"),
    ("{{ missing.x.y }}", "UndefinedError"),
    ("{{ messages[0].content() }}", "TypeError"),
    ("{{ unknown() }}", "UndefinedError"),
    ("{% for %}", "TemplateSyntaxError"),
    ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "too deep"),
    ("{% if 1 %}" * 200 + "{% endif %}" * 200, "fails"),
    ("x" * (1 << 19), "too long"),
]  # fmt: skip


@pytest.mark.parametrize("text, message", WRONG, ids=range(len(WRONG)))
def test_what_templates_must_not_do(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST_STEPS", 200_000)
    with pytest.raises(ChatTemplateError) as error:
        rendered(text, {"messages": MESSAGES, "tools": None})
    assert message in str(error.value)
    assert MESSAGES[0]["role"] == "system" and len(MESSAGES) == 2


@pytest.mark.parametrize(
    "text", ["raise_exception", "strftime_now", "namespace", "range", "messages", "messages.items", "self"]
)
@pytest.mark.parametrize("name", ["__globals__", "__self__", "__class__", "func_globals", "__init__", "gi_frame"])
def test_nothing_inner_is_reached(text: str, name: str) -> None:
    """An attribute of the inside is nothing, and nothing of it is more than nothing."""
    for form in (f"{{{{ {text}.{name} }}}}", f"{{{{ {text}['{name}'] }}}}"):
        try:
            assert rendered(form, {"messages": MESSAGES}) == ""
        except ChatTemplateError as error:
            assert "UndefinedError" in str(error) or "SecurityError" in str(error) or "TypeError" in str(error)  # noqa: PT017
