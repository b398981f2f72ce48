"""Targets as attributes: `#tir.target<{kind = "llvm", "num-cores" = 8 : i64}>`.

A configuration lists the options that differ from the defaults of its kind; printed programs list all of them, as in
TVM:

    T.target({"arch": "sm_80", "keys": ["cuda", "gpu"], "kind": "cuda", "max_num_threads": 1024, "tag": "", …})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition

from ...diagnostics import unknown_name
from ...target import TargetError, host_triple, text_of, words_of
from ..attributes import from_attr, to_attr
from .target_tags import TAGS

Config = dict[str, Any]


@dataclass(frozen=True)
class TargetKind:
    """A target kind: its name, TVM's number of such devices, and its default keys."""

    name: str
    default_device_type: int
    default_keys: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def _gpu(name: str, number: int) -> TargetKind:
    return TargetKind(name, number, (name, "gpu"))


KINDS = {
    kind.name: kind
    for kind in (
        TargetKind("llvm", 1, ("cpu",)),
        TargetKind("c", 1, ("cpu",)),
        TargetKind("composite", 1, ()),
        TargetKind("hybrid", 1, ()),
        TargetKind("test", 1, ()),
        TargetKind("ext_dev", 12, ()),
        TargetKind("hexagon", 14, ("hexagon", "cpu")),
        TargetKind("nvptx", 2, ("cuda", "gpu")),
        _gpu("cuda", 2),
        _gpu("opencl", 4),
        _gpu("vulkan", 7),
        _gpu("metal", 8),
        _gpu("rocm", 10),
        _gpu("webgpu", 15),
    )
}
"""The target kinds by name."""


_LISTS = frozenset(("keys", "libs", "mattr", "cl-opt", "devices"))


def parsed(text: str) -> Config:
    """Parse a target: a kind or a tag, then options such as `-mcpu=znver4` or `--host llvm`."""
    kind, *rest = words_of(text)
    config: Config = dict(TAGS[kind], tag=kind) if kind in TAGS else {"kind": kind}
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not name.startswith("-"):
            raise TargetError(f"'{name}' in target '{text}'", expected="an option, such as -mcpu=native")
        if not equals:
            if not rest or rest[0].startswith("-"):
                raise TargetError(f"option {name} in target '{text}' has no value", expected=f"{name}=…")
            value = rest.pop(0)
        config[name.lstrip("-")] = value
    return config


def kind_of(config: Mapping[str, Any]) -> TargetKind:
    """Return the kind of a target. Raises `NameLookupError` for an unknown one, `TargetError` if there is none."""
    if "kind" not in config:
        raise TargetError("a target's dictionary has no kind", expected='{"kind": "llvm", …}', found=config)
    kind = KINDS.get(str(config["kind"]))
    if kind is None:
        raise unknown_name("target kind", str(config["kind"]), [*KINDS, *TAGS])
    return kind


def option(key: str, value: Any) -> Any:
    """Return the value of an option; text such as `8`, `true` and `a,b` is converted."""
    if isinstance(value, Mapping):
        raise TargetError(f"the option {key} of a target", expected="a value or a list", found=cast(Config, value))
    if key in _LISTS:
        return [v for v in value.split(",") if v] if isinstance(value, str) else list(value)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return int(value.lower() == "true")
    return int(value) if isinstance(value, str) and value.removeprefix("-").isdecimal() else value


def keys_of(config: Mapping[str, Any]) -> list[str]:
    """Return the explicit keys, the device, and those of the kind."""
    device = [str(config["device"])] if "device" in config else []
    return list(dict.fromkeys([*config.get("keys", ()), *device, *kind_of(config).default_keys]))


def full_text(text: str) -> str:
    """Return a target's text with its keys and its options sorted by name: TVM's form in messages."""
    config = {name: option(name, value) for name, value in parsed(text).items()}
    return text_of(dict(sorted({**config, "keys": keys_of(config)}.items())))


_THREADS: Config = {"max_num_threads": 256, "max_threads_per_block": 256}
_DEFAULTS: dict[str, Config] = {
    "cuda": {"arch": "sm_50", "max_num_threads": 1024, "thread_warp_size": 32},
    "nvptx": {"mcpu": "sm_50", "mtriple": "nvptx64-nvidia-cuda", "max_num_threads": 1024, "thread_warp_size": 32},
    "rocm": {
        **_THREADS,
        "mcpu": "gfx900",
        "mtriple": "amdgcn-amd-amdhsa-hcc",
        "max_shared_memory_per_block": 65536,
        "thread_warp_size": 64,
    },
    "opencl": {
        **_THREADS,
        "image_base_address_alignment": 64,
        "max_function_args": 128,
        "max_shared_memory_per_block": 16384,
        "texture_spatial_limit": 16384,
        "thread_warp_size": 1,
    },
    "metal": {**_THREADS, "max_function_args": 31, "max_shared_memory_per_block": 32768, "thread_warp_size": 16},
    "vulkan": {**_THREADS, "supports_float32": True, "supports_int32": True, "thread_warp_size": 1},
    "webgpu": {"max_num_threads": 256},
}
"""The options that a kind of target has unless others are named, for which no device is queried."""


def _implied(config: Mapping[str, Any]) -> Config:
    """Return the default options of a target. A tag is expanded to its configuration."""
    limits = _DEFAULTS.get(str(config["kind"]), {})
    triple = {"mtriple": host_triple()} if config["kind"] == "llvm" else {}
    without_keys = {k: v for k, v in config.items() if k != "keys"}
    return {"tag": "", "keys": keys_of(without_keys), **limits, **triple}


def _without_implied(config: Mapping[str, Any]) -> Config:
    kind_of(config)
    config_options = {k: option(k, v) for k, v in config.items() if k not in ("host", "tag")}
    implied = _implied(config_options)
    kept = {k: v for k, v in config_options.items() if implied.get(k) != v}
    host = cast("str | Config | None", config.get("host"))
    return kept if host is None else {**kept, "host": _without_implied(parsed(host) if isinstance(host, str) else host)}


def _described(config: Mapping[str, Any]) -> Config:
    keys = {"keys": keys_of(config)}
    host = {"host": _described(config["host"])} if "host" in config else {}
    return {**_implied(config), **config, **keys, **host}


def _attribute(value: Any) -> Attribute:
    if isinstance(value, Mapping):
        return DictionaryAttr({k: _attribute(v) for k, v in cast(Config, value).items()})
    return cast(Attribute, to_attr(value))


def _plain(attr: Attribute) -> Any:
    if isinstance(attr, DictionaryAttr):
        return {k: _plain(v) for k, v in attr.data.items()}
    return [_plain(a) for a in cast("ArrayAttr[Attribute]", attr)] if isinstance(attr, ArrayAttr) else from_attr(attr)


@irdl_attr_definition
class TargetAttr(ParametrizedAttribute):
    """The target that a function is compiled or scheduled for."""

    name = "tir.target"
    given: DictionaryAttr

    @classmethod
    def of(cls, target: str | Mapping[str, Any], host: object = None) -> TargetAttr:
        """Return the attribute for a text, a tag or a dictionary, and a host. Raises `TargetError`,
        `NameLookupError` for an unknown kind.
        """
        config = parsed(target) if isinstance(target, str) else dict(target)
        return cls(
            cast(DictionaryAttr, _attribute(_without_implied(config if host is None else {**config, "host": host})))
        )

    @property
    def config(self) -> Config:
        """The options that differ from the defaults."""
        return cast(Config, _plain(self.given))

    @property
    def described(self) -> DictionaryAttr:
        """All options, as TVM exports a target."""
        return cast(DictionaryAttr, _attribute(_described(self.config)))


__all__ = ["TargetAttr"]
