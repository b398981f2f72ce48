"""`tirax completion SHELL`: completion of commands, options and their values, from the parsers' own tables.

eval "$(tirax completion bash)"                                  # in ~/.bashrc
eval "$(tirax completion zsh)"                                   # in ~/.zshrc, after compinit
tirax completion fish > ~/.config/fish/completions/tirax.fish
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..driver.pipelines import PIPELINES
from ..universe import TIRAX_UNIVERSE
from .peers import PEERS

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class Option:
    """An option: its spellings, its help, whether it takes a value, and the values if there are only some."""

    flags: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command of a program (`""` is the program itself): its options, and words that can stand in place of a file."""

    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def _values(action: argparse.Action) -> tuple[str, ...]:
    known: dict[str, Callable[[], tuple[str, ...]]] = {
        "--pipeline": lambda: tuple(PIPELINES),
        "--passes": lambda: tuple(TIRAX_UNIVERSE.all_passes),
        "--against": lambda: tuple(PEERS),
        "--compare": lambda: tuple(PEERS),
    }
    if action.choices is not None:
        return tuple(map(str, action.choices))
    return next((known[flag]() for flag in action.option_strings if flag in known), ())


def commands_of(parser: argparse.ArgumentParser) -> list[Command]:
    """Return the commands of a parser, itself first."""
    inner = next((a for a in parser._actions if isinstance(a, argparse._SubParsersAction)), None)
    words = () if inner is None else tuple(inner.choices)
    first = Command("", parser.description or "", tuple(_options(parser)), words)
    if inner is None:
        return [first]
    helps = {choice.dest: choice.help or "" for choice in inner._choices_actions}
    return [first, *(_command(name, helps.get(name, ""), p) for name, p in inner.choices.items())]


def _command(name: str, text: str, parser: argparse.ArgumentParser) -> Command:
    positional = (a for a in parser._actions if not a.option_strings)
    words = tuple(word for action in positional for word in _values(action))
    return Command(name, text, tuple(_options(parser)), words)


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            takes_value = action.nargs != 0
            yield Option(tuple(action.option_strings), action.help or "", takes_value, _values(action))


def script(shell: str, programs: dict[str, argparse.ArgumentParser]) -> str:
    """Return the script of a shell for programs by name."""
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return "\n".join(line for name, parser in programs.items() for line in write(name, commands_of(parser))) + "\n"


def _bash(program: str, commands: list[Command]) -> Iterator[str]:
    function = f"_{program.replace('-', '_')}"
    yield f"{function}() {{"
    yield '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" command="" words=""'
    if len(commands) > 1:
        yield '  [[ $COMP_CWORD -gt 1 ]] && command="${COMP_WORDS[1]}"'
    yield '  case "$command:$prev" in'
    for command in commands:
        for option in command.options:
            if option.takes_value:
                pattern = "|".join(f"{command.name}:{flag}" for flag in option.flags)
                yield f"    {pattern}) {_bash_words(option.values)}; return;;"
    yield "  esac"
    yield '  case "$command" in'
    for command in commands:
        flags = [flag for option in command.options for flag in option.flags]
        yield f"    {shlex.quote(command.name)}) words={shlex.quote(' '.join((*command.words, *flags)))};;"
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield '  [[ $cur != -* && -n "$command$COMP_CWORD" ]] && COMPREPLY+=($(compgen -f -- "$cur"))'
    yield "}"
    yield f"complete -o filenames -F {function} {program}"


def _bash_words(values: tuple[str, ...]) -> str:
    what = f"-W {shlex.quote(' '.join(values))}" if values else "-f"
    return f'COMPREPLY=($(compgen {what} -- "$cur"))'


def _zsh(program: str, commands: list[Command]) -> Iterator[str]:
    function = f"_{program.replace('-', '_')}"
    yield f"{function}() {{"
    if len(commands) > 1:
        yield "  if (( CURRENT == 2 )); then"
        yield "    local -a commands=("
        yield from (f"      {_zsh_quoted(f'{c.name}:{c.help}')}" for c in commands[1:])
        yield "    )"
        yield "    _describe command commands; return"
        yield "  fi"
        yield "  case $words[2] in"
        for command in commands[1:]:
            yield f"    {command.name}) shift words; (( CURRENT-- )); _arguments \\"
            yield from _zsh_arguments(command)
            yield "      ;;"
        yield "  esac"
    else:
        yield "  _arguments \\"
        yield from _zsh_arguments(commands[0])
    yield "}"
    yield f"compdef {function} {program}"


def _zsh_arguments(command: Command) -> Iterator[str]:
    for option in command.options:
        for flag in option.flags:
            text = option.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
            value = (
                ""
                if not option.takes_value
                else f":value:({' '.join(option.values)})"
                if option.values
                else ":value:_files"
            )
            yield f"      {_zsh_quoted(f'*{flag}[{text}]{value}')} \\"
    words = " ".join(command.words)
    yield f"      {_zsh_quoted(f'*:word:({words})' if words else '*:file:_files')}"


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish(program: str, commands: list[Command]) -> Iterator[str]:
    for command in commands:
        condition = f"__fish_seen_subcommand_from {command.name}" if command.name else "__fish_use_subcommand"
        start = (
            f"complete -c {program}" if len(commands) == 1 else f"complete -c {program} -n {_fish_quoted(condition)}"
        )
        if command.name:
            yield f"complete -c {program} -n __fish_use_subcommand -a {command.name} -d {_fish_quoted(command.help)}"
        if command.words and command.name:
            yield f"{start} -f -a {_fish_quoted(' '.join(command.words))}"
        for option in command.options:
            long = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in option.flags)
            value = (
                f" -x -a {_fish_quoted(' '.join(option.values))}"
                if option.values
                else " -r"
                if option.takes_value
                else ""
            )
            yield f"{start} {long}{value} -d {_fish_quoted(option.help)}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


__all__ = ["SHELLS", "Command", "Option", "commands_of", "script"]
