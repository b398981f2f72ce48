"""A template is a stranger's program: what it may do, and that all else ends in a diagnostic, soon."""

from __future__ import annotations

import pytest

pytest.importorskip("jinja2", reason="jinja2 is not installed")

from tirax.llm.chat import ChatTemplateError, budget
from tirax.llm.chat.sandbox import rendered

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


def doubled(times, *names):
    """Lists in lists, twice each: a template of few characters whose values have 2 ** times parts."""
    return "".join(f"{{% set {n} = [1] %}}" + f"{{% set {n} = [{n}, {n}] %}}" * times for n in names)


def repeated(text, times=500):
    return "{% set z = [" + ", ".join([text] * times) + "] %}"


NOT_COUNTED_ONCE = {
    "slices": "{% set s = 'x' * 2000000 %}" + repeated("s[1:]"),
    "slices of lists": "{% set s = [1] * 90000 %}" + repeated("s[1:]"),
    "comparisons": doubled(10, "a", "b") + repeated("a == b"),
    "comparisons in a row": doubled(10, "a", "b") + repeated("1 < 2 < 3 != a != b"),
    "comparisons of texts": "{% set s = 'a' * 4000000 %}{% set r = 'a' * 4000000 %}" + repeated("s == r"),
    "look-ups in texts": "{% set s = 'a' * 4000000 %}" + repeated("'ab' in s"),
    "look-ups in lists": doubled(10, "a", "b") + repeated("a in [b]"),
    "tests": doubled(10, "a", "b") + repeated("a is eq b"),
    "keys": "{% set t = (1, 2) %}" + "{% set t = (t, t) %}" * 10 + "{% set d = {t: 1} %}" + repeated("d[t]"),
    "parts": "{% set s = 'ab ' * 900000 %}" + repeated("s.split()", 20),
    "indentation": doubled(12, "a") + "{{ a | tojson(indent=8) }}" * 20,
    "escapes": "{% set s = '\x01' * 4000000 %}{{ s | tojson }}",
}


@pytest.mark.parametrize("name", NOT_COUNTED_ONCE)
def test_what_was_not_counted_is(name, monkeypatch):
    monkeypatch.setattr(budget, "MOST_STEPS", 1 << 17)
    with pytest.raises(ChatTemplateError, match=r"too much text|too long"):
        rendered(NOT_COUNTED_ONCE[name], {})


def test_parts_and_comparisons_mean_what_they_did():
    text = "{{ s[1:3] }}{{ s[::-1] }}{{ l[:1][0] }}{{ 1 < 2 <= 2 }}{{ 'b' in s }}{{ d['k'] }}"
    text += "{{ 4 is divisibleby 2 }}"
    assert rendered(text, {"s": "abcd", "l": [7, 8], "d": {"k": 5}}) == "bc" + "dcba" + "7TrueTrue5True"
