"""`I.vdevice("llvm", 0, "global")` in a script: a virtual device, which struct info holds as a text."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

from ...dialects import tir
from ...dialects.relax.devices import vdevice_text
from .attributes import plain_value
from .values import CallSite, describe


def read_vdevice(site: CallSite) -> StringAttr:
    """A virtual device: its target by name, text or configuration, its number, and the kind of memory."""
    target, number, scope = site.bind("target= vdevice_id= memory_scope=")
    given = target.config if isinstance(target, tir.TargetAttr) else target
    index = 0 if number is None else plain_value(number)
    if not isinstance(given, str | dict | None) or type(index) is not int or not isinstance(scope, str | None):
        raise site.error("a virtual device is a target, a number and a kind of memory", found=describe(target))
    text = vdevice_text(given, index, scope or "global")
    tir.TargetAttr.of(text.partition(":")[0])  # which knows all kinds
    return StringAttr(text)
