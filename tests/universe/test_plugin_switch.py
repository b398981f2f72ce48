"""`TIRAX_PLUGINS` in the environment selects plug-ins; tirax and xDSL remain."""

import pytest
from xdsl.universe import Universe

from tirax import universe
from tirax.universe import PluginError, chosen_plugins, full_universe


class Entry:
    """An entry point, as far as it is asked."""

    dist = None

    def __init__(self, name, loaded):
        self.name, self.value, self._loaded = name, f"{name}:UNIVERSE", loaded

    def load(self):
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


@pytest.fixture(autouse=True)
def _with_plugins(monkeypatch):
    own = Universe(all_passes={"legalize-ops": lambda: None})
    acme, again = (Universe(all_passes={name: lambda: None}) for name in ("wave", "legalize-ops"))
    entries = [Entry("tirax", own), Entry("broken", ImportError("no")), Entry("acme", acme), Entry("again", again)]
    monkeypatch.setattr(universe, "entry_points", lambda group: entries)
    full_universe.cache_clear()
    yield
    full_universe.cache_clear()


@pytest.mark.parametrize(
    ("value", "names"),
    [("", ["tirax"]), ("acme", ["acme", "tirax"]), ("acme, broken", ["acme", "broken", "tirax"])],
)
def test_plugins_are_chosen(value, names, monkeypatch):
    monkeypatch.setenv("TIRAX_PLUGINS", value)
    assert [entry.name for entry in chosen_plugins("xdsl.universe")] == names


def test_a_broken_one_can_be_left_out(monkeypatch):
    with pytest.raises(PluginError, match="TIRAX_PLUGINS="):
        full_universe()
    monkeypatch.setenv("TIRAX_PLUGINS", "acme")
    assert list(full_universe().all_passes) == ["wave", "legalize-ops"]


def test_a_name_that_is_taken_is_reported(monkeypatch):
    monkeypatch.setenv("TIRAX_PLUGINS", "again")
    with pytest.raises(PluginError, match="has the pass 'legalize-ops', which another one has"):
        full_universe()
