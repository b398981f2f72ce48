"""Choices come again when they are played, and are made fewer and smaller."""

from __future__ import annotations

import random

from tirax.dev.fuzz.tape import Choices, Tape, shrunk


def _some(rng: random.Random) -> list[object]:
    items = list(range(10))
    rng.shuffle(items)
    few = [rng.choice("abc"), rng.randint(3, 9), rng.random()]
    return [*few, rng.sample(items, 4), rng.choices(items, range(10), k=3), items]


def test_what_is_played_is_what_was_drawn() -> None:
    first = Tape(7)
    drawn = _some(first)
    assert _some(Tape(played=first.drawn)) == drawn
    assert _some(Tape(8)) != drawn


def test_past_the_end_every_choice_is_the_first() -> None:
    tape = Tape(played=[])
    assert (tape.choice("abc"), tape.randint(3, 9), tape.random()) == ("a", 3, 0.0)


def test_a_failure_has_few_choices() -> None:
    def numbers(choices: Choices) -> list[int]:
        tape = Tape(played=choices)
        return [tape.getrandbits(8) for _ in range(tape.getrandbits(5))]

    def fails(choices: Choices) -> bool:
        return any(n > 100 for n in numbers(choices))

    tape = Tape(3)
    while not fails(tape.drawn):
        tape.getrandbits(8)
    smallest = shrunk(tape.drawn, fails, seconds=20)
    assert fails(smallest)
    assert len(smallest) == 2
    assert sum(n > 0 for n in numbers(smallest)) == 1
